// The mask here beside that of another engine, other options or another grammar: chosen and asked for by the person.
// What comes back is in traits, so a page without Python shows the last comparison.
// Read on: visualizers/compare.py (CompareView), workbench/panels/compare.py (who answers).
import { button, code, h, key, many, morph, defineView, number, offer, put, table } from "./common.js";

const KINDS = { refused: "", "mask only": "its mask alone", "false hope": "its mask allows it, but it does not take it", end: "" };
const SAID = { idle: "computed when asked for", busy: "comparing ...", stale: "for an earlier position; compare again" };

const td = (text, props = {}) => h("td", props, text);
const num = (text) => td(text, { class: "ms-num" });
const time = (value, unit) => num(value == null ? "" : `${Number(value.toPrecision(3)).toLocaleString("en-US")} ${unit}`);

export default defineView("compare", "compare-view", ({ view, model }) => {
  const engine = h("select", { "aria-label": "compare with", "data-testid": "compare-engine" });
  const ask = button("Compare here", "compare the masks at this place (Ctrl+Enter)", "compare-ask", request);
  const status = h("span", { class: "ms-muted", role: "status", "data-testid": "compare-status" });
  const other = h("textarea", { rows: 4, spellcheck: "false", placeholder: "another grammar, in any language (empty: the same one)",
    "aria-label": "another grammar", "data-testid": "compare-grammar", onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); request(); } } });
  const present = button("put the present one here", "put the present grammar into the box, to change it there", "compare-present", () => {
    view.commit("other_text", other.value);   // what was written since, so that the answer is another text
    model.send({ kind: "present" });
  });
  const more = h("details", { class: "other", "data-testid": "compare-other" }, h("summary", {}, "another grammar"), present, other);
  const body = h("div", { class: "ms-scroll body", tabindex: "0", "data-testid": "compare-result" });
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Compare"), h("label", { class: "ms-group" }, "with ", engine), ask, status), more, body);

  function request() {
    if (view.offline()) return;
    model.set("chosen", engine.value);
    model.set("other_text", other.value);
    model.save_changes();
    model.send({ kind: "compare", engine: engine.value, grammar: other.value });
  }

  function sides(result) {
    return table(["side", "#may follow", "may end", "#compile", "#first mask", "#again"], result.sides.map((side) => h("tr", {}, td(side.side, { title: side.settings }), side.refusal
      ? td(code(`refuses the ${side.stage}: ${side.refusal}`), { colspan: 5, class: "refusal" })
      : [num(number(side.allowed)), td(side.may_end ? "yes" : "no"), time(side.compile_ms, "ms"), time(side.first_mask_us, "µs"), time(side.mask_again_us, "µs")])), { "data-testid": "compare-sides" });
  }

  const chip = ({ id, token }) => h("button", { class: "chip", title: `token ${id}`, "data-token": id, onclick: () => view.select({ token: id }) }, token);
  function groups(pair) {
    return table(["#tokens", "allowed by", "part at", "for example", "why, by our engine"], pair.differences.map((group) => h("tr", { "data-testid": "compare-group" },
      num(group.kind === "end" ? "the end" : number(group.count)),
      h("td", {}, group.allowed_by, KINDS[group.kind] && h("div", { class: "ms-muted" }, KINDS[group.kind])),
      td(group.after ? `${group.parts_at} after ${group.after}` : group.parts_at, { class: "ms-mono" }),
      h("td", { class: "chips" }, group.examples.map(chip)),
      h("td", {}, code(group.why), group.places.length > 0 && h("div", { class: "ms-muted" }, code(`${group.ours ? "in" : "because:"} ${group.places.join("; ")}`))))), { class: "ms-table groups" });
  }

  // How much differs: tokens, which one counts in the masks, and the groups of the table below.
  function verdict(pair) {
    const groups = pair.differences.filter((group) => group.kind !== "end"), end = groups.length < pair.differences.length;
    const count = groups.reduce((sum, group) => sum + group.count, 0);
    if (pair.agree) return "they agree";
    if (!count) return "the end differs";
    return `${many(count, "token")} ${count === 1 ? "differs" : "differ"}${groups.length > 1 ? `, in ${groups.length} groups` : ""}${end ? ", and the end" : ""}`;
  }

  const counts = (pair) => h("div", { class: "counts", "data-testid": "compare-counts" }, h("b", { class: pair.agree ? "agree" : "differ" }, verdict(pair)),
    key("--both", `both ${number(pair.both)}`), key("--base", `${pair.base} alone ${number(pair.only_base)}`),
    key("--other", `${pair.other} alone ${number(pair.only_other)}`), key("--neither", `neither ${number(pair.neither)}`));

  let shown = ""; // the status that was drawn last
  function draw() {
    const state = model.get("status"), note = model.get("note"), result = model.get("result") || {}, picture = model.get("picture");
    put(status, view.offline() ? "" : SAID[state] ?? "");
    ask.disabled = state === "busy" || view.offline();
    engine.disabled = other.disabled = present.disabled = view.offline();
    if (state === "done" && shown !== "done" && shown !== "stale") { more.open = false; body.scrollTop = 0; }   // the answer, not the question, is looked at now
    shown = state;
    body.classList.toggle("stale", state === "stale");
    morph(body, note && h("div", { class: "ms-note warn", "data-testid": "compare-note" }, code(note)),
      !result.sides && !note && h("div", { class: "ms-empty" }, "Which tokens may come here for another engine, other options or another grammar? Choose, then compare."),
      result.sides && [sides(result), h("div", { class: "ms-muted" }, "Times were measured once, here and now: compare orders of magnitude."),
        ...result.pairs.flatMap((pair) => [counts(pair), pair.differences.length > 0 && groups(pair)]),
        picture && h("details", { class: "picture" }, h("summary", {}, "both masks, one pixel a token by id"), h("img", { src: picture, alt: "both masks" })),
        ...result.notes.map((line) => h("div", { class: "ms-note" }, code(line)))]);
  }

  view.draws(["choices", "chosen"], () => offer(engine, (model.get("choices") || []).map(({ id, label, missing }) => [id, missing ? `${label} (${missing})` : label, Boolean(missing)]), model.get("chosen") || undefined));
  view.draws(["other_text"], () => {
    if (other.value !== model.get("other_text")) other.value = model.get("other_text") || "";
    if (other.value && shown !== "done") more.open = true;
  });
  view.draws(["status", "note", "offline", "result", "picture"], draw);
});
