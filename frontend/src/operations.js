// The parser's operations in one step: a line an operation, the byte told once.
// Read on: visualizers/live.py (OperationView).
import { dotted, h, many, defineView, number, table } from "./common.js";

// What stands before the byte or the rule that an operation is done by.
const BY = { scan: "reads ", token: "reads ", predict: "called by ", complete: "ends " };

export default defineView("operations", "operation-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const body = h("tbody", {});
  const list = table([h("th", { class: "ms-num at", title: "bytes read" }, "byte"), ["operation", "what was done, with the byte read, the rule that calls or the rule that ended; below it the item that it brought"],
    h("th", { class: "ms-num origin", title: "bytes read when the rule was predicted" }, "origin")], body, { "aria-label": "Operations of the parser" });
  const note = h("div", { class: "ms-note" });
  view.root.append(head, h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "operation-rows" }, list), note);

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
    return h("tr", { "data-testid": "operation", "data-kind": row.kind },
      h("td", { class: "ms-num" }, again ? "" : number(row.position)),
      h("td", { class: "rule" }, h("div", { class: "ms-muted" }, h("span", { class: `ms-badge ${row.tint}` }, row.kind), row.cause ? ` ${BY[row.kind] || ""}${row.cause}` : ""), ...dotted(row.dots[0]), row.more ? h("span", { class: "ms-muted" }, `  +${number(row.more)}`) : null),
      h("td", { class: "ms-num" }, number(row.origin)));
  }

  view.draws(["rows", "about"], draw);
});
