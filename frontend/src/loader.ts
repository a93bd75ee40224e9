// The parts of the bundle as modules: each is a text, deflated, and is loaded once a page.  The editor and Graphviz are
// loaded only where they are needed.
//
// A page may load nothing from elsewhere, so a part becomes a module by the address of a blob.
// Read on: widget.ts (where the parts come from in a notebook), page.ts (in a saved page), visualizers/assets.py.

export type Parts = Record<string, BufferSource>;
export type Load = (name: string) => Promise<any>;

export const inflate = (data: BufferSource): Response =>
  new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate")));

export function loader(parts: Parts): Load {
  const modules = new Map<string, Promise<any>>();
  const load = async (name: string) => {
    const source = await inflate(parts[name]!).text();
    return import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  };
  return (name) => {
    if (!modules.has(name)) modules.set(name, load(name));
    return modules.get(name)!;
  };
}

// Whoever loaded the views can load the other parts of the bundle as well.
let lent: Load = async () => { throw new Error("the bundle's other parts cannot be loaded here"); };
export const lend = (given: Load) => { lent = given; };
export const editor = (): Promise<any> => lent("editor");
export const graphviz = (): Promise<{ write(dot: string): string }> => lent("graphviz");
