// Charts over the tokens of a text: a column each, of which the one where one stands is marked and a click goes to another.
// Read on: cockpit.js, caches.ts.
import { svg } from "./common.js";

// `place`: where values lie on a logarithmic scale of `tall` pixels that ends at `foot`; `powers`: of ten, to write beside it.
export function logarithmic(values, least, foot, tall) {
  const low = Math.floor(Math.log10(Math.max(least, Math.min(...values)))), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const every = Math.ceil((high - low) / Math.max(1, tall / 18));
  return {
    place: (value) => foot - (tall * (Math.log10(Math.max(value, 10 ** low)) - low)) / (high - low),
    powers: Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, k) => high - k * every),
  };
}

// Lines at values with their labels: [value, text].
export const grid = (ticks, place, left, right) => ticks.flatMap(([value, text]) => [
  svg("line", { class: "grid", x1: left, x2: right, y1: place(value), y2: place(value) }), svg("text", { x: left - 6, y: place(value) + 4, "text-anchor": "end" }, text)]);

// `drawn` in a picture with what is said below it; `go(k)` is what a click on a column does, `point(k)` what resting on one
// does (-1: on none).  `mark(k)` says where one is.
export function timeline({ wide, left, gap, count, high, foot, testid, label, go, point }, drawn) {
  const x = (k) => left + k * gap, column = (name) => svg("rect", { class: name, y: 0, height: high, width: Math.max(gap, 3), visibility: "hidden" });
  const put = (node, k) => {
    node.setAttribute("visibility", k < 0 ? "hidden" : "visible");
    node.setAttribute("x", x(k));
  };
  const now = column("now"), over = column("over"), hit = svg("rect", { class: "hit", x: left, y: 0, width: gap * count, height: high, "data-testid": `${testid}-hit` });
  const picture = svg("svg", { viewBox: `0 0 ${wide} ${high + foot}`, width: wide, height: high + foot, role: "img", "data-testid": testid, "aria-label": label }, drawn, now, over, hit);
  const at = ({ clientX }) => {
    const box = picture.getBoundingClientRect();
    return Math.min(count - 1, Math.max(0, Math.floor((((clientX - box.left) * wide) / box.width - left) / gap)));
  };
  const rest = (k) => { put(over, k); point(k); };
  hit.onclick = (event) => go(at(event));
  if (point) hit.onpointermove = (event) => rest(at(event));
  if (point) hit.onpointerleave = () => rest(-1);
  return { picture, mark: (k) => put(now, k) };
}
