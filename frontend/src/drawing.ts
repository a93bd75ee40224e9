// Draws graphs: Graphviz says where everything goes and writes it as SVG; here its elements get what a view needs of them.
// Each rule of an automaton is a graph of its own, a panel, so one that did not change is not laid out again.
// Read on: visualizers/dot.py (the graphs), visualizers/live_automaton.py (pictures), automaton.js (lights them).
import { dress, svg } from "./common.js";
import { graphviz } from "./loader";

type Cell = [kind: string, text: string, rule: string];
interface Label { id: string; rows: Cell[][]; cuts?: [number, number][] }
interface Arrow { from: string; to: string; full?: string; labels?: Label[] }
export interface Panel {
  dot: string;
  svg?: string; // where `dot` has drawn it already
  names?: Record<string, [string, string]>; // of the boxes in a map of rules: the engine's, and the source's
  rule?: number; name?: string; title?: [string, string, string]; arrows?: Arrow[];
  ways?: Record<string, number>; opened?: number[];
}

// EDGE: what Graphviz leaves around a frame.  BEYOND: how far badges, SIGN wide with one sign, reach beyond a state; labels begin at 9.
const EDGE = 12, GUTTER = 12, ASPECT = 2, MOST_WIDE = 1500, KEPT = 400, RADIUS = 15, BEYOND = 5, SIGN = 14;
const written = new Map<string, string>(); // graph -> SVG

// The SVG of a graph; quick where it was drawn before.
export async function write(dot: string): Promise<string> {
  const known = written.get(dot);
  if (known) return known;
  const made = (await graphviz()).write(dot);
  written.set(dot, made);
  if (written.size > KEPT) written.delete(written.keys().next().value!);
  return made;
}

// The elements of one graph, and its size.
export function parse(text: string): { graph: SVGElement; size: [number, number] } {
  // Remarks, names and the room between elements would be two nodes of three.
  const bare = text.slice(text.indexOf("<svg")).replace(/<!--.*?-->|<title>[^<]*<\/title>/gs, "").replace(/>\s+</g, "><");
  const read = new DOMParser().parseFromString(bare.replaceAll("xlink:", ""), "image/svg+xml");
  const graph = document.importNode(read.querySelector(".graph")!, true) as unknown as SVGElement;
  const size = read.documentElement.getAttribute("viewBox")!.split(" ").slice(2).map(Number) as [number, number];
  const [x, y] = graph.getAttribute("transform")!.match(/translate\(([-\d.]+) ([-\d.]+)\)/)!.slice(1).map(Number) as [number, number];
  graph.setAttribute("transform", `translate(${x} ${y})`);
  graph.removeAttribute("id");
  return { graph, size };
}

// A text as DOT writes it: nothing in it means anything.
export const quote = (text: string) => `"${text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "\ufffd").replace(/[\\"]/g, "\\$&").replaceAll("&", "&amp;").replaceAll("\n", "\\n")}"`;

interface Held { dot: string; then: (graph: SVGElement) => void; graph?: SVGElement }
const held = new WeakMap<HTMLElement, Held>();

// Draws a graph into `hold`, unless it is there already; `then` gets its elements, each time.  `root` says that it is busy.
export function drawInto(root: HTMLElement, hold: HTMLElement, dot: string, label: string, then: Held["then"], drawn?: string) {
  const now = held.get(hold);
  if (now?.dot === dot && (!now.graph || hold.contains(now.graph))) { now.then = then; if (now.graph) then(now.graph); return; }
  const mine: Held = { dot, then };
  held.set(hold, mine);
  root.dataset.drawing = "";
  Promise.resolve(drawn || write(dot)).then((text) => {
    if (held.get(hold) !== mine) return;
    const { graph, size } = parse(text);
    hold.replaceChildren(svg("svg", { class: "ms-svg", role: "img", "aria-label": label, width: size[0], height: size[1] }, graph));
    mine.graph = graph;
    mine.then(graph);
  }).catch((error) => { hold.textContent = `not drawn: ${error.message || error}`; }).finally(() => { if (held.get(hold) === mine) delete root.dataset.drawing; });
}

export async function draw(panels: Panel[]): Promise<{ svg: SVGElement; graph: SVGElement; size: [number, number] }> {
  const texts = await Promise.all(panels.map((panel) => panel.svg || write(panel.dot)));
  const graph = svg("g", { class: "graph" });
  const made = panels.map((panel, at) => {
    const { node, size: [width, height] } = template(panel, texts[at]!), edge = panel.names ? 0 : EDGE;
    return { node: node.cloneNode(true) as SVGElement, edge, size: [width - 2 * edge, height - 2 * edge] as [number, number] };
  });
  const [places, size] = packed(made.map((one) => one.size));
  made.forEach(({ node, edge }, at) => {
    const [x, y] = places[at]!, [dx, dy] = node.getAttribute("transform")!.match(/[-\d.]+/g)!.map(Number) as [number, number];
    node.setAttribute("transform", `translate(${x + dx - edge} ${y + dy - edge})`);
    graph.append(node);
  });
  const root = svg("svg", { class: "ms-svg", role: "img", "aria-label": "automaton", width: size[0], height: size[1] }, graph);
  return { svg: root, graph, size };
}

