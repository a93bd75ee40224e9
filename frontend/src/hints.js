// A card that says why: for a token or a refused text on which the pointer rests, or which the keyboard has reached.
// Read on: tokens.js (who shows it), workbench/next/tooltip.py (who answers).
import { beside, code, h, morph } from "./common.js";

const REST_MS = 350;
let cards = 0;

// `ask(subject, answer)` asks Python, and `answer(said)` shows { ok, message, after, reasons: [{label, where}], bytes }.
// `rest(node, subject)` from when something rests on `node`.
export function hints(view, ask) {
  const over = view.root.closest(".ms-first") || view.root; // no slot cuts it off
  const card = h("div", { class: "ms-hint", role: "tooltip", id: `ms-hint-${cards++}`, hidden: true, "data-testid": "hint" });
  over.append(card);
  let timer = 0, at = null, round = 0;
  function hide() {
    clearTimeout(timer);
    round += 1;
    card.hidden = true;
    at?.removeAttribute("aria-describedby");
    at = null;
  }
  function rest(node, subject) {
    if (node === at) return;
    hide();
    at = node;
    const mine = round;
    timer = setTimeout(() => ask(subject, (said) => { if (mine === round && node.isConnected) show(node, said); }), REST_MS);
  }
  function show(node, said) {
    const line = (name, ...parts) => h("div", { class: "ms-line" }, h("span", { class: "ms-muted" }, name), h("span", {}, ...parts));
    const reasons = said.reasons.map((one) => h("div", {}, code(one.label), " ", h("span", { class: "ms-mono ms-where" }, one.where)));
    morph(card, h("div", { class: said.ok ? "ms-yes" : "ms-no" }, said.message),
      said.after && line(said.ok ? "then" : "expected", h("span", { class: "ms-mono" }, said.after)),
      reasons.length > 0 && line("reason", reasons),
      said.bytes && line("bytes", h("span", { class: "ms-mono" }, said.bytes)));
    card.hidden = false;
    node.setAttribute("aria-describedby", card.id);
    beside(card, over, node);
  }
  view.defer(() => { hide(); card.remove(); });
  return { rest, hide, get shown() { return !card.hidden; } };
}
