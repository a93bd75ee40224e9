// Where the parts of a drawn automaton lie, in the picture's own units, read from the numbers that the picture was
// written with: so that following the parser asks the browser for no layout.
// Read on: drawing.ts (the picture), automaton.js.

const LETTER = 6.7, LINE = 14; // a label is set in 11 px monospace, its rows are about a line apart

const numbers = (text) => (text || "").match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) || [];
const given = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));

// [x, y, x, y, …] of corners around a shape, or around the rows of a label.
const AROUND = {
  ellipse(node) { const [x, y, rx, ry] = given(node, "cx", "cy", "rx", "ry"); return [x - rx, y - ry, x + rx, y + ry]; },
  rect(node) { const [x, y, width, height] = given(node, "x", "y", "width", "height"); return [x, y, x + width, y + height]; },
  path: (node) => numbers(node.getAttribute("d")),
  polygon: (node) => numbers(node.getAttribute("points")),
};
function around(node) {
  const shapes = [...node.children].filter((one) => AROUND[one.tagName] && !one.matches(".line, .arrow"));
  const body = node.matches(".panel") ? node.querySelector(":scope > .frame") : shapes.at(-1), rows = [...node.children].filter((one) => one.tagName === "text");
  if (body) return AROUND[body.tagName](body);
  if (!rows.length) return null;
  const half = LETTER * Math.max(...rows.map((row) => [...row.textContent].length)) / 2, [[x, top], [, foot]] = [rows[0], rows.at(-1)].map((row) => given(row, "x", "y"));
  return [x - half, top - LINE + 3, x + half, foot + 3];
}

// { left, top, right, bottom } of a state, a label, a box or a rule's panel; null where nothing is drawn of it.
export function boxes(graph) {
  const known = new WeakMap();
  return (node) => {
    if (known.has(node)) return known.get(node);
    let [corners, x, y] = [around(node), 0, 0];
    for (let one = node; one && one !== graph; one = one.parentElement) { const [dx = 0, dy = 0] = numbers(one.getAttribute("transform")); x += dx; y += dy; }
    const [xs, ys] = [0, 1].map((odd) => corners?.filter((_, k) => k % 2 === odd));
    const box = corners && { left: x + Math.min(...xs), top: y + Math.min(...ys), right: x + Math.max(...xs), bottom: y + Math.max(...ys) };
    if (!node.matches(".plate")) known.set(node, box); // plates move
    return box;
  };
}
