// Why a text or a token may come here or not: the byte at which it dies, what was expected, who forbids it, ways out.
// Read on: visualizers/why.py, workbench/panels/why.py.
import { channel, code, h, many, defineView } from "./common.js";

export default defineView("why", "why-view", ({ view, model }) => {
  const python = channel(model, view);
  const box = h("input", { type: "text", placeholder: "can this come here?  type a text", "aria-label": "text to explain", "data-testid": "why-box",
    spellcheck: "false", autocomplete: "off" });
  const body = h("div", { class: "ms-scroll", "data-testid": "why-body" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Why"), box), body);

  let delay = 0;
  const ask = () => { clearTimeout(delay); if (!model.get("offline")) { view.commit("asked", box.value); model.send({ kind: "ask", text: box.value }); } };
  view.listen(box, "input", () => { clearTimeout(delay); delay = setTimeout(ask, 150); });
  view.listen(box, "keydown", (event) => {
    if (event.key === "Enter") ask();
    else if (event.key === "Escape") { box.value = ""; ask(); }
    if (!event.altKey && !event.ctrlKey && !event.metaKey) event.stopPropagation();
  });

  const row = (name, ...cells) => h("div", { class: "row" }, h("span", { class: "name" }, name), h("span", { class: "cell" }, ...cells));
  const types = (what, number, text) => h("button", { type: "button", class: "chip", "data-testid": `why-${what}`, title: "type it", disabled: Boolean(model.get("offline")), onclick: () =>
    model.get("offline") || model.send({ kind: "type", what, number, position: model.get("why").position }) }, text);
  const link = (text, part, testid) => h("button", { type: "button", class: "link ms-mono", "data-testid": testid, title: "show it in the source", onclick: () => view.select(part) }, text);

  let asked = null;
  function draw() {
    const why = model.get("why") || {};
    if (document.activeElement !== box) box.value = model.get("asked") || "";
    if (!why.subject) {
      body.replaceChildren(h("div", { class: "ms-empty" },
        "Type a text above, or click a token in a table, a chip's tokens or the mask: here it says whether it may come at this place, and if not, which byte is wrong, what was expected, and which rule or schema keyword forbids it."));
      return;
    }
    const { subject } = why;
    const rows = [h("div", { class: "verdict" }, h("span", { class: `ms-badge ${why.ok ? "accepted" : "refused"}`, "data-testid": "why-verdict" }, why.subject.token == null ? (why.ok ? "may come" : "cannot come") : why.ok ? "allowed" : "refused"),
      why.kind ? h("span", { class: `ms-badge ${why.kind}` }, why.kind) : null,
      subject.token == null ? null : h("span", { class: "ms-muted ms-num" }, `token ${subject.token}`),
      subject.token == null || !why.ok ? null : h("button", { type: "button", "data-testid": "take", title: "write it", disabled: Boolean(model.get("offline")), onclick: () => model.send({ kind: "token", id: subject.token }) }, "take it"), why.ok ? h("span", { class: "ms-mono" }, subject.text || "∅")
        : h("span", { class: "ms-mono subject", "data-testid": "why-subject" }, subject.read, h("span", { class: "fatal" }, why.fatal || "∅"), subject.rest))];
    rows.push(h("div", { class: "message", "data-testid": "why-message" }, why.message));
    if (!why.ok) {
      rows.push(h("div", { class: "text ms-mono", "data-testid": "why-text" }, why.cut ? "…" : "", h("span", { class: "read" }, why.before),
        h("span", { class: "fatal", "data-testid": "why-fatal", title: `byte ${why.at}` }, why.fatal || "∅"), h("span", { class: "ms-muted" }, why.rest)));
      rows.push(row("expected", h("span", { class: "ms-mono yes", "data-testid": "why-expected" }, [why.expected, why.ends ? "the end of the text" : ""].filter(Boolean).join(", or ") || "nothing")));
      if (why.place) rows.push(row("in the source", link(why.place, { pointer: why.place }, "why-place")));
      rows.push(row("reason", ...reasons(why)));
    }
    if (why.suggestions.length) rows.push(row(why.ok ? "or did you mean" : "did you mean", ...why.suggestions.map((text, k) => types("suggestion", k, text))));
    if (why.forced) rows.push(row("must follow", types("forced", 0, why.forced)));
    if (why.end) rows.push(row("shortest end", types("end", 0, why.end), h("span", { class: "ms-muted" }, many(why.end_bytes, "byte"))));
    if (why.dots.length) rows.push(h("details", {}, h("summary", { class: "ms-muted" }, `${why.dots.length} dotted rule${why.dots.length === 1 ? "" : "s"} waiting there`),
      ...why.dots.map((dot) => h("div", { class: "ms-mono dot" }, dot))));
    if (why.note && !why.message.includes(why.note)) rows.push(h("div", { class: "ms-muted" }, why.note));
    body.replaceChildren(h("div", { class: "rows" }, ...rows));
    if (why.reasons === null && asked !== why && !model.get("offline")) {
      asked = why;
      python.forget();
      python.ask({ type: "reasons" }, () => {});
    }
  }

  function reasons(why) {
    const rules = why.rules.map((rule) => link(rule, { rule }, "why-rule"));
    if (why.reasons === null) return [h("span", { class: "ms-muted" }, "looking for the reason in the source … "), ...rules];
    const found = why.reasons.map((reason) => h("span", { class: "reason", "data-testid": "why-reason" }, code(reason.label), " ",
      reason.pointer ? link(reason.pointer, { pointer: reason.pointer }, "why-pointer") : reason.rule ? link(reason.rule, { rule: reason.rule }, "why-rule") : null));
    return found.length ? found : rules.length ? [h("span", { class: "ms-muted" }, "rules waiting: "), ...rules] : [h("span", { class: "ms-muted" }, why.place ? "no single keyword: the expected bytes say what may come" : "nothing can follow here")];
  }

  view.watch(["offline"], () => { box.readOnly = Boolean(model.get("offline")); });
  view.defer(() => clearTimeout(delay));
  view.draws(["why", "asked", "offline"], draw);
});
