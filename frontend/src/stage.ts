// The screen and what is below its text: the source, and beside it what may come next, or the panel whose tab is chosen.
//
// A panel is drawn when it is first looked at.  The widget's trait `panels` says what there is: { name, title, tab, about,
// wide, views }; `tab` is the row of its tab ("first", or "hood" for those that are shown on demand), and a `wide` panel
// leaves the source no room.
// Read on: screen.ts, workbench/explorer/dashboard.py.
import { FIELD, button, h, keys, tab as tabOf } from "./common.js";
import { keepFocus } from "./focus.js";

interface Panel { name: string; title: string; tab: string; about: string; wide: boolean; views: string[] }
const PLACE: Panel = { name: "place", title: "Next", tab: "first", about: "the source, what may come next, and what the model wanted", wide: false, views: [] };

export default async function stage({ model, host, root, parts, draw }: any) {
  const undo: (() => void)[] = [], drawing: Promise<unknown>[] = [];
  const before = h("div", {}), screen = h("div", { class: "ms-first-host" });
  root.append(before, screen);
  const find = (name: string) => parts.find((part: any) => part.name === name);
  await draw(find("screen"), screen);
  if (find("kept")) await draw(find("kept"), before);
  const view: HTMLElement = screen.querySelector(".ms-first"), at = (testid: string) => view.querySelector<HTMLElement>(`[data-testid=${testid}]`)!;
  const panels: Panel[] = model.get("panels") || [], tabbed = [PLACE, ...panels.filter((panel) => panel.tab)];
  const set = (trait: string, value: unknown) => { host.set(`screen__${trait}`, value); host.save(); };
  const bring = (name: string) => {
    const found = tabbed.find((panel) => panel.name === name);
    if (found?.tab === "hood") set("hood", true);
    if (found) set("pane", name);
  };

  const rows: Record<string, HTMLElement> = { first: at("tabs"), hood: at("hood-tabs") };
  for (const { name, title, tab, about } of tabbed) rows[tab]!.append(tabOf(`pane-${name}`, about, false, () => bring(name), title));
  const under = (open: boolean) => {
    set("hood", open);
    if (!open && rows.hood!.querySelector("[aria-selected=true]")) bring("place");
  };
  const hood = button("Under the hood ▸", tabbed.filter(({ tab }) => tab === "hood").map(({ title }) => title).join(", "), "hood", () => under(Boolean(rows.hood!.hidden)));
  rows.first!.after(hood);
  at("first-help").before(button("▣", "the whole window, and back (w)", "full", () => fill(!full)));
  const slots = panels.filter(({ name, tab }) => tab || name === "source").map(({ name, views }) => {
    const slot = h("div", { class: `ms-slot${views.length > 1 ? " ms-many" : ""}`, "data-panel": name, "data-testid": `panel-${name}` },
      h("div", { class: "ms-trouble", role: "alert" }), ...views.map((one) => h("div", { class: "ms-part", "data-view": one })));
    (view.querySelector(`[data-slot="${name}"]`) || view.querySelector(".ms-first-below"))!.append(slot);
    return slot;
  });

  const drawn = new Set<string>();
  const shown = () => panels.filter(({ name, tab }) => !tab || name === host.get("screen__pane"));
  host.inSight = () => new Set(shown().flatMap(({ views }) => views));
  function look() {
    const pane = host.get("screen__pane") || "place", now = tabbed.find(({ name }) => name === pane) || PLACE;
    view.dataset.pane = now.name;
    view.classList.toggle("ms-alone", now.wide);
    view.classList.toggle("ms-deep", now.tab === "hood");
    rows.hood!.hidden = !host.get("screen__hood");
    hood.setAttribute("aria-expanded", String(!rows.hood!.hidden));
    for (const { name } of tabbed) at(`pane-${name}`).setAttribute("aria-selected", String(name === now.name));
    for (const slot of slots) slot.hidden = ![pane, "source"].includes(slot.dataset.panel);
    for (const { name, views } of shown()) {
      const slot = slots.find((one) => one.dataset.panel === name);
      if (!slot || drawn.has(name)) continue;
      drawn.add(name);
      for (const one of views) drawing.push(draw(find(one), slot.querySelector(`[data-view="${one}"]`)));
    }
    return Promise.all(drawing);
  }
  function tell() {
    const troubles = model.get("troubles") || {};
    for (const slot of slots) {
      const name = slot.dataset.panel, said = troubles[name] || "", behind = panels.find((panel) => panel.name === name)!.views.some(host.behind);
      slot.firstChild.textContent = behind ? "This panel shows another place: the kernel went before it was seen here." : said && `This panel could not be brought up to date. ${said}`;
    }
  }

  let full = false, gaveWay = false;
  // JupyterLab's dialogs cannot lie over the top layer: the screen leaves it until they are closed.
  const asked = new MutationObserver(() => {
    const dialog = Boolean(document.querySelector("body > .jp-Dialog"));
    if (dialog ? !full : !gaveWay || !view.isConnected) return;
    gaveWay = dialog;
    fill(!dialog);
  });
  undo.push(() => asked.disconnect());
  function fill(value: boolean) {
    full = value;
    asked.observe(document.body, { childList: true });
    root.style.height = full ? `${view.offsetHeight}px` : ""; // the notebook keeps its place, so that nothing in it moves
    view.classList.toggle("ms-full", full);
    // The top layer is the only place that JupyterLab's own boxes cannot clip.
    if (full) { view.popover = "manual"; view.showPopover(); } else { view.hidePopover(); view.popover = null; }
    if (!gaveWay) view.focus({ preventScroll: true });
  }
  async function focus(pane: string, selector: string) {
    bring(pane);
    await look();
    view.querySelector<HTMLElement>(selector)?.focus();
  }
  function beside(by: number) {
    const listed = tabbed.filter(({ tab }) => tab === "first" || !rows.hood!.hidden);
    bring(listed[(listed.findIndex(({ name }) => name === view.dataset.pane) + by + listed.length) % listed.length]!.name);
  }
  const actions: Record<string, () => unknown> = {
    Escape: () => { if (!host.release() && full) fill(false); },
    "/": () => focus("tokens", ".ms-tokens input[type=search]"), e: () => focus(view.classList.contains("ms-alone") ? "place" : view.dataset.pane!, ".cm-content"), t: () => at("text").focus(),
    "[": () => beside(-1), "]": () => beside(1), w: () => fill(!full), "?": () => at("first-help").click(),
  };
  // An open dialog has its own keys: Escape closes it.
  view.addEventListener("keydown", keys(({ target }: any) => (target.closest(`${FIELD}, dialog`) ? {} : actions)));
  view.addEventListener("ms-reveal", (event) => bring((event as CustomEvent).detail));

  for (const trait of ["pane", "hood"]) host.on(`change:screen__${trait}`, look);
  model.on("change:troubles", tell);
  for (const event of ["gone", "placed"]) host.on(event, tell);
  undo.push(() => model.off("change:troubles", tell), keepFocus(view, host));
  host.look(view);
  tell();
  await look();
  return () => { while (undo.length) undo.pop()!(); before.remove(); screen.remove(); };
}