// What panels are copied from: most of them come again in the next picture.
const templates = new Map<string, { node: SVGElement; size: [number, number] }>();
function template(panel: Panel, text: string) {
  const { svg: _, ...told } = panel, key = JSON.stringify(told) + (panel.dot ? "" : text), known = templates.get(key);
  if (known) return known;
  const { graph, size } = parse(text), made = { node: panel.names ? map(graph, panel.names) : decorate(graph, panel), size };
  templates.set(key, made);
  if (templates.size > KEPT) templates.delete(templates.keys().next().value!);
  return made;
}

// Panels in rows, in reading order, as a stage ASPECT times as wide as high shows them largest: their places, and the size of
// all.
export function packed(sizes: [number, number][]): [[number, number][], [number, number]] {
  const widest = Math.max(1, ...sizes.map(([width]) => width)), across = ([, [wide, high]]: ReturnType<typeof inRows>) => Math.max(wide, ASPECT * high);
  let best = inRows(sizes, widest);
  for (let limit = 1.1 * widest; limit < MOST_WIDE; limit *= 1.1) {
    const other = inRows(sizes, limit);
    if (across(other) < across(best)) best = other;
  }
  return best;
}

function inRows(sizes: [number, number][], limit: number): [[number, number][], [number, number]] {
  let x = 0, y = 0, row = 0, right = 0;
  const places = sizes.map(([width, height]): [number, number] => {
    if (x > 0 && x + width > limit) { y += row + GUTTER; x = row = 0; }
    const left = x;
    x += width + GUTTER;
    [row, right] = [Math.max(row, height), Math.max(right, x - GUTTER)];
    return [left, y];
  });
  return [places, [Math.max(1, right), Math.max(1, y + row)]];
}

const BUTTON = { role: "button", tabindex: 0 };

function map(graph: SVGElement, names: Record<string, [string, string]>) {
  for (const node of graph.querySelectorAll<SVGElement>(".rulenode")) {
    const [name, said] = names[node.id]!;
    dress(node, { "data-title": name, "data-said": said, ...BUTTON });
  }
  return dress(graph, { class: "rules" });
}

function decorate(graph: SVGElement, { rule, name, title, arrows = [], ways = {}, opened = [] }: Panel) {
  const [said, repeat, part] = title!; // the source's name of the rule; `name` is the engine's
  const cluster = graph.querySelector(".cluster")!, frame = cluster.querySelector("path")!, heading = cluster.querySelector<SVGElement>("text")!;
  const left = Math.min(...(frame.getAttribute("d") || "").match(/-?[\d.]+(?=,)/g)!.map(Number));
  dress(graph, { class: "panel", id: `rule${rule}`, "data-rule": name, "data-said": said });
  heading.replaceChildren();
  dress(heading, { class: "title", "text-anchor": "start", x: left + 10, "data-title": name, "data-said": said }, // what is written is narrower than what was measured
    said, repeat && svg("tspan", { class: "repeat", dx: 8 }, repeat), part && svg("tspan", { class: "part", dx: 8 }, part));
  cluster.replaceWith(dress(frame, { class: "frame" }), heading);
  for (const node of graph.querySelectorAll<SVGElement>(".edge")) {
    for (const line of node.querySelectorAll(":scope > path")) dress(line, { class: "line" });
    for (const tip of node.querySelectorAll(":scope > polygon")) dress(tip, { class: "arrow" });
    const arrow = node.id.startsWith("a") ? arrows[Number(node.id.slice(1))] : undefined;
    node.removeAttribute("id");
    if (!arrow) continue;
    dress(node, { "data-from": arrow.from, "data-to": arrow.to, "data-full": arrow.full || null });
    const rows = [...node.querySelectorAll<SVGElement>(":scope > text")];
    for (const { id, rows: written, cuts } of arrow.labels || []) {
      const lines = rows.splice(0, written.length);
      lines.forEach((line, at) => line.replaceChildren(...cells(written[at]!)));
      node.append(svg("g", { class: "label", id, "data-cuts": cuts?.length ? cuts.map((cut) => cut.join(":")).join(" ") : null }, lines));
    }
    for (const row of rows) row.setAttribute("class", "else");
  }
  for (const node of graph.querySelectorAll<SVGElement>(".stub:not(.edge)")) dress(node, { "data-stub": node.id, ...BUTTON });
  for (const node of graph.querySelectorAll<SVGElement>(".state")) {
    const id = node.id.slice(1), shape = node.querySelector("ellipse")!;
    node.dataset.state = id;
    const [x, y] = ["cx", "cy"].map((one) => Number(shape.getAttribute(one))) as [number, number];
    if (ways[id]) graph.append(badge(`in${id}`, `+${ways[id]}`, x - RADIUS - BEYOND, y - RADIUS + 1, "ways in that are not drawn"));
    if (opened.includes(Number(id))) graph.append(badge(`close${id}`, "−", x + RADIUS + BEYOND - SIGN, y - RADIUS + 1, "fold again"));
  }
  return graph;
}

const cells = (row: Cell[]) => row.map(([kind, text, rule]) => kind === "sign" ? text : svg("tspan", { class: kind, "data-call": rule || null }, text));

function badge(name: string, text: string, left: number, y: number, tip: string) {
  const width = SIGN - 6 + 6 * text.length;
  return svg("g", { class: "badge", "data-stub": name, ...BUTTON, "aria-label": `${text} ${tip}` },
    svg("rect", { x: left, y: y - 7, width, height: 13, rx: 6.5 }), svg("text", { x: left + width / 2, y: y + 3 }, text));
}
