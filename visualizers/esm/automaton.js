// The automaton: laid out once in Python, lit here by toggling classes on the elements `s<state id>`.
// Read on: visualizers/svg.py (the picture), visualizers/live.py (AutomatonView).
import { h, number, mount } from "./common.js";

const MIN_READABLE = 0.6;

function render({ model, el }) {
  const view = mount({ model, el }, "automaton", "automaton-view");
  const engine = h("span", { class: "ms-muted", "data-testid": "layout-engine" });
  const status = h("span", { class: "ms-mono", role: "status", "data-testid": "active-states" });
  const stage = h("div", {
    class: "ms-stage", tabindex: "0", role: "application", "data-testid": "automaton-stage",
    "aria-label": "Automaton. Plus and minus zoom, 0 fits, n and p go through the active states, Enter selects.",
  });
  const tip = h("div", { class: "ms-tip", role: "tooltip", hidden: true, "data-testid": "automaton-tip" });
  const note = h("div", { class: "ms-note", "data-testid": "automaton-note" });
  const follow = button("follow", "keep the active states in sight", () => press(!following()));
  const following = () => follow.getAttribute("aria-pressed") === "true";
  const press = (on) => { follow.setAttribute("aria-pressed", String(on)); if (on) chase(); };
  follow.setAttribute("aria-pressed", "true");
  view.root.append(
    h("div", { class: "ms-bar" },
      h("span", { class: "ms-title" }, "Automaton"), status, h("span", { class: "ms-grow" }), engine, follow,
      h("span", { class: "ms-group" },
        button("−", "zoom out (-)", () => zoom(1 / 1.25), "zoom-out"),
        button("fit", "fit everything (0)", () => { touched = false; fit(true); }, "zoom-fit"),
        button("+", "zoom in (+); the wheel zooms once the picture has the focus, or with Ctrl", () => zoom(1.25), "zoom-in"))),
    stage, note, tip);

  let graph = null;
  let size = [1, 1];
  let scale = 1, x = 0, y = 0;
  let touched = false;
  let nodes = new Map();
  let lit = new Set();

  function button(text, title, action, testid) {
    return h("button", { type: "button", title, "aria-label": title, "data-testid": testid || text, onclick: action }, text);
  }

  // Once per grammar (or per folding): parse the picture and index its elements.
  function draw() {
    const parsed = new DOMParser().parseFromString(model.get("svg") || "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml");
    const svg = document.importNode(parsed.documentElement, true);
    const box = (svg.getAttribute("viewBox") || "0 0 1 1").split(" ").map(Number);
    size = [box[2], box[3]];
    svg.removeAttribute("viewBox");
    stage.replaceChildren(svg);
    graph = svg.querySelector(".graph");
    nodes = new Map();
    for (const node of svg.querySelectorAll(".state, .rulenode")) nodes.set(node.id, node);
    lit = new Set(svg.querySelectorAll(".active"));
    touched = false;
    fit();
    light();
    select();
    const name = model.get("engine");
    engine.textContent = name ? `${counted()} · laid out by ${name}` : "";
    note.textContent = model.get("note");
    note.hidden = !model.get("note");
  }

  function counted() {
    const states = svgCount(".state"), rules = (model.get("rules") || []).length;
    return `${number(rules)} rules, ${number(states)} states drawn`;
  }

  const svgCount = (selector) => stage.querySelectorAll(selector).length;

  function place() {
    if (graph) graph.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  // Everything in sight; of a large picture as much as can still be read, unless `whole` is asked for.
  function fit(whole = false) {
    const width = stage.clientWidth;
    if (!width) return;
    if (!stage.style.height && !whole) {
      const wanted = size[1] * Math.min(1, Math.max(MIN_READABLE, width / size[0])) + 16;
      stage.style.height = `${Math.round(Math.min(560, Math.max(140, wanted)))}px`;
    }
    const height = stage.clientHeight;
    const all = Math.min((width - 16) / size[0], (height - 16) / size[1], 1.2);
    scale = whole ? all : Math.max(all, Math.min(MIN_READABLE, 1));
    x = Math.max(8, (width - size[0] * scale) / 2);
    y = Math.max(8, (height - size[1] * scale) / 2);
    place();
  }

  function zoom(factor, at = [stage.clientWidth / 2, stage.clientHeight / 2]) {
    const next = Math.min(6, Math.max(0.05, scale * factor));
    x = at[0] - ((at[0] - x) * next) / scale;
    y = at[1] - ((at[1] - y) * next) / scale;
    scale = next;
    touched = true;
    place();
  }

  // One step: only classes change.
  function light() {
    const active = model.get("active") || [];
    const owner = model.get("owner") || {};
    const now = new Set();
    for (const id of active) {
      const state = nodes.get(`s${id}`);
      const rule = nodes.get(`r${owner[id]}`);
      if (state) now.add(state);
      if (rule) now.add(rule);
    }
    for (const node of lit) if (!now.has(node)) node.classList.remove("active");
    for (const node of now) node.classList.add("active");
    const panels = new Set([...now].map((node) => node.closest(".panel")));
    for (const panel of stage.querySelectorAll(".panel")) panel.classList.toggle("live", panels.has(panel));
    lit = now;
    const shown = active.slice(0, 8).join(", ") + (active.length > 8 ? ", …" : "");
    status.textContent = active.length ? `${active.length} active: ${shown}` : "no active state";
    if (following()) chase();
  }

  function chase() {
    const frame = stage.getBoundingClientRect();
    if (!frame.width || !lit.size) return;
    const boxes = [...lit].map((node) => node.getBoundingClientRect());
    const inside = (box) => box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
    if (boxes.every(inside)) return;
    const all = {
      left: Math.min(...boxes.map((box) => box.left)), right: Math.max(...boxes.map((box) => box.right)),
      top: Math.min(...boxes.map((box) => box.top)), bottom: Math.max(...boxes.map((box) => box.bottom)),
    };
    if (all.right - all.left < frame.width && all.bottom - all.top < frame.height) center(all);
    else if (!boxes.some(inside)) center(boxes[boxes.length - 1]);
  }

  function center(box) {
    const frame = stage.getBoundingClientRect();
    x += frame.left + frame.width / 2 - (box.left + box.right) / 2;
    y += frame.top + frame.height / 2 - (box.top + box.bottom) / 2;
    // Do not show emptiness where there is picture on the other side.
    const within = (at, room, length) => length <= room - 16 ? (room - length) / 2 : Math.min(8, Math.max(room - length - 8, at));
    x = within(x, stage.clientWidth, size[0] * scale);
    y = within(y, stage.clientHeight, size[1] * scale);
    place();
  }

  function select() {
    const chosen = model.get("selected");
    for (const node of stage.querySelectorAll(".state.selected")) node.classList.remove("selected");
    const node = nodes.get(`s${chosen}`);
    if (node) node.classList.add("selected");
  }

  function unfold(index, open) {
    const name = (model.get("rules") || [])[index];
    if (name === undefined) return;
    const rest = (model.get("expanded") || []).filter((rule) => rule !== name);
    view.commit("expanded", open ? [...rest, name] : rest);
  }

  function activate(target) {
    const fold = target.closest(".fold");
    if (fold) return unfold(Number(fold.closest(".panel").dataset.rule), false);
    const rule = target.closest(".rulenode");
    if (rule) return unfold(Number(rule.dataset.rule), !rule.classList.contains("expanded"));
    const state = target.closest(".state");
    const id = state ? Number(state.dataset.state) : null;
    view.commit("selected", id === model.get("selected") ? null : id);
  }

  // Tooltips are text nodes only: nothing from a grammar is ever parsed as HTML.
  function describe(target) {
    const state = target.closest(".state");
    if (state) {
      const info = (model.get("states") || {})[state.dataset.state] || {};
      const flags = [state.classList.contains("scannable") && "scannable", state.classList.contains("accepting") && "accepting"];
      const head = [`state ${state.dataset.state}`, info.rule, ...flags].filter(Boolean).join(" · ");
      return [head, (info.dots || []).join("\n")];
    }
    const edge = target.closest(".edge");
    if (edge && edge.querySelector("text")) {
      const text = edge.dataset.full || [...edge.querySelectorAll("text")].map((line) => line.textContent).join("\n");
      const ends = `${edge.dataset.from} → ${edge.dataset.to}`.replaceAll("s", "state ");
      return [edge.classList.contains("call") ? `call, ${ends}` : ends, text];
    }
    const rule = target.closest(".rulenode");
    if (rule) {
      const open = rule.classList.contains("expanded");
      return [model.get("offline") ? "rule" : open ? "click to fold" : "click to expand", (model.get("rules") || [])[rule.dataset.rule]];
    }
    return null;
  }

  function show(target) {
    const text = target && describe(target);
    tip.hidden = !text;
    if (!text) return;
    tip.replaceChildren(h("div", { class: "ms-head" }, text[0]), text[1] || "");
    const root = view.root.getBoundingClientRect();
    const box = target.closest(".state, .edge, .rulenode").getBoundingClientRect();
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const left = Math.min(Math.max(4, (box.left + box.right) / 2 - root.left - width / 2), root.width - width - 4);
    const above = box.top - root.top - height - 6;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above > 4 ? above : Math.min(box.bottom - root.top + 6, root.height - height - 4)}px`;
  }

  let drag = null;
  view.listen(stage, "pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, y: event.clientY, from: [x, y], moved: false, target: event.target };
  });
  view.listen(stage, "pointermove", (event) => {
    if (!drag) return show(event.target.closest && event.target);
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!drag.moved) stage.setPointerCapture(event.pointerId);
    drag.moved = touched = true;
    stage.classList.add("dragging");
    show(null);
    [x, y] = [drag.from[0] + dx, drag.from[1] + dy];
    place();
  });
  const release = (event) => {
    stage.classList.remove("dragging");
    if (drag && !drag.moved && event.type === "pointerup") activate(drag.target);
    drag = null;
  };
  view.listen(stage, "pointerup", release);
  view.listen(stage, "pointercancel", release);
  view.listen(stage, "pointerleave", () => show(null));
  view.listen(stage, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.matches(":focus-within")) return;
    event.preventDefault();
    const frame = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0016), [event.clientX - frame.left, event.clientY - frame.top]);
  }, { passive: false });

  let cursor = -1;
  view.listen(stage, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = event.target.closest(".rulenode, .fold");
    if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(1 / 1.25);
    else if (event.key === "0") { touched = false; fit(true); }
    else if (event.key === "n" || event.key === "p") {
      const states = [...(lit.size ? lit : nodes.values())];
      if (!states.length) return;
      cursor = (cursor + (event.key === "n" ? 1 : -1) + states.length) % states.length;
      center(states[cursor].getBoundingClientRect());
      show(states[cursor]);
    } else if (event.key === "Enter" || event.key === " ") {
      const states = [...(lit.size ? lit : nodes.values())];
      if (focused) activate(focused);
      else if (states[cursor]) activate(states[cursor]);
      else return;
    } else if (event.key === "Escape") { show(null); view.commit("selected", null); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const resized = new ResizeObserver(() => { if (!touched) fit(); });
  resized.observe(stage);
  view.defer(() => resized.disconnect());
  view.on("change:svg", draw);
  view.on("change:active", light);
  view.on("change:selected", select);
  view.on("change:note", () => { note.textContent = model.get("note"); note.hidden = !model.get("note"); });
  draw();
  return () => view.clean();
}

export default { render };
