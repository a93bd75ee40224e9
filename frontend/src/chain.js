// How the parser got to the chosen item: its operations from the start of the text on.
// Read on: visualizers/chain.py, workbench/panels/chart.py.
import { dotted, h, many, measured, defineView, number, reveal } from "./common.js";

export default defineView("chain", "chain-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const list = h("ol", { class: "chain" });
  const scroll = h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "chain-rows" }, list);
  const note = h("div", { class: "ms-note" });
  view.root.append(head, scroll, note);

  const close = () => view.select({ item: null });

  function draw() {
    const rows = model.get("rows") || [], chosen = model.get("chosen") || [];
    head.replaceChildren(h("span", { class: "ms-title", title: many(rows.length, "operation") }, "How it got there"),
      h("span", { class: "ms-mono clip" }, ...dotted(chosen[0])), h("span", { class: "ms-grow" }),
      h("button", { type: "button", title: "back to the operations of the last step", "data-testid": "chain-close", onclick: close }, "×"));
    head.hidden = !rows.length;
    view.root.classList.toggle("some", rows.length > 0);
    list.replaceChildren(...rows.map((row) => h("li", { "data-testid": "chain-step", "data-kind": row.kind },
      h("span", { class: "ms-num", title: "bytes read" }, number(row.end)), h("span", { class: `ms-badge ${row.tint}` }, row.kind),
      row.kind === "omitted" ? h("span", { class: "ms-muted" }, `${row.cause} operations in between`) : null,
      row.cause && row.kind !== "omitted" ? h("span", { class: "ms-mono", title: row.kind === "predict" ? "called by" : "this rule ended" },
        row.kind === "predict" ? `by ${row.cause}` : row.cause) : null,
      row.text ? h("span", { class: "text" }, row.text) : null,
      h("span", { class: "rule" }, ...dotted(row.dots[0])),
      row.others ? h("button", { type: "button", class: "ms-badge uncertain", "data-testid": "chain-others", onclick: () => reveal(view.root, "tree"),
        title: row.kind === "predict" ? "other rules call this one here, too: the operations behind one of them are listed" : "ambiguous: this item can be reached over other parts of the text, too; one way is listed, and a click shows all in Derivation" },
      `+${many(row.others, row.kind === "predict" ? "other caller" : "other way")}`) : null)));
    note.textContent = rows.length ? "" : "Choose an item of the frontier to see the operations behind it.";
    note.hidden = rows.length > 0;
    scroll.hidden = !rows.length;
    begin();
  }
  const begin = measured(() => { scroll.scrollTop = 0; });

  view.draws(["rows", "chosen"], draw);
});
