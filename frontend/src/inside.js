// Where the parser stands within an edge: a dot between the pieces of its label, and a plate with the state's number as
// far along the edge as it is read.
// Read on: visualizers/marks.py (which states), automaton.js.

import { svg } from "./common.js";

const HEIGHT = 20, ASIDE = 7; // ASIDE: from the edge, away from its label
const widthOf = (state) => Math.max(HEIGHT, 6 * String(state).length + 8);

export function plate([state, , x, y], selected) {
  const wide = widthOf(state);
  return svg("g", { class: `state plate active${selected ? " selected" : ""}`, "data-state": state },
    svg("rect", { x: x - wide / 2, y: y - HEIGHT / 2, width: wide, height: HEIGHT, rx: HEIGHT / 2 }),
    svg("text", { x, y: y + 3.5 }, state));
}

// [state, rule, x, y] of the plates of `inside` ([state, element, share, rule]), in the units of their rules' panels;
// of what the picture does not draw, nothing.  `find(id)` is an element.
export function spots(inside, find) {
  const groups = new Map(); // edge -> its states
  for (const [state, element, share, rule] of inside) {
    const node = find(element), panel = node?.closest(".panel");
    const edge = node?.closest(".edge") || (node && panel.querySelector(`.edge[data-to="${CSS.escape(element)}"]`));
    if (edge) groups.set(edge, [...(groups.get(edge) || []), { state, share, rule }]);
  }
  return [...groups].flatMap(([edge, states]) => onEdge(edge, states));
}

// A copy of an edge's line that is in no page: measuring it asks for no layout.
const lines = new WeakMap();
function lineOf(edge) {
  if (!lines.has(edge)) lines.set(edge, svg("path", { d: edge.querySelector(".line").getAttribute("d") }));
  return lines.get(edge);
}

function onEdge(edge, states) {
  const line = lineOf(edge), length = line.getTotalLength(), label = edge.querySelector("text");
  const order = [...states].sort((one, other) => one.share - other.share);
  const half = Math.max(...order.map((one) => widthOf(one.state))) / 2 + 1;
  const places = apart(order.map((one) => half + (length - 2 * half) * one.share), 2 * half, half, length - half);
  return order.map(({ state, rule }, k) => {
    const { x, y } = line.getPointAtLength(places[k]), [before, after] = [-0.5, 0.5].map((by) => line.getPointAtLength(places[k] + by));
    const far = Math.hypot(after.x - before.x, after.y - before.y) || 1, [ux, uy] = [(after.x - before.x) / far, (after.y - before.y) / far];
    const side = label ? ASIDE * Math.sign((y - label.getAttribute("y")) * ux - (x - label.getAttribute("x")) * uy || 1) : 0;
    return [state, rule, Math.round(10 * (x - uy * side)) / 10, Math.round(10 * (y + ux * side)) / 10];
  });
}

// Places near the `wanted` ones (in order), `gap` apart, from `first` to `last`; closer where there is no room.
export function apart(wanted, gap, first, last) {
  if (last <= first) return wanted.map(() => (first + last) / 2);
  const between = Math.min(gap, (last - first) / Math.max(1, wanted.length - 1));
  let least = first;
  return wanted.map((place, k) => {
    const found = Math.min(Math.max(place, least), last - between * (wanted.length - 1 - k));
    least = found + between;
    return found;
  });
}

// Puts a dot between the pieces of a label, {"ci•ty":, in place of those that it had.
export function dots(label, places) {
  if (label.dataset.dots === String(places)) return;
  label.rows ??= [...label.children]; // as they were drawn
  label.replaceChildren(...label.rows.map((row) => row.cloneNode(true)));
  if (places.length) label.dataset.dots = String(places); else delete label.dataset.dots;
  const cuts = (label.dataset.cuts || "").split(" ").filter(Boolean).map((cut) => cut.split(":").map(Number));
  const spots = places.map((place) => cuts[place - 1] || [0, 0]).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  for (const [row, at] of spots) {
    let left = at;
    for (const part of [...label.children[row]?.childNodes || []]) {
      const text = part.textContent, rest = part.cloneNode(true);
      if (left > text.length) { left -= text.length; continue; }
      [part.textContent, rest.textContent] = [text.slice(0, left), text.slice(left)];
      part.after(svg("tspan", { class: "dot" }, "•"), rest);
      break;
    }
  }
}
