// The parser's operations in one step, or those behind the item that is chosen: a line an operation, the byte told once.
// Read on: visualizers/operations.py.
import { button, defineView, dotted, h, many, measured, morph, number, reveal, table } from "./common.js";

// What stands before the byte or the rule that an operation is done by.
const BY = { scan: "reads ", token: "reads ", predict: "called by ", complete: "ends ", iteration: "ends " };
const OTHERS = { predict: "other rules call this one here, too: the operations behind one of them are listed" };
const AMBIGUOUS = "ambiguous: this item can be reached over other parts of the text, too; one way is listed, and a click shows all in Derivation";

export default defineView("operations", "operation-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const body = h("tbody", {});
  const list = table([h("th", { class: "ms-num at", title: "bytes read" }, "byte"), ["operation", "what was done, with the byte read, the rule that calls or the rule that ended; below it the item that it brought"],
    h("th", { class: "ms-num origin", title: "bytes read when the rule was predicted" }, "origin")], body, { "aria-label": "Operations of the parser" });
  const scroll = h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "operation-rows" }, list);
  const note = h("div", { class: "ms-note" });
  view.root.append(head, scroll, note);

  function draw() {
    const about = model.get("about") || {}, rows = model.get("rows") || [], item = about.item;
    const span = about.position ? `bytes ${number(about.begin)} to ${number(about.position)}` : "before the first byte";
    const hidden = (about.total ?? 0) - rows.length;
    morph(head, item ? [h("span", { class: "ms-title", title: many(rows.length, "operation") }, "How it got there"), h("span", { class: "ms-mono clip" }, ...dotted(item)),
      h("span", { class: "ms-grow" }), button("×", "back to the operations of the last step", "chain-close", () => view.select({ item: null }))]
      : [h("span", { class: "ms-title" }, about.total ? many(about.total, "operation") : "Operations"), h("span", { class: "ms-mono", "data-testid": "operation-span" }, span)]);
    morph(body, rows.map((row, index) => line(row, index && rows[index - 1].position === row.position, item)));
    list.classList.toggle("no-origin", Boolean(item));
    note.textContent = item ? "" : [hidden > 0 ? `${number(hidden)} more operations.` : rows.length ? "" : "Nothing was read or predicted.", "Choose an item of the frontier to see the operations behind it."].filter(Boolean).join(" ");
    note.hidden = Boolean(item);
    top();
  }
  const top = measured(() => { scroll.scrollTop = 0; });

  function line(row, again, item) {
    return h("tr", { "data-testid": item ? "chain-step" : "operation", "data-kind": row.kind },
      h("td", { class: "ms-num" }, again ? "" : number(row.position)),
      h("td", { class: "rule" }, h("div", { class: "ms-muted" }, h("span", { class: `ms-badge ${row.tint}` }, row.kind),
        row.kind === "omitted" ? ` ${row.cause} operations in between` : row.cause ? ` ${BY[row.kind] || ""}${row.cause}` : "", row.text ? h("span", { class: "text" }, row.text) : null,
        row.others ? h("button", { type: "button", class: "ms-badge uncertain", "data-testid": "chain-others", title: OTHERS[row.kind] || AMBIGUOUS, onclick: () => reveal(view.root, "tree") },
          `+${many(row.others, row.kind === "predict" ? "other caller" : "other way")}`) : null),
      ...dotted(row.dots[0]), row.more ? h("span", { class: "ms-muted" }, `  +${number(row.more)}`) : null),
      h("td", { class: "ms-num" }, row.origin == null ? "" : number(row.origin)));
  }

  view.draws(["rows", "about"], draw);
});
