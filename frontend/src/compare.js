// The mask here beside that of another engine, other options or another grammar: chosen and asked for by the person.
// What comes back is in traits, so a page without Python shows the last comparison.
// Read on: visualizers/compare.py (CompareView), workbench/panels/compare.py (who answers).
import { code, h, many, defineView, number, table } from "./common.js";

const KINDS = { refused: "", "mask only": "its mask alone", "false hope": "false hope", end: "" };

export default defineView("compare", "compare-view", ({ view, model }) => {
  const engine = h("select", { "aria-label": "compare with", "data-testid": "compare-engine" });
  const ask = h("button", { "data-testid": "compare-ask" }, "Compare here");
  const status = h("span", { class: "ms-muted", role: "status", "data-testid": "compare-status" });
  const other = h("textarea", { rows: 4, spellcheck: "false", placeholder: "another grammar, in any language (empty: the same one)",
    "aria-label": "another grammar", "data-testid": "compare-grammar" });
  const present = h("button", { type: "button", "data-testid": "compare-present", title: "put the present grammar into the box, to change it there" }, "put the present one here");
  const more = h("details", { class: "other", "data-testid": "compare-other" }, h("summary", {}, "another grammar"), present, other);
  const body = h("div", { class: "ms-scroll body", tabindex: "0", "data-testid": "compare-result" });
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Compare"), h("label", { class: "ms-group" }, "with ", engine), ask, status),
    more, body);

  function request() {
    if (model.get("offline")) return;
    model.set("chosen", engine.value);
    model.set("other_text", other.value);
    model.save_changes();
    model.send({ type: "compare", engine: engine.value, grammar: other.value });
  }

  view.listen(ask, "click", request);
  view.listen(present, "click", () => {
    view.commit("other_text", other.value);   // what was written since, so that the answer is another text
    model.send({ type: "present" });
  });
  view.listen(other, "keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) request();
    event.stopPropagation();
  });

  const time = (value, unit) => value == null ? "" : `${Number(value.toPrecision(3)).toLocaleString("en-US")} ${unit}`;

  function sides(result) {
    const rows = result.sides.map((side) => side.refusal
      ? h("tr", {}, h("td", {}, side.side), h("td", { colspan: 5, class: "refusal" }, code(`refuses the ${side.stage}: ${side.refusal}`)))
      : h("tr", {}, h("td", { title: side.settings }, side.side), h("td", { class: "ms-num" }, number(side.allowed)), h("td", {}, side.may_end ? "yes" : "no"),
          h("td", { class: "ms-num" }, time(side.compile_ms, "ms")), h("td", { class: "ms-num" }, time(side.first_mask_us, "µs")),
          h("td", { class: "ms-num" }, time(side.mask_again_us, "µs"))));
    return table(["side", "#may follow", "may end", "#compile", "#first mask", "#again"], rows, { "data-testid": "compare-sides" });
  }

  function chip(example) {
    return h("button", { class: "chip", title: `token ${example.id}`, "data-token": example.id,
      onclick: () => view.select({ token: example.id }) }, example.token);
  }

  function groups(pair) {
    const rows = pair.differences.map((group) => h("tr", { "data-testid": "compare-group" },
      h("td", { class: "ms-num" }, group.kind === "end" ? "the end" : number(group.count)),
      h("td", {}, group.allowed_by, KINDS[group.kind] ? h("div", { class: "ms-muted" }, KINDS[group.kind]) : null),
      h("td", { class: "ms-mono" }, group.after ? `${group.parts_at} after ${group.after}` : group.parts_at),
      h("td", { class: "chips" }, ...group.examples.map(chip)),
      h("td", {}, code(group.why), group.places.length ? h("div", { class: "ms-muted" }, code(`${group.ours ? "in" : "because:"} ${group.places.join("; ")}`)) : null)));
    return table(["#tokens", "allowed by", "part at", "for example", "why, by our engine"], rows, { class: "ms-table groups" });
  }

  // How much differs: tokens, which one counts in the masks, and the groups of the table below.
  function verdict(pair) {
    if (pair.agree) return "they agree";
    const groups = pair.differences.filter((group) => group.kind !== "end");
    const count = groups.reduce((sum, group) => sum + group.count, 0);
    const end = groups.length < pair.differences.length;
    if (!count) return "the end differs";
    return `${many(count, "token")} ${count === 1 ? "differs" : "differ"}${groups.length > 1 ? `, in ${groups.length} groups` : ""}${end ? ", and the end" : ""}`;
  }

  function counts(pair) {
    const entry = (name, text, count) => h("span", { class: `key ${name}` }, h("i"), `${text} ${number(count)}`);
    return h("div", { class: "counts", "data-testid": "compare-counts" },
      h("b", { class: pair.agree ? "agree" : "differ" }, verdict(pair)),
      entry("both", "both", pair.both), entry("base", `${pair.base} alone`, pair.only_base),
      entry("other", `${pair.other} alone`, pair.only_other), entry("neither", "neither", pair.neither));
  }

  function draw() {
    const result = model.get("result") || {}, note = model.get("note");
    const parts = [];
    if (note) parts.push(h("div", { class: "ms-note warn", "data-testid": "compare-note" }, code(note)));
    if (result.sides) {
      parts.push(sides(result), h("div", { class: "ms-muted" }, "Times were measured once, here and now: compare orders of magnitude."));
      for (const pair of result.pairs) {
        parts.push(counts(pair));
        if (pair.differences.length) parts.push(groups(pair));
      }
      const picture = model.get("picture");
      if (picture) parts.push(h("details", { class: "picture" }, h("summary", {}, "both masks, one pixel a token by id"), h("img", { src: picture, alt: "both masks" })));
      for (const line of result.notes) parts.push(h("div", { class: "ms-note" }, code(line)));
    } else if (!note) parts.push(h("div", { class: "ms-empty" }, "Which tokens may come here for another engine, other options or another grammar? Choose, then compare."));
    body.replaceChildren(...parts);
  }

  view.watch(["choices", "chosen"], () => {
    const choices = model.get("choices") || [];
    engine.replaceChildren(...choices.map((choice) => h("option", { value: choice.id, disabled: Boolean(choice.missing) }, choice.missing ? `${choice.label} (${choice.missing})` : choice.label)));
    if (model.get("chosen")) engine.value = model.get("chosen");
  });

  let shown = "";
  view.watch(["status", "note", "offline"], () => {
    const state = model.get("status");
    const words = { idle: "computed when asked for", busy: "comparing ...", done: "", stale: "for an earlier position; compare again", error: "" };
    status.textContent = model.get("offline") ? "" : words[state] ?? "";
    ask.disabled = state === "busy" || model.get("offline");
    engine.disabled = other.disabled = present.disabled = Boolean(model.get("offline"));
    if (state === "done" && shown !== "done" && shown !== "stale") { more.open = false; body.scrollTop = 0; }   // the answer, not the question, is looked at now
    shown = state;
    body.classList.toggle("stale", state === "stale");
    draw();
  });

  view.watch(["other_text"], () => {
    if (other.value !== model.get("other_text")) other.value = model.get("other_text") || "";
    if (other.value && shown !== "done") more.open = true;
  });

  view.on("change:result", draw);
  view.on("change:picture", draw);
});
