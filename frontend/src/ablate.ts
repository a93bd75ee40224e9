// What mechanisms of the engine are worth: what is left out is chosen, measured with progress, and drawn with intervals.
// Read on: workbench/panels/ablate.py (traits and messages), intervals.ts (the figure).
import { button, clip, h, keep, defineView, offer, put } from "./common.js";
import { intervals } from "./intervals";

export default defineView("ablate", "ablate-view", ({ view, model }: any) => {
  const state = () => model.get("state") || {}, choices = () => model.get("choices") || {};
  const first = h("div", {}), others = h("div", {});
  const more = h("details", {}, h("summary", {}, "more"), others);
  const repeats = h("input", { type: "number", min: 1, max: 100, "aria-label": "repeats", "data-testid": "repeats" });
  const writer = h("select", { "aria-label": "texts", "data-testid": "writer", onchange: () => { prompts.hidden = !writer.value; } });
  const vocabulary = h("select", { "aria-label": "vocabulary", "data-testid": "vocabulary" });
  const prompts = h("textarea", { rows: 3, spellcheck: "false", hidden: true, "aria-label": "prompts", "data-testid": "prompts", placeholder: "one prompt a line" });
  const run = button("▶ Measure", "each variant compiles the grammar and makes all masks, as often as repeats says", "ablate-run", () => model.send({ kind: "run", mechanisms: boxes().filter((box) => box.checked).map((box) => box.value),
    repeats: Number(repeats.value), writer: writer.value, prompts: prompts.value, vocabulary: vocabulary.value }));
  const stop = button("■ Stop", "end after this trial, and keep what was measured", "ablate-stop", () => model.send({ kind: "stop" }));
  const head = h("div", { class: "ms-head", "data-testid": "ablate-head" });
  const bar = h("progress", { max: 1, value: 0, "data-testid": "ablate-progress" });
  const doing = h("span", { class: "ms-muted", role: "status", "data-testid": "ablate-doing" });
  const figure = h("div", { class: "figure", "data-testid": "ablate-figure" });
  const note = h("div", { class: "ms-muted" });
  const copied = h("span", { class: "ms-muted", role: "status" });
  const said = (text: string) => put(copied, text);
  const tools = h("div", { class: "tools" }, button("copy table", "the summary, with tabs between columns", "copy-table", () => clip(state().table, "the table", said)),
    button("copy code", "the line that measures this in a cell", "copy-code", () => clip(state().code, "the line for a cell", said)),
    button("save SVG", "the figure as a file", "save-svg", () => copied.replaceChildren(keep("ablation.svg", drawn(), "image/svg+xml"))), copied);
  view.root.append(h("div", { class: "ask" }, h("div", { class: "ms-cap" }, "Leave out"), first, h("label", {}, "repeats ", repeats), h("label", {}, "texts ", writer), prompts, h("label", {}, "vocabulary ", vocabulary), h("div", { class: "tools" }, run, stop), more),
    h("div", { class: "told", tabindex: "0" }, head, h("div", { class: "under-way" }, bar, doing), figure, tools, note));
  const boxes = (): HTMLInputElement[] => [...view.root.querySelectorAll("input[type=checkbox]")] as HTMLInputElement[];
  const drawn = () => {
    const { none, mechanisms = [] } = choices(), all = state().effects || [];
    const titles = Object.fromEntries(mechanisms.map(([word, title]: string[]) => [word, title]));
    return intervals(state().metrics || [], all.filter(([without]: string[]) => without !== none).map(([without, ...rest]: any) => [titles[without] || without, ...rest]),
      Object.fromEntries(all.filter(([without]: string[]) => without === none).map(([, metric, us]: any) => [metric, us])));
  };

  function drawChoices() {
    const { mechanisms = [], writers = [], vocabularies = [] } = choices();
    const box = ([word, title]: [string, string]) => h("label", {}, h("input", { type: "checkbox", value: word }), ` ${title}`);
    first.replaceChildren(...mechanisms.filter(([, , now]: any) => now).map(box));
    others.replaceChildren(...mechanisms.filter(([, , now]: any) => !now).map(box));
    offer(writer, writers);
    offer(vocabulary, vocabularies.map((name: string) => [name, name]));
    asked = "";
    drawState();
  }
  let asked = ""; // what was asked for last: what a person has changed since is left alone
  function drawState() {
    const now = state(), { mechanisms = [], planned = 1, steps = 0 } = now;
    const said = JSON.stringify([mechanisms, now.repeats, now.writer, now.prompts, now.vocabulary]);
    if (said !== asked) {
      asked = said;
      for (const box of boxes()) box.checked = mechanisms.includes(box.value);
      repeats.value = String(now.repeats ?? 5);
      writer.value = now.writer || "";
      vocabulary.value = now.vocabulary || "";
      prompts.value = now.prompts || "";
      prompts.hidden = !now.writer;
    }
    run.disabled = Boolean(now.running) || view.offline();
    stop.disabled = stop.hidden = !now.running;
    put(head, now.head || "What is each mechanism worth on this grammar?");
    bar.hidden = !now.running;
    bar.max = planned;
    bar.value = steps;
    put(doing, now.message || (now.running ? `${steps} of ${planned}: ${now.doing || "…"}` : steps && steps < planned ? "stopped: this is what was measured until then" : now.effects ? "" : "Each is left out by itself, and the whole engine stands beside it."));
    figure.replaceChildren(...(now.effects?.length ? [new DOMParser().parseFromString(drawn(), "image/svg+xml").documentElement] : []));
    tools.hidden = !now.effects?.length;
    put(note, [now.on, now.note].filter(Boolean).join(" · "));
  }
  view.draws(["choices"], drawChoices);
  view.draws(["state", "offline"], drawState);
});
