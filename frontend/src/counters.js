// The engine's counters, with what changed since the last step.
// Read on: visualizers/live.py (CounterView).
import { bytes, h, mount, number } from "./common.js";

function render({ model, el }) {
  const view = mount({ model, el }, "counters", "counter-view");
  const cards = h("div", { class: "ms-cards" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Counters"),
    h("span", { class: "ms-muted" }, "change since the last step beside each")), cards);


  let known = new Set();

  function line(name, label, format = number) {
    known.add(name);
    const value = (model.get("stats") || {})[name];
    if (value === undefined) return [];
    const change = (model.get("delta") || {})[name] || 0;
    const sign = change > 0 ? "+" : change < 0 ? "−" : "";
    return [
      h("span", {}, label), h("span", { class: "ms-num", "data-testid": `counter-${name}` }, format(value)),
      h("span", { class: `ms-num delta ${change ? "changed" : ""}`, "data-testid": `delta-${name}` }, change ? sign + format(Math.abs(change)) : "·"),
    ];
  }

  function rate(prefix, label) {
    const stats = model.get("stats") || {};
    const hits = stats[`${prefix}_hits`] || 0, all = hits + (stats[`${prefix}_misses`] || 0);
    const share = all ? (100 * hits) / all : 0;
    const bar = h("i");
    bar.style.width = `${share}%`;
    return [
      ...line(`${prefix}_hits`, `${label} found`), ...line(`${prefix}_misses`, `${label} made`),
      h("div", { class: "rate", title: all ? `${share.toFixed(1)} % found` : "none asked yet" }, bar),
    ];
  }

  const card = (title, ...rows) => h("section", { class: "ms-card" }, h("div", { class: "ms-muted" }, title), h("div", { class: "ms-lines" }, ...rows.flat()));

  function draw() {
    known = new Set();
    cards.replaceChildren(
      card("Interned", line("states", "automaton states"), line("sets", "Earley sets"), line("frames", "frames"),
        line("masks", "masks"), line("distinct_masks", "distinct masks"), line("token_sets", "token sets")),
      card("Memoised", rate("step", "steps"), rate("mask", "masks"), rate("token_set", "token sets"),
        line("pool_hits", "from other grammars"), line("partial_hits", "… to be filtered")),
      card("Memory", line("arena_bytes", "arenas", bytes), line("mask_bytes", "masks", bytes), line("token_set_bytes", "token sets", bytes)));
    // Counters that have no place of their own yet are shown all the same.
    const rest = Object.keys(model.get("stats") || {}).filter((name) => !known.has(name));
    if (rest.length) cards.append(card("Other", ...rest.map((name) => line(name, name.replaceAll("_", " ")))));
  }

  view.on("change:stats", draw);
  view.on("change:delta", draw);
  draw();
  return () => view.clean();
}

export default { render };
