// The desk: a strip that is always in sight, and four docks with tabs below it, of a height that never changes.
//
// The widget's trait `arrangement` says what lies where: { docks: { name: { tabs, active } }, columns, left, right,
// maximised }; sizes are fractions.  It is kept in the browser's storage too, so that the next desk begins as this one.
// Keys are those of the whole desk: see help.js, which lists them.
// Read on: workbench/explorer/dashboard.py (the panels), host.js (their views), text.js (the strip).
import { button, h } from "./common.js";
import { keepFocus } from "./focus.js";
import { help, tabKey, tabOf } from "./help.js";

const DOCKS = ["left_top", "left_bottom", "right_top", "right_bottom"];
const STORE = "maskscope.arrangement";
const FIELD = "input:not([type=range]):not([type=checkbox]):not([type=button]), textarea, select, [contenteditable=true]";

const between = (low, value, high) => Math.min(high, Math.max(low, value));

// What an earlier desk kept, as far as it fits this one, which begins as `first`: panels that there are no more are left
// out, and new ones lie where they do at first.
function remembered(first) {
  try {
    const kept = JSON.parse(localStorage.getItem(STORE) || "null");
    return kept && kept.version === 1 ? fitted(kept, first) : null;
  } catch {
    return null; // no storage here, or nothing of ours in it
  }
}
function fitted(kept, first) {
  const known = new Set(DOCKS.flatMap((dock) => first.docks[dock].tabs));
  const docks = Object.fromEntries(DOCKS.map((dock) => [dock, { active: kept.docks[dock].active, tabs: kept.docks[dock].tabs.filter((name) => known.delete(name)) }]));
  for (const dock of DOCKS) {
    const { tabs } = docks[dock];
    first.docks[dock].tabs.forEach((name, rank) => { if (known.has(name)) tabs.splice(rank, 0, name); });
    if (!tabs.includes(docks[dock].active)) docks[dock].active = tabs[0] ?? null;
  }
  const sizes = Object.fromEntries(["columns", "left", "right"].map((name) => [name, between(0.12, Number(kept[name]) || first[name], 0.88)]));
  return { ...first, ...sizes, docks: { ...first.docks, ...docks }, maximised: null };
}

function remember(arrangement) {
  try {
    localStorage.setItem(STORE, JSON.stringify(arrangement));
  } catch {
    // no storage here: the notebook's own state still knows
  }
}

