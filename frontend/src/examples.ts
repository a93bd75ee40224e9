// Texts that the source must and must not take, green and red while one edits; how far each is taken is marked.
// Read on: workbench/panels/examples.py (traits and messages).
import { button, h, keep, morph, defineView, put } from "./common.js";

type Row = [text: string, must: boolean, ok: boolean, taken: number, told: string];

export default defineView("examples", "examples-view", ({ view, model }: any) => {
  const rows = (): Row[] => model.get("rows") || [];
  const head = h("div", { class: "ms-head", role: "status", "data-testid": "examples-head" });
  const list = h("div", { class: "list", "data-testid": "examples" });
  const input = h("textarea", { rows: 1, spellcheck: "false", "aria-label": "another text", "data-testid": "example-text", placeholder: "another text; Enter adds it" });
  const add = (must: boolean) => { model.send({ kind: "set", text: input.value, must }); input.value = ""; };
  input.addEventListener("keydown", (event: KeyboardEvent) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); add(true); } });
  const tools = h("div", { class: "tools" }, input, button("must", "this text must be taken", "add-must", () => add(true)), button("must not", "this text must not be taken", "add-must-not", () => add(false)));
  const said = h("span", { class: "ms-muted", role: "status" });
  const also = h("div", { class: "tools" }, button("the text above must", "keep the text on the screen as an example", "keep-text", () => model.send({ kind: "keep", must: true })),
    button("save as a test", "a module for pytest", "save-test", () => said.replaceChildren(keep("test_examples.py", model.get("code") || "", "text/x-python"))), said);
  view.root.append(head, tools, also, list); // the field stays where it is
  const line = ([text, must, ok, taken, told]: Row, number: number) => h("div", { class: `row ${ok ? "ok" : "bad"}`, "data-testid": "example", "data-ok": String(ok) },
    h("span", { class: "mark", "aria-label": ok ? "as it must be" : "not as it must be" }, ok ? "✓" : "✗"),
    button(must ? "must" : "must not", must ? "have it as a text that must not be taken" : "have it as a text that must be taken", "turn", () => model.send({ kind: "set", number, text, must: !must })),
    h("code", { class: "ms-mono", title: told }, text.slice(0, taken), h("span", { class: taken < text.length ? "rest" : "end" }, text.slice(taken) || "\u200b")),
    h("span", { class: "ms-muted", title: told }, must && ok ? "" : told),
    button("×", "drop this example", "drop", () => model.send({ kind: "drop", number })));
  function draw() {
    const all = rows(), good = all.filter(([, , ok]) => ok).length;
    put(head, !all.length ? "Which texts must be taken, and which must not?" : `${good} of ${all.length} as they must be${model.get("draft") ? "; by the last source that compiled" : ""}`);
    morph(list, all.map(line));
    for (const one of view.root.querySelectorAll("button, textarea") as any) if (one.dataset.testid !== "save-test") one.disabled = view.offline();
  }
  view.draws(["rows", "draft", "offline"], draw);
});
