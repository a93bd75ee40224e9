// What each widget carries itself.  The bundle is in one other widget, the library, which travels once a notebook; all
// widgets of a page share what was made of it, by its version.  Where outputs are pages of their own, whose manager does
// not know the library, the kernel is asked for the code.
// Read on: visualizers/host.py (`Library`), loader.ts, main.ts.
import { loader, type Load, type Parts } from "./loader";

const PARTS = ["main", "editor", "graphviz"], PATIENCE_MS = 4000;

const libraries: Map<string, Promise<Load>> = ((globalThis as any).__maskscope ??= new Map());

const late = (): Promise<never> => new Promise((_, fail) => setTimeout(() => fail(new Error("nobody answers")), PATIENCE_MS));
const of = (part: (name: string, at: number) => BufferSource): Parts => Object.fromEntries(PARTS.map((name, at) => [name, part(name, at)]));

async function known(model: any, id: string): Promise<Parts> {
  if (!model.widget_manager) throw new Error("no manager");
  const found = await Promise.race([model.widget_manager.get_model(id), late()]);
  if (!found?.get("main")) throw new Error("no library");
  return of((name) => found.get(name));
}

function asked(model: any, version: string): Promise<Parts> {
  return new Promise((done) => {
    const heard = (message: any, buffers: BufferSource[]) => {
      if (message?.library !== version) return;
      model.off("msg:custom", heard);
      done(of((_, at) => buffers[at]!));
    };
    model.on("msg:custom", heard);
    model.send({ library: version });
  });
}

async function library(model: any): Promise<Load> {
  const { id, version } = model.get("library");
  const find = async () => loader(await known(model, id).catch(() => asked(model, version)));
  if (!libraries.has(version)) libraries.set(version, find());
  return libraries.get(version)!.catch((error) => {
    libraries.delete(version);
    throw error;
  });
}

async function render({ model, el }: { model: any; el: HTMLElement }) {
  const load = await library(model);
  const main = await load("main");
  return main.render({ model, el, load });
}

export default { render };
