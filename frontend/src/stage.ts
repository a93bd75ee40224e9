// The two faces of an explorer: the first screen, and under the hood the desk of panels.
//
// The screen has slots for other views: the editor of the source, and what one chooses to see below the text.  These, and
// the desk, are drawn when they are first looked at.
// Read on: screen.ts, dock.js, workbench/panels/screen.py.
import { h } from "./common.js";
import dock from "./dock.js";

// What is opened is read from its top, which a page that scrolls may have out of sight.
function fromTop(node: HTMLElement) {
  const { top } = node.getBoundingClientRect();
  let seen = 0;
  for (let page = node.parentElement; page; page = page.parentElement) if (page.scrollHeight > page.clientHeight + 1 && getComputedStyle(page).overflowY !== "visible") seen = Math.max(seen, page.getBoundingClientRect().top);
  if (top < seen) node.scrollIntoView({ block: "start" });
}

async function render({ model, host, root, parts, draw }: any) {
  const undo: (() => void)[] = [];
  const wire = "screen__face";
  const before = h("div", {});
  const screen = h("div", { class: "ms-first-host" });
  const hood = h("div", { class: "ms-hood", hidden: true });
  root.append(before, screen, hood);
  const find = (name: string) => parts.find((part: any) => part.name === name);
  await draw(find("screen"), screen);
  if (find("kept")) await draw(find("kept"), before);
  const drawn = new Set<string>();
  async function pane() {
    for (const name of ["source", host.get("screen__pane")]) {
      const slot = screen.querySelector(`[data-slot="${name}"]`), part = find(name);
      if (!slot || !part || drawn.has(name)) continue;
      drawn.add(name);
      await draw(part, slot);
    }
  }
  await pane();

  let opened: Promise<unknown> | undefined;
  const back = h("button", { type: "button", class: "ms-back", "data-testid": "back-to-screen", title: "back to the first screen",
    onclick: () => { host.set(wire, "screen"); host.save(); } }, "← first screen");
  async function open() {
    undo.push(await dock.render({ model, host, root: hood, parts: parts.filter((part: any) => !["screen", "kept"].includes(part.name)), draw }));
    hood.querySelector(".ms-tools")!.prepend(back);
  }
  let shown = false;
  async function face() {
    const below = host.get(wire) === "hood";
    screen.hidden = below;
    hood.hidden = !below;
    if (below) await (opened ??= open());
    host.look(below ? hood.querySelector(".ms-desk") : screen.firstElementChild);
    if (below !== shown) fromTop(root);
    shown = below;
  }
  for (const [event, handler] of [[wire, face], ["screen__pane", pane]] as const) {
    host.on(`change:${event}`, handler);
    undo.push(() => host.off(`change:${event}`, handler));
  }
  await face();
  return () => { while (undo.length) undo.pop()!(); before.remove(); screen.remove(); hood.remove(); };
}

export default { render };