async function render({ model, host, root, parts, draw }) {
  const panels = model.get("panels") || [];
  const undo = [];
  const part = Object.fromEntries(parts.map((one) => [one.name, one]));
  const title = Object.fromEntries(panels.map((panel) => [panel.name, panel.title]));
  const slots = {}, drawn = new Set();
  let full = false;

  const strip = h("div", { class: "ms-strip" });
  const gone = h("div", { class: "ms-gone", role: "alert", "data-testid": "kernel-gone" });
  const busy = h("span", { class: "ms-busy", role: "status", "data-testid": "kernel-busy" });
  const tools = h("div", { class: "ms-tools" }, busy,
    button("?", "keys, clicks and colours (?)", "keys-button", () => showKeys()), button("▣", "the whole window (w)", "full", () => fill(!full)));
  const keys = help(() => order().map((name) => ({ name, title: title[name] })), (name) => { showKeys(false); bring(name); }, () => showKeys(false));
  const desk = h("div", { class: "ms-desk", tabindex: "0", role: "group", "aria-label": "Maskscope explorer", "data-testid": "explorer" },
    gone, h("div", { class: "ms-top" }, strip, tools), keys.node);
  desk.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves its own keys alone in here
  root.classList.add("ms-desk-host");
  root.append(desk);
  host.look(desk);

  // -- docks ------------------------------------------------------------------------------------------------------
  const docks = {}, splitters = {};
  for (const name of DOCKS) {
    const tabs = h("div", { class: "ms-tablist", role: "tablist" });
    const body = h("div", { class: "ms-dock-body" });
    const move = button("⇄", "move this panel to the next dock", `move-${name}`, () => moveOn(name));
    const max = button("⤢", "maximise (m)", `maximise-${name}`, () => maximise(name));
    const dock = h("section", { class: "ms-dock", "data-dock": name, "data-testid": `dock-${name}` },
      h("div", { class: "ms-dock-head" }, tabs, h("span", { class: "ms-dock-tools" }, move, max)), body);
    dock.addEventListener("dragover", (event) => { if (dragged) { event.preventDefault(); dock.classList.add("ms-over"); } });
    dock.addEventListener("dragleave", () => dock.classList.remove("ms-over"));
    dock.addEventListener("drop", (event) => {
      dock.classList.remove("ms-over");
      if (!dragged) return;
      event.preventDefault();
      put(dragged, name);
    });
    docks[name] = { dock, tabs, body };
  }
  const splitter = (name, vertical) => {
    const bar = h("div", { class: `ms-splitter ${vertical ? "ms-vertical" : "ms-horizontal"}`, role: "separator", tabindex: "0",
      "aria-orientation": vertical ? "vertical" : "horizontal", "aria-label": "resize", "data-testid": `splitter-${name}` });
    const place = (fraction, last) => sized(name, between(0.12, fraction, 0.88), last);
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      const box = bar.parentElement.getBoundingClientRect();
      const follow = (move) => place(vertical ? (move.clientX - box.left) / box.width : (move.clientY - box.top) / box.height, false);
      const end = () => { bar.removeEventListener("pointermove", follow); place(arrangement()[name], true); };
      bar.addEventListener("pointermove", follow);
      bar.addEventListener("pointerup", end, { once: true });
      bar.addEventListener("pointercancel", end, { once: true });
      event.preventDefault();
    });
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: vertical && -0.03, ArrowRight: vertical && 0.03, ArrowUp: !vertical && -0.03, ArrowDown: !vertical && 0.03 }[event.key];
      if (!by) return;
      place(arrangement()[name] + by, true);
      event.preventDefault();
    });
    splitters[name] = bar;
    return bar;
  };
  const left = h("div", { class: "ms-column", "data-column": "left" }, docks.left_top.dock, splitter("left", false), docks.left_bottom.dock);
  const right = h("div", { class: "ms-column", "data-column": "right" }, docks.right_top.dock, splitter("right", false), docks.right_bottom.dock);
  const area = h("div", { class: "ms-docks" }, left, splitter("columns", true), right);
  desk.append(area);

  for (const panel of panels) {
    const slot = h("div", { class: `ms-slot${panel.views.length > 1 ? " ms-many" : ""}`, "data-panel": panel.name, "data-testid": `panel-${panel.name}` },
      h("div", { class: "ms-trouble", role: "alert" }));
    if (panel.dock !== "strip") slot.setAttribute("role", "tabpanel");
    for (const view of panel.views) slot.append(h("div", { class: "ms-part", "data-view": view }));
    slots[panel.name] = slot;
  }

  // -- the arrangement --------------------------------------------------------------------------------------------
  const arrangement = () => model.get("arrangement") || {};
  function commit(next, keep = true) {
    host.set("arrangement", { ...next, touched: true });
    if (!keep) return;
    remember({ ...next, maximised: null });
    host.save();
  }
  const sized = (name, fraction, keep) => commit({ ...arrangement(), [name]: fraction }, keep);
  const homeOf = (name) => DOCKS.find((dock) => arrangement().docks[dock].tabs.includes(name));

  function bring(name) {
    const home = homeOf(name), now = arrangement();
    if (!home) return;
    const maximised = now.maximised ? home : null;
    commit({ ...now, maximised, docks: { ...now.docks, [home]: { ...now.docks[home], active: name } } });
  }

  function put(name, dock) {
    const now = arrangement(), next = { ...now.docks }, home = homeOf(name);
    if (home === dock) return;
    const tabs = next[home].tabs.filter((tab) => tab !== name);
    next[home] = { tabs, active: next[home].active === name ? tabs[0] ?? null : next[home].active };
    next[dock] = { tabs: [...next[dock].tabs, name], active: name };
    commit({ ...now, docks: next, maximised: now.maximised && dock });
  }

  function moveOn(dock) {
    const name = arrangement().docks[dock].active;
    if (name) put(name, DOCKS[(DOCKS.indexOf(dock) + 1) % DOCKS.length]);
  }

  function maximise(dock) {
    const now = arrangement();
    commit({ ...now, maximised: now.maximised === dock ? null : dock });
    if (!full) desk.scrollIntoView({ block: "start" });
  }

  let dragged = null;
  function tab(name, dock, active) {
    const made = h("button", { type: "button", role: "tab", draggable: "true", "aria-selected": String(active), "data-tab": name,
      "data-testid": `dock-tab-${name}`, title: `${title[name]} (${tabKey(order().indexOf(name))}); drag it to another dock`, onclick: () => bring(name) }, title[name]);
    made.addEventListener("dblclick", () => maximise(dock));
    made.addEventListener("dragstart", (event) => { dragged = name; event.dataTransfer.setData("text/plain", title[name]); desk.classList.add("ms-dragging"); });
    made.addEventListener("dragend", () => { dragged = null; desk.classList.remove("ms-dragging"); });
    return made;
  }
  const order = () => DOCKS.flatMap((dock) => arrangement().docks[dock].tabs);

  let tabbed = "";
  function apply() {
    const now = arrangement();
    if (!now.docks) return;
    const shape = JSON.stringify(now.docks);
    for (const name of DOCKS) {
      const { dock, tabs, body } = docks[name];
      const entry = now.docks[name];
      if (shape !== tabbed) {
        tabs.replaceChildren(...entry.tabs.map((one) => tab(one, name, one === entry.active)));
        for (const one of entry.tabs) {
          if (slots[one].parentElement !== body) body.append(slots[one]);
          slots[one].hidden = one !== entry.active;
        }
      }
      dock.classList.toggle("ms-empty-dock", !entry.tabs.length);
      dock.classList.toggle("ms-maximised", now.maximised === name);
    }
    tabbed = shape;
    for (const name of now.docks.strip ? now.docks.strip.tabs : []) if (slots[name].parentElement !== strip) strip.append(slots[name]);
    for (const [column, names] of [[left, ["left_top", "left_bottom"]], [right, ["right_top", "right_bottom"]]]) {
      const filled = names.filter((name) => now.docks[name].tabs.length);
      column.classList.toggle("ms-no-tabs", !filled.length);
      column.classList.toggle("ms-one-dock", filled.length === 1);
      column.classList.toggle("ms-has-maximised", names.includes(now.maximised));
    }
    area.classList.toggle("ms-one-column", left.classList.contains("ms-no-tabs") || right.classList.contains("ms-no-tabs"));
    area.classList.toggle("ms-is-maximised", Boolean(now.maximised));
    area.style.setProperty("--columns", `${100 * now.columns}%`);
    left.style.setProperty("--rows", `${100 * now.left}%`);
    right.style.setProperty("--rows", `${100 * now.right}%`);
    for (const [name, bar] of Object.entries(splitters)) bar.setAttribute("aria-valuenow", String(Math.round(100 * now[name])));
    for (const panel of panels) {
      const slot = slots[panel.name];
      if (drawn.has(panel.name) || slot.hidden || !slot.isConnected) continue;
      drawn.add(panel.name);
      for (const view of panel.views) waiting.push(draw(part[view], slot.querySelector(`[data-view="${view}"]`)));
    }
  }
  const waiting = [];
  host.inSight = () => new Set(panels.filter((panel) => slots[panel.name].isConnected && !slots[panel.name].closest("[hidden]")).flatMap((panel) => panel.views));

  // -- what goes wrong ----------------------------------------------------------------------------------------------
  function tell() {
    const troubles = model.get("troubles") || {};
    for (const [name, slot] of Object.entries(slots)) {
      const said = troubles[name] || "";
      const behind = panels.find((panel) => panel.name === name).views.some(host.behind);
      slot.firstChild.textContent = behind ? "This panel shows another place: the kernel went before it was seen here." : said && `This panel could not be brought up to date. ${said}`;
    }
  }
  // Without a kernel: whether anything can be gone to is another matter at each place.
  const WAYS = [{ to: "first" }, { to: "last" }, ...["token", "byte"].flatMap((by) => [{ to: "back", by }, { to: "forward", by }])];
  function tellKernel() {
    if (host.gone) {
      const { around = {}, number } = host.place(), steps = (around.steps || []).flatMap(([from, , length]) => Array.from({ length }, (_, at) => ({ kind: "goto", index: from + at })));
      const seen = [...WAYS.map((way) => ({ kind: "move", ...way })), ...steps].some((way) => host.can(way, number));
      gone.textContent = `The kernel is gone: run the cell again. What is shown stays${seen ? ", and the buttons and tokens that are not grey go to places already seen" : ""}.`;
      tell();
    } else gone.textContent = "";
    desk.classList.toggle("ms-kernel-gone", host.gone);
    busy.textContent = "";
  }

  // What is cut with an ellipsis tells the whole of itself where one points at it: only then its size is looked at.
  function whole(event) {
    for (let node = event.target, up = 0; node instanceof HTMLElement && node !== desk && up < 3; node = node.parentElement, up += 1) {
      const cut = node.scrollWidth > node.clientWidth + 1, ours = "cut" in node.dataset;
      if (node.title && !ours) return;
      if (!ours && !(cut && getComputedStyle(node).textOverflow === "ellipsis")) continue;
      node.title = cut ? node.textContent : "";
      if (cut) { node.dataset.cut = ""; return; }
      delete node.dataset.cut;
    }
  }

  // -- the whole window, and the keys -------------------------------------------------------------------------------
  function fill(value) {
    full = value;
    // The notebook keeps the panel's place, so that nothing in it moves and no cell comes or goes.
    root.style.height = full ? `${desk.offsetHeight}px` : "";
    desk.classList.toggle("ms-full", full);
    // The top layer is the only place that JupyterLab's own boxes cannot clip.
    if (full) { desk.popover = "manual"; desk.showPopover(); } else if (desk.popover) { desk.hidePopover(); desk.removeAttribute("popover"); }
    desk.focus({ preventScroll: true });
  }
  const showKeys = (shown) => { keys.toggle(shown); if (!keys.shown) desk.focus({ preventScroll: true }); };
  // A click elsewhere closes the list; its own button does so by itself.
  const outside = (event) => { if (keys.shown && !keys.node.contains(event.target) && !event.target.closest?.("[data-testid=keys-button]")) keys.toggle(false); };
  document.addEventListener("pointerdown", outside, true);

  const go = (content) => host.go("text", content);
  const running = () => Boolean(host.model(part.text).get("running"));
  function pressed(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const field = event.target.closest(FIELD);
    const done = () => { event.preventDefault(); event.stopPropagation(); };
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (field || event.altKey || (key !== "z" && key !== "y")) return;
      if (!running()) go({ kind: key === "y" || event.shiftKey ? "redo" : "undo" });
      return done();
    }
    if (event.key === "Escape") {
      if (keys.shown) showKeys(false);
      else if (field) { field.blur(); desk.focus({ preventScroll: true }); }
      else if (host.release()) { /* it was open, and is closed */ }
      else if (full) fill(false);
      else if (arrangement().maximised) maximise(arrangement().maximised);
      else return;
      return done();
    }
    const name = order()[tabOf(event)];
    if (name) {
      bring(name);
      if (field) desk.focus({ preventScroll: true });
      return done();
    }
    const inBox = field && field.dataset.testid === "prefix";
    if (field && !(inBox && event.altKey)) return;
    if (!field && event.altKey) return;
    const by = event.shiftKey ? "byte" : "token";
    const step = { ArrowLeft: { to: "back", by }, ArrowRight: { to: "forward", by }, Home: { to: "first" }, End: { to: "last" } }[event.key];
    if (step) {
      done();
      if (!running()) go({ kind: "move", ...step });
      return;
    }
    if (field) return;
    const dock = event.target.closest(".ms-dock")?.dataset.dock;
    const front = dock && arrangement().docks[dock];
    const beside = (by_) => { if (front && front.tabs.length) bring(front.tabs[(front.tabs.indexOf(front.active) + by_ + front.tabs.length) % front.tabs.length]); };
    const actions = {
      "?": () => showKeys(), "/": search, t: () => focus("text", "textarea"), e: () => focus("source", "textarea, .cm-content, [contenteditable=true]"),
      "[": () => beside(-1), "]": () => beside(1), m: () => maximise(dock || arrangement().maximised || "right_top"), w: () => fill(!full),
      o: () => { if (!running() && (host.model(part.text).get("state").kept || []).length) go({ kind: "restore", number: 0 }); },
    };
    const action = actions[event.key];
    if (!action) return;
    done();
    action();
  }
  function focus(panel, selector) {
    if (homeOf(panel)) bring(panel);
    // The panel may have to be drawn first.
    Promise.all(waiting).then(() => slots[panel]?.querySelector(selector)?.focus());
  }
  desk.addEventListener("ms-reveal", (event) => { if (homeOf(event.detail)) bring(event.detail); });
  const search = () => focus("tokens", "input[type=search]");

  const onArrangement = () => apply();
  model.on("change:arrangement", onArrangement);
  model.on("change:troubles", tell);
  host.on("gone", tellKernel);
  host.on("waiting", () => { busy.textContent = "waiting for the kernel …"; });
  host.on("answered", () => { busy.textContent = ""; });
  host.on("refused", () => { busy.textContent = host.gone ? "the kernel is gone" : "not in this page"; });
  host.on("placed", () => { if (host.gone) tellKernel(); else if (!host.pending) busy.textContent = ""; });
  desk.addEventListener("keydown", pressed);
  desk.addEventListener("pointerover", whole);
  undo.push(keepFocus(desk, host, { pressed,
    dead: (node) => { const field = host.alone() && node.closest(FIELD); return Boolean(field) && !field.matches("select") && (field.readOnly ?? true); },
    mute: () => { busy.textContent = host.gone ? "the kernel is gone: nobody reads what is typed" : "a saved page: nobody reads what is typed"; } }));
  undo.push(() => { model.off("change:arrangement", onArrangement); model.off("change:troubles", tell); desk.removeEventListener("keydown", pressed); document.removeEventListener("pointerdown", outside, true); });
  const kept = arrangement().touched ? null : remembered(arrangement());
  if (kept) commit(kept);
  apply();
  tell();
  tellKernel();
  await Promise.all(waiting);
  return () => { while (undo.length) undo.pop()(); desk.remove(); };
}

export default { render };
