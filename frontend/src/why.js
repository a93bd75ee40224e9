// Why a text or a token may come here or not: the byte at which it dies, what was expected, who forbids it, ways out.
// Read on: workbench/panels/why.py.
import { code, h, link as linked, many, defineView } from "./common.js";

export default defineView("why", "why-view", ({ view, model }) => {
  const box = h("input", { type: "text", placeholder: "can this come here?  type a text", "aria-label": "text to explain", "data-testid": "why-box",
    spellcheck: "false", autocomplete: "off" });
  const body = h("div", { class: "ms-scroll", "data-testid": "why-body" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Why"), box), body);

  let delay = 0;
  const ask = () => { clearTimeout(delay); if (!view.offline()) { view.commit("asked", box.value); model.send({ kind: "ask", text: box.value }); } };
  view.listen(box, "input", () => { clearTimeout(delay); delay = setTimeout(ask, 150); });
  view.keys(box, () => ({ Enter: ask, Escape: () => { box.value = ""; ask(); } }));

  const row = (name, ...cells) => h("div", { class: "row" }, h("span", { class: "name" }, name), h("span", { class: "cell" }, cells.flat()));
  const types = (what, number, text) => h("button", { type: "button", class: "chip", "data-testid": `why-${what}`, title: "type it", disabled: view.offline(),
    onclick: () => model.send({ kind: "type", what, number, position: model.get("why").position }) }, text);
  const link = (text, part, testid) => linked(view, text, part, testid);

  let asked = null;
  function draw() {
    const why = model.get("why") || {};
    box.readOnly = view.offline();
    if (document.activeElement !== box) box.value = model.get("asked") || "";
    if (!why.subject) {
      body.replaceChildren(h("div", { class: "ms-empty" },
        "Type a text above, or click a token in a table, a chip's tokens or the mask: here it says whether it may come at this place, and if not, which byte is wrong, what was expected, and which rule or schema keyword forbids it."));
      return;
    }
    const { subject } = why, one = subject.token != null, badge = (kind, text) => h("span", { class: `ms-badge ${kind}` }, text);
    body.replaceChildren(h("div", { class: "rows" },
      h("div", { class: "verdict" }, h("span", { class: `ms-badge ${why.ok ? "accepted" : "refused"}`, "data-testid": "why-verdict" }, one ? (why.ok ? "allowed" : "refused") : why.ok ? "may come" : "cannot come"),
        why.kind && badge(why.kind, why.kind), one && h("span", { class: "ms-muted ms-num" }, `token ${subject.token}`),
        one && why.ok && h("button", { type: "button", "data-testid": "take", title: "write it", disabled: view.offline(), onclick: () => model.send({ kind: "token", id: subject.token }) }, "take it"),
        why.ok ? h("span", { class: "ms-mono" }, subject.text || "∅")
          : h("span", { class: "ms-mono subject", "data-testid": "why-subject" }, subject.read, h("span", { class: "fatal" }, why.fatal || "∅"), subject.rest)),
      h("div", { class: "message", "data-testid": "why-message" }, why.message),
      !why.ok && [h("div", { class: "text ms-mono", "data-testid": "why-text" }, why.cut && "…", h("span", { class: "read" }, why.before),
        h("span", { class: "fatal", "data-testid": "why-fatal", title: `byte ${why.at}` }, why.fatal || "∅"), h("span", { class: "ms-muted" }, why.rest)),
      row("expected", h("span", { class: "ms-mono yes", "data-testid": "why-expected" }, [why.expected, why.ends ? "the end of the text" : ""].filter(Boolean).join(", or ") || "nothing")),
      why.place && row("in the source", link(why.place, { pointer: why.place }, "why-place")),
      row("reason", reasons(why))],
      why.suggestions.length > 0 && row(why.ok ? "or did you mean" : "did you mean", why.suggestions.map((text, k) => types("suggestion", k, text))),
      why.forced && row("must follow", types("forced", 0, why.forced)),
      why.end && row("shortest end", types("end", 0, why.end), h("span", { class: "ms-muted" }, many(why.end_bytes, "byte"))),
      why.dots.length > 0 && h("details", {}, h("summary", { class: "ms-muted" }, `${many(why.dots.length, "dotted rule")} waiting there`), why.dots.map((dot) => h("div", { class: "ms-mono dot" }, dot))),
      why.note && !why.message.includes(why.note) && h("div", { class: "ms-muted" }, why.note)));
    if (why.reasons === null && asked !== why && !view.offline()) {
      asked = why;
      view.forget();
      view.ask({ type: "reasons" }, () => {});
    }
  }

  function reasons(why) {
    const rules = why.rules.map((rule) => link(rule, { rule }, "why-rule"));
    if (why.reasons === null) return [h("span", { class: "ms-muted" }, "looking for the reason in the source … "), ...rules];
    const found = why.reasons.map((reason) => h("span", { class: "reason", "data-testid": "why-reason" }, code(reason.label), " ",
      reason.pointer ? link(reason.pointer, { pointer: reason.pointer }, "why-pointer") : reason.rule ? link(reason.rule, { rule: reason.rule }, "why-rule") : null));
    return found.length ? found : rules.length ? [h("span", { class: "ms-muted" }, "rules waiting: "), ...rules] : [h("span", { class: "ms-muted" }, why.place ? "no single keyword: the expected bytes say what may come" : "nothing can follow here")];
  }

  view.defer(() => clearTimeout(delay));
  view.draws(["why", "asked", "offline"], draw);
});
