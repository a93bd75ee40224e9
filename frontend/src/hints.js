// A card that says why: for a token or a refused text on which the pointer rests, or which the keyboard has reached.
// Read on: tokens.js (who shows it), workbench/explorer/tooltip.py (who answers).
import { code, h } from "./common.js";

const REST_MS = 350;
let cards = 0;

// `ask(subject, answer)` asks Python, and `answer(said)` shows { ok, message, after, reasons: [{label, where}], bytes }.
// `rest(node, subject, more)` from when something rests on `node`; `more` is a line of the asker's own.
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
  function rest(node, subject, more = "") {
    if (node === at) return;
    hide();
    at = node;
    const mine = round;
    timer = setTimeout(() => ask(subject, (said) => { if (mine === round && node.isConnected) show(node, said, more); }), REST_MS);
  }
  function show(node, said, more) {
    const line = (name, ...parts) => h("div", { class: "ms-line" }, h("span", { class: "ms-muted" }, name), h("span", {}, ...parts));
    const reasons = said.reasons.map((one) => h("div", {}, code(one.label), " ", h("span", { class: "ms-mono ms-where" }, one.where)));
    card.replaceChildren(...[
      h("div", { class: said.ok ? "ms-yes" : "ms-no" }, said.message),
      more ? h("div", { class: "ms-muted" }, more) : null,
      said.after ? line(said.ok ? "then" : "expected", h("span", { class: "ms-mono" }, said.after)) : null,
      reasons.length ? line("reason", ...reasons) : null,
      said.bytes ? line("bytes", h("span", { class: "ms-mono" }, said.bytes)) : null].filter(Boolean));
    card.hidden = false;
    node.setAttribute("aria-describedby", card.id);
    const frame = over.getBoundingClientRect(), box = node.getBoundingClientRect();
    const below = box.bottom - frame.top + 4, above = box.top - frame.top - card.offsetHeight - 4;
    card.style.top = `${below + card.offsetHeight <= frame.height || above < 4 ? below : above}px`;
    const left = box.width > card.offsetWidth ? box.right - card.offsetWidth - 12 : box.left; // the tokens below stay readable
    card.style.left = `${Math.max(4, Math.min(left - frame.left, frame.width - card.offsetWidth - 4))}px`;
  }
  view.defer(() => { hide(); card.remove(); });
  return { rest, hide, get shown() { return !card.hidden; } };
}
