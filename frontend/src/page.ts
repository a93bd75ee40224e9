// A page without Python: the bundle and the traits are written into it, and the same views run over them.
// Read on: visualizers/standalone.py (who writes), still.ts (the widget's model), loader.ts.
import { inflate, loader } from "./loader";

declare const PACKED: { state: string; parts: Record<string, string> };

const decode = (text: string) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const state = await inflate(decode(PACKED.state)).json();
const load = loader(Object.fromEntries(Object.entries(PACKED.parts).map(([name, text]) => [name, decode(text)])));
const main = await load("main");
await main.render({ model: main.still(state), el: document.getElementById("host"), places: state.places, load });
document.documentElement.dataset.ready = "true";
