// A bar that walks through recorded steps: buttons, slider, arrow keys.
// Read on: visualizers/live_base.py (StepBar), visualizers/standalone.py (links views by `index`).
import { button, defineView, h, number } from "./common.js";

export default defineView("steps", "step-bar", ({ view, model }) => {
  const last = () => Math.max(0, (model.get("labels") || []).length - 1);
  const go = (index) => view.commit("index", Math.min(last(), Math.max(0, index)));
  const make = (text, title, move, testid) => button(text, title, testid, () => go(move()));
  const first = make("|◀", "first step (Home)", () => 0, "step-first");
  const back = make("◀", "one step back (left arrow)", () => model.get("index") - 1, "step-back");
  const forward = make("▶", "one step forward (right arrow)", () => model.get("index") + 1, "step-forward");
  const end = make("▶|", "last step (End)", last, "step-last");
  const slider = h("input", { type: "range", min: 0, "aria-label": "step", "data-testid": "step-slider", oninput: () => go(Number(slider.value)) });
  const count = h("span", { class: "ms-num", "data-testid": "step-count" });
  const label = h("span", { class: "label", "data-testid": "step-label" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-group" }, first, back, forward, end), slider, count, label));

  function draw() {
    const index = model.get("index");
    slider.max = last();
    slider.value = index;
    count.textContent = `${number(index)} / ${number(last())}`;
    label.textContent = (model.get("labels") || [])[index] || "";
    label.title = label.textContent;
    first.disabled = back.disabled = index <= 0;
    forward.disabled = end.disabled = index >= last();
  }

  // In a page of its own the whole page listens; in a notebook only the bar, whose keys would else move cells.
  const target = view.offline() ? document : view.root;
  view.keys(target, () => ({ ArrowLeft: () => back.click(), ArrowRight: () => forward.click(), Home: () => first.click(), End: () => end.click() }));
  view.draws(["index", "labels"], draw);
});
