// Where the parts of a drawn automaton lie, in the picture's own units, read from the numbers that the picture was
// written with: so that following the parser asks the browser for no layout.
// Read on: visualizers/svg.py (the picture), automaton.js.

const LETTER = 6.7, LINE = 14; // a label is set in 11 px monospace, its rows are about a line apart

const shift = (node) => (node.getAttribute("transform") || "").match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) || [0, 0];
const at = (node, name) => Number(node.getAttribute(name));

// What the shapes and texts of `node` cover, before what its ancestors shift it by.
function drawn(node) {
  const body = node.querySelector(":scope > .body, :scope > .frame");
  if (body && body.tagName === "circle") return [at(body, "cx") - at(body, "r"), at(body, "cy") - at(body, "r"), 2 * at(body, "r"), 2 * at(body, "r")];
  if (body) return [at(body, "x"), at(body, "y"), at(body, "width"), at(body, "height")];
  const rows = [...node.children].filter((one) => one.tagName === "text");
  if (!rows.length) return null;
  const width = LETTER * Math.max(...rows.map((row) => [...row.textContent].length));
  const top = at(rows[0], "y") - LINE + 3;
  return [at(rows[0], "x") - width / 2, top, width, at(rows[rows.length - 1], "y") + 3 - top];
}

// { left, top, right, bottom } of a state, a label, a box or a rule's panel; null where nothing is drawn of it.
export function boxes(graph) {
  const known = new WeakMap();
  return (node) => {
    if (known.has(node)) return known.get(node);
    let box = drawn(node);
    if (box) {
      let [left, top] = box;
      for (let one = node; one && one !== graph; one = one.parentElement) { const [dx, dy] = shift(one); left += dx; top += dy || 0; }
      box = { left, top, right: left + box[2], bottom: top + box[3] };
    }
    known.set(node, box);
    return box;
  };
}
