// Where the parts of a drawn automaton lie, in the picture's own units, read from the numbers that the picture was
// written with: so that following the parser asks the browser for no layout.
// Read on: drawing.ts (the picture), automaton.js.

const LETTER = 6.7, LINE = 14; // a label is set in 11 px monospace, its rows are about a line apart

const numbers = (text) => (text || "").match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) || [];
const at = (node, name) => Number(node.getAttribute(name));

// What the shapes and texts of `node` cover, before what its ancestors shift it by.
function drawn(node) {
  const shapes = [...node.children].filter((one) => ["ellipse", "path", "polygon", "rect"].includes(one.tagName) && !one.matches(".line, .arrow"));
  const body = node.matches(".panel") ? node.querySelector(":scope > .frame") : shapes.at(-1);
  if (body?.tagName === "ellipse") return [at(body, "cx") - at(body, "rx"), at(body, "cy") - at(body, "ry"), 2 * at(body, "rx"), 2 * at(body, "ry")];
  if (body?.tagName === "rect") return [at(body, "x"), at(body, "y"), at(body, "width"), at(body, "height")];
  if (body) {
    const all = numbers(body.getAttribute("d") || body.getAttribute("points"));
    const [xs, ys] = [all.filter((_, k) => k % 2 === 0), all.filter((_, k) => k % 2)];
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
  }
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
      for (let one = node; one && one !== graph; one = one.parentElement) { const [dx = 0, dy = 0] = numbers(one.getAttribute("transform")); left += dx; top += dy; }
      box = { left, top, right: left + box[2], bottom: top + box[3] };
    }
    known.set(node, box);
    return box;
  };
}
