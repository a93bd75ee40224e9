// What each widget carries itself.  The bundle is in one other widget, the library, which travels once a notebook; all
// widgets of a page share what was made of it, by its version.
// Read on: visualizers/host.py (`Library`), loader.ts, main.ts.
import { loader, type Load } from "./loader";

interface Model {
  get(name: string): any;
  widget_manager: { get_model(id: string): Promise<Model> };
}

const libraries: Map<string, Promise<Load>> = ((globalThis as any).__maskscope ??= new Map());

async function library(model: Model): Promise<Load> {
  const { id, version } = model.get("library");
  const find = async () => {
    const found = await model.widget_manager.get_model(id);
    return loader(Object.fromEntries(["main", "editor", "graphviz"].map((name) => [name, found.get(name)])));
  };
  if (!libraries.has(version)) libraries.set(version, find());
  return libraries.get(version)!.catch((error) => {
    libraries.delete(version);
    throw error;
  });
}

async function render({ model, el }: { model: Model; el: HTMLElement }) {
  const load = await library(model);
  const main = await load("main");
  return main.render({ model, el, load });
}

export default { render };
