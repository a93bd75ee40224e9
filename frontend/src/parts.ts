// What is loaded only where it is needed: the editor, and Graphviz.
import type { Load } from "./loader";

let load: Load | undefined;

// Whoever loaded this module can load the other parts of the bundle as well.
export function lend(given: Load) {
  load = given;
}

async function part(name: string): Promise<any> {
  if (!load) throw new Error("the bundle's other parts cannot be loaded here");
  return load(name);
}

export const editor = (): Promise<any> => part("editor");
export const graphviz = (): Promise<{ write(dot: string): string }> => part("graphviz");
