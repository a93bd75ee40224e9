// Graphviz, compiled to WebAssembly, which a page loads when it first draws a graph: `write(dot)` is the SVG of a graph.
import { instance } from "@viz-js/viz";

const viz = await instance();

export const write = (dot: string): string => viz.renderString(dot, { format: "svg" });
