// What was done before the kernel was restarted: an offer above the first screen, and a button that brings it back.
// Read on: workbench/panels/kept.py.
import { h, many, defineView } from "./common.js";

const ago = (when: number) => {
  const minutes = Math.round((Date.now() / 1000 - when) / 60);
  return minutes < 1 ? "just now" : minutes < 90 ? `${many(minutes, "minute")} ago` : minutes < 2880 ? `${many(Math.round(minutes / 60), "hour")} ago` : `${many(Math.round(minutes / 1440), "day")} ago`;
};

export default defineView("kept", "kept", ({ view, model }: any) => {
  const send = (kind: string) => () => model.send({ kind });
  view.draws(["offer", "offline"], () => {
    const { text, examples, source, when } = model.get("offer") || {};
    view.root.hidden = !text || view.offline();
    view.root.replaceChildren(
      h("span", {}, `You were here ${when ? ago(when) : "before"}${source ? `, with ${source},` : ""}: `), h("code", { class: "ms-mono" }, text || ""),
      examples ? h("span", {}, ` and ${many(examples, "example")}`) : "",
      h("button", { type: "button", "data-testid": "restore", title: "bring back the text, the place, the examples and the panels; Ctrl+Z takes it back", onclick: send("restore") }, "Restore"),
      h("button", { type: "button", "data-testid": "leave", title: "do not show this", "aria-label": "do not show this", onclick: send("leave") }, "×"));
  });
});
