// The frontier: one row an Earley item, with its dot where the parser is.
// Read on: visualizers/live_frontier.py.
import { click, dotted, h, many, morph, defineView, number, reveal, table } from "./common.js";

export default defineView("frontier", "frontier-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const body = h("tbody", {});
  const grid = table([["dotted rule", "a rule with a dot where the parser is; (…)? is what may be left out"], ["#origin", "bytes read when the rule was predicted"],
    h("th", { class: "ms-num iteration", title: "iterations done of a counted rule; characters read, where a rule bounds those of its texts" }, "count"), "#state"], body, { role: "grid", "aria-label": "Earley items" });
  const note = h("div", { class: "ms-note" });
  const scroll = h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "frontier-rows" }, grid);
  view.root.append(head, scroll, note);

  function draw() {
    const about = model.get("about") || {};
    const items = model.get("items") || [];
    head.replaceChildren(
      h("span", { class: "ms-title" }, "Frontier"),
      h("span", { class: "ms-mono", "data-testid": "frontier-position" }, `after ${many(about.position ?? 0, "byte")}`),
      h("span", { class: "ms-muted", "data-testid": "frontier-set", title: `Earley set ${about.set_id ?? "–"}` }, many(about.total ?? 0, "item")),
      h("span", { class: "ms-grow" }),
      h("span", { class: `ms-badge ${about.completed ? "accepted" : ""}`, "data-testid": "frontier-completed" },
        about.completed ? "may end here" : "may not end yet"));
    grid.classList.toggle("no-iterations", !items.some((item) => item.counter));
    morph(body, items.map(row));
    const hidden = (about.total ?? 0) - items.length;
    note.textContent = hidden > 0 ? `${number(hidden)} more items; the first ${number(items.length)} are shown` : "";
    note.hidden = hidden <= 0;
    body.children[model.get("selected_item") ?? -1]?.scrollIntoView({ block: "nearest" });
  }

  function row(item, index) {
    const rule = h("td", { class: "rule" }, h("div", { class: "where" }, item.pointer ? h("button", { type: "button", class: "ms-link", title: "where in the source this rule began: show it there", "data-testid": "frontier-pointer",
      "aria-pressed": String(here(item)), onclick: (event) => { event.stopPropagation(); point(item); } }, item.pointer) : null,
      item.scannable ? h("span", { class: "ms-badge active", title: "reads the next byte" }, "scans") : null,
      item.accepting ? h("span", { class: "ms-badge accepted", title: "the rule may end here" }, "completes") : null,
      item.ways ? h("button", { type: "button", class: "ms-badge uncertain", "data-testid": "frontier-ways", title: "ambiguous: ways in which this rule can have read its text, each counted once whatever its parts do; a click shows them in Derivation",
        onclick: (event) => { event.stopPropagation(); reveal(view.root, "tree"); } }, `ambiguous: ${number(item.ways)} ways`) : null), ...item.dots.map((dots) => h("div", {}, ...dotted(dots))),
      item.members ? h("div", { class: "ms-muted", "data-testid": "frontier-members", title: "members in any order: those that this item has behind it" }, item.members) : null,
      item.more ? h("div", { class: "ms-muted" }, `+${number(item.more)} more positions of this state`) : null);
    return h("tr", { "data-item": index, "data-state": item.state, "data-testid": "frontier-item", "aria-selected": String(index === model.get("selected_item")), onclick: () => choose(index) },
      rule, h("td", { class: "ms-num" }, number(item.origin)), h("td", { class: "ms-num iteration" }, item.counter ? number(item.counter) : ""),
      h("td", { class: "ms-num" }, String(item.state)));
  }

  // The place in the source that is chosen; what is chosen in other panels looks the same here.
  const here = (item) => (model.get("selection") || {}).pointer === item.pointer;
  const point = (item) => view.commit("selection", click(model.get("selection") || {}, item, here(item)));

  const choose = (index) => view.commit("selected_item", index === model.get("selected_item") ? null : index);
  view.keys(scroll, () => {
    const last = body.children.length - 1, chosen = model.get("selected_item");
    const to = (index) => (last < 0 ? false : view.commit("selected_item", Math.min(last, Math.max(0, index))));
    return { ArrowDown: () => to((chosen ?? -1) + 1), ArrowUp: () => to((chosen ?? last + 1) - 1), Home: () => to(0), End: () => to(last), Escape: () => view.commit("selected_item", null) };
  });
  view.draws(["items", "about", "selected_item", "selection"], draw);
});
