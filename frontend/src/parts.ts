// What is loaded only where it is needed: the editor.
import type { Load } from "./loader";

let load: Load | undefined;

// Whoever loaded this module can load the other parts of the bundle as well.
export function lend(given: Load) {
  load = given;
}

export async function editor(): Promise<any> {
  if (!load) throw new Error("the bundle's other parts cannot be loaded here");
  return load("editor");
}
