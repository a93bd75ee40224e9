// The parser's operations in one step: a line an operation, the byte told once.
// Read on: visualizers/live.py (OperationView).
import { h, many, mount, number, soon } from "./common.js";

// What stands before the byte or the rule that an operation is done by.
const BY = { scan: "reads ", token: "reads ", predict: "called by ", complete: "ends " };

function render({ model, el }) {
  const view = mount({ model, el }, "operations", "operation-view");
  const head = h("div", { class: "ms-bar" });
  const body = h("tbody", {});
  const table = h("table", { class: "ms-table", "aria-label": "Operations of the parser" },
    h("thead", {}, h("tr", {}, h("th", { class: "ms-num at", title: "bytes read" }, "byte"),
      h("th", { title: "what was done, with the byte read, the rule that calls or the rule that ended; below it the item that it brought" }, "operation"),
      h("th", { class: "ms-num origin", title: "bytes read when the rule was predicted" }, "origin"))),
    body);
  const note = h("div", { class: "ms-note" });
  view.root.append(head, h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "operation-rows" }, table), note);

  function draw() {
    const about = model.get("about") || {};
    const rows = model.get("rows") || [];
    const span = about.position ? `bytes ${number(about.begin)} to ${number(about.position)}` : "before the first byte";
    head.replaceChildren(h("span", { class: "ms-title" }, about.total ? many(about.total, "operation") : "Operations"),
      h("span", { class: "ms-mono", "data-testid": "operation-span" }, span));
    body.replaceChildren(...rows.map((row, index) => line(row, index && rows[index - 1].position === row.position)));
    const hidden = (about.total ?? 0) - rows.length;
    note.textContent = hidden > 0 ? `${number(hidden)} more operations` : rows.length ? "" : "Nothing was read or predicted.";
    note.hidden = !note.textContent;
  }

  function line(row, again) {
    const [before, after] = row.dots[0] || [""];
    const rule = after === undefined ? [before] : [before, h("span", { class: "dot" }, "•"), after];
    return h("tr", { "data-testid": "operation", "data-kind": row.kind },
      h("td", { class: "ms-num" }, again ? "" : number(row.position)),
      h("td", { class: "rule" }, h("div", { class: "ms-muted" }, h("span", { class: `ms-badge ${row.tint}` }, row.kind), row.cause ? ` ${BY[row.kind] || ""}${row.cause}` : ""), ...rule, row.more ? h("span", { class: "ms-muted" }, `  +${number(row.more)}`) : null),
      h("td", { class: "ms-num" }, number(row.origin)));
  }

  // `rows` and `about` change together: draw once for both.
  const redraw = soon(draw);
  view.on("change:rows", redraw);
  view.on("change:about", redraw);
  draw();
  return () => view.clean();
}

export default { render };
