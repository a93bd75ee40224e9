// A box that searches while one types: a list of hits below it, arrows walk them, Enter goes to the first.
// Read on: frontend/src/automaton.js.
import { h } from "./common.js";

// `look(query, reply)` asks; `arrive(hit)` goes to a hit, `leave()` back to the picture.
export function finder({ view, search, hits, arrive, leave, look }) {
  let asked = null, enters = false;   // what is looked for now, and whether Enter waits for it

  const option = (hit) => h("button", { type: "button", role: "option", "data-testid": "automaton-hit", onclick: () => arrive(hit) },
    h("code", {}, hit.text.slice(0, 60)), h("span", { class: "ms-muted" }, hit.kind === "rule" ? "rule" : hit.said));
  const none = () => h("div", { class: "ms-muted", "data-testid": "automaton-none" }, "not found in the states and rules that the engine has made so far");
  view.listen(search, "input", () => {
    const query = asked = search.value.trim();
    enters = false;
    if (!query) { hits.hidden = true; hits.replaceChildren(); return; }
    look(query, (found) => {
      if (asked !== query) return;
      asked = null;
      hits.replaceChildren(...(found.length ? found.map(option) : [none()]));
      hits.hidden = false;
      if (enters && found.length) arrive(found[0]);
    });
  });
  view.keys(search.parentElement, ({ target }) => {
    const all = [...hits.querySelectorAll("button")], at = all.indexOf(target);
    return {
      Escape: () => { hits.hidden = true; leave(); },
      ArrowDown: () => !hits.hidden && (all[at + 1] || all[0] || search).focus(),
      ArrowUp: () => !hits.hidden && (at > 0 ? all[at - 1] : search).focus(),
      Enter: () => {
        if (target !== search) return false;
        if (asked) enters = true;   // the answer is on its way
        else if (all.length) all[0].click();
        else hits.hidden = !search.value.trim();
      },
    };
  });
  view.listen(search, "blur", () => setTimeout(() => { if (!hits.matches(":focus-within")) hits.hidden = true; }, 200));
}
