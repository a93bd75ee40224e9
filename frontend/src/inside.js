// Where the parser stands within an edge: a dot between the pieces of its label, and a plate with the state's number.
// Read on: visualizers/inside.py (where plates lie), visualizers/svg.py (writes the same), automaton.js.

import { svg } from "./common.js";

const HEIGHT = 20;

// What holds the plates of a rule's panel; `drawing` is the panel's picture.
export const plateLayer = (drawing) => svg("g", { class: "inside", transform: drawing.getAttribute("transform") });

export function plate([state, rule, x, y, wide], selected) {
  return svg("g", { class: `state plate active${selected ? " selected" : ""}`, "data-state": state, "data-rule": `rule${rule}` },
    svg("rect", { class: "body", x: x - wide / 2, y: y - HEIGHT / 2, width: wide, height: HEIGHT, rx: HEIGHT / 2 }),
    svg("text", { class: "id", x, y: y + 3.5 }, state));
}

// Puts a dot between the pieces of a label: {"ci•ty":
export function dots(label, places) {
  const cuts = (label.dataset.cuts || "").split(" ").filter(Boolean).map((cut) => cut.split(":").map(Number));
  const spots = places.map((place) => place ? cuts[place - 1] || [0, 0] : [0, 0]).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  for (const [row, at] of spots) {
    const text = label.children[row];
    if (!text) continue;
    let left = at;
    for (const part of [...text.childNodes]) {
      const length = part.textContent.length;
      if (left > length) { left -= length; continue; }
      const dot = svg("tspan", { class: "dot" }, "•");
      const rest = part.cloneNode(true);
      rest.textContent = part.textContent.slice(left);
      part.textContent = part.textContent.slice(0, left);
      part.after(dot, rest);
      break;
    }
  }
}
