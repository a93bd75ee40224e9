// A box that searches while one types: a list of hits below it, arrows walk them, Enter goes to the first.
// Read on: frontend/src/automaton.js.
import { h } from "./common.js";

// `look(query, reply)` asks; `arrive(hit)` goes to a hit, `leave()` back to the picture.
export function finder({ view, search, hits, arrive, leave, look }) {
  let answered = true, entered = null;   // whether the hits are those of what is typed, and what Enter waits for

  function offer(found) {
    hits.replaceChildren(...(found.length ? found.map((hit) => h("button", {
      type: "button", role: "option", "data-testid": "automaton-hit", onclick: () => arrive(hit),
    }, h("code", {}, hit.text), h("span", { class: "ms-muted" }, hit.kind === "rule" ? "rule" : hit.said)))
      : [h("div", { class: "ms-muted", "data-testid": "automaton-none" }, "not found in the states and rules that the engine has made so far")]));
    hits.hidden = false;
  }
  view.listen(search, "input", () => {
    const query = search.value.trim();
    entered = null;
    if (!query) { hits.hidden = answered = true; hits.replaceChildren(); return; }
    answered = false;
    look(query, (found) => {
      if (search.value.trim() !== query) return;
      answered = true;
      offer(found);
      if (entered === query && found.length) arrive(found[0]);
      entered = null;
    });
  });
  view.listen(view.root, "keydown", (event) => {
    if (!event.target.closest(".ms-find")) return;
    const all = [...hits.querySelectorAll("button")], at = all.indexOf(event.target);
    if (event.key === "Escape") { hits.hidden = true; leave(); }
    else if (event.key === "ArrowDown" && !hits.hidden) (all[at + 1] || all[0] || search).focus();
    else if (event.key === "ArrowUp" && !hits.hidden) (at > 0 ? all[at - 1] : search).focus();
    else if (event.key === "Enter" && event.target === search) {
      if (!answered) entered = search.value.trim();   // the answer is on its way
      else if (all.length) all[0].click();
      else hits.hidden = !search.value.trim();
    } else { event.stopPropagation(); return; }
    event.preventDefault();
    event.stopPropagation();
  });
  view.listen(search, "blur", () => setTimeout(() => { if (!hits.matches(":focus-within")) hits.hidden = true; }, 200));
}
