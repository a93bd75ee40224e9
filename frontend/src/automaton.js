// The automaton: a picture that Graphviz draws, lit here by toggling classes on elements whose ids never change.
// A picture that shows another part comes when it is drawn and is put so that what was looked at stays in place.
// Read on: drawing.ts (the picture), visualizers/live_automaton.py (AutomatonView).
import { boxes } from "./boxes.js";
import { again, button, channel, fill, h, many, defineView, put, soon, svg as svgNode } from "./common.js";
import { draw as drawAll } from "./drawing";
import { finder } from "./find.js";
import { aim, fitting, inRoom } from "./following.js";
import { dots, plate, spots } from "./inside.js";

const READABLE = 0.72, BOXED = 0.5, SMALLEST = 0.4, TINY = 0.3; // scales: at first, and the least of `aim`
const MARKS = ["active", "waiting", "visited", "fresh"];

export default defineView("automaton", "automaton-view", ({ view, model }) => {
  const python = channel(model, view);
  const offline = () => model.get("offline");
  const status = h("span", { class: "ms-mono ms-cut", role: "status", "data-testid": "active-states" });
  const crumbs = h("span", { class: "ms-crumbs", "data-testid": "automaton-crumbs" });
  const stage = h("div", {
    class: "ms-stage", tabindex: "0", role: "application", "data-testid": "automaton-stage",
    "aria-label": "Automaton. Plus and minus zoom, 0 fits, h j k l move, n and p go through the active states, Enter selects, slash searches, b shows bytes, Backspace leaves a rule.",
  });
  const tip = h("div", { class: "ms-tip", role: "tooltip", hidden: true, "data-testid": "automaton-tip" });
  const card = h("div", { class: "ms-card", hidden: true, "data-testid": "automaton-card" });
  const note = h("div", { class: "ms-foot", "data-testid": "automaton-note" });
  const search = h("input", { type: "search", placeholder: "find  /", "aria-label": "find a state, a rule or a text in the automaton", "data-testid": "automaton-search" });
  const hits = h("div", { class: "ms-hits", role: "listbox", hidden: true, "data-testid": "automaton-hits" });
  const around = h("select", { title: "how many steps around the parser are drawn", "aria-label": "steps around the parser", "data-testid": "automaton-around" },
    ...[1, 2, 3, 4].map((count) => h("option", { value: count }, many(count, "step"))), h("option", { value: "all" }, "everything"));
  const follow = toggle("follow", "keep the active states in sight", () => { press(follow, !pressed(follow)); if (pressed(follow)) chase(); });
  const bytes = toggle("bytes", "every state and byte as the engine has them (b)", () => view.commit("mode", model.get("mode") === "bytes" ? "characters" : "bytes"));
  press(follow, true);
  view.root.append(
    h("div", { class: "ms-bar" },
      h("span", { class: "ms-title" }, "Automaton"), crumbs, status, h("span", { class: "ms-grow" }),
      h("span", { class: "ms-find" }, search, hits), around, bytes, follow,
      h("span", { class: "ms-group" },
        button("−", "zoom out (-)", "zoom-out", () => zoom(1 / 1.25)),
        button("fit", "fit everything (0)", "zoom-fit", () => { touched = false; fit(true); }),
        button("+", "zoom in (+); the wheel zooms once the picture has the focus, or with Ctrl", "zoom-in", () => zoom(1.25)))),
    h("div", { class: "ms-hold" }, stage, card), note, tip);

  let svg = null, key = null;
  let size = [1, 1];
  let box = () => null;      // of a node, in the picture's units
  let room = [0, 0];         // width and height of the stage
  let scale = 1, x = 0, y = 0;
  let wish = 1;              // the scale that was asked for; following may need a smaller one
  let touched = false;
  let drag = null;           // where a pointer took hold of the picture
  let lit = new Map();       // element -> the classes it has by the marks
  let written = new Map();   // label with dots -> where they are, and its rows without them
  let plates = () => [];     // of active states within edges, which have no circle
  const told = new Map();

  function toggle(text, title, action) {
    const made = button(text, title, text, action);
    press(made, false);
    return made;
  }
  function press(one, on) { one.setAttribute("aria-pressed", String(on)); }
  function pressed(one) { return one.getAttribute("aria-pressed") === "true"; }
  const byId = (id) => stage.querySelector(`[id="${CSS.escape(id)}"]`);
  const stateOf = (id) => byId(`s${id}`) || stage.querySelector(`.plate[data-state="${Number(id)}"]`);

  // Pictures already seen, so that going back asks nobody; and what was made of them, with its marks.
  const kept = new Map(), parsed = new Map(), making = new Set(), failed = new Set();
  let trouble = "";
  function keep(all, name, value) {
    all.delete(name);
    all.set(name, value);
    if (all.size > 48) all.delete(all.keys().next().value);
    return value;
  }
  // Lays a picture out when what is shown now has been painted.
  async function make(picture) {
    if (making.has(picture.key)) return;
    making.add(picture.key);
    view.root.dataset.drawing = "";
    await new Promise((painted) => { const next = () => setTimeout(painted); if (key === null) next(); else requestAnimationFrame(next); });
    try {
      const made = await drawAll(picture.panels);
      keep(parsed, picture.key, { ...made, box: boxes(made.graph), lit: new Map(), written: new Map(), plates: again((one) => plate(one, one[0] === model.get("selected"))) });
      trouble = "";
    } catch (error) {
      trouble = `not drawn: ${error.message || error}`;
      failed.add(picture.key);
      reportError(error);
    }
    making.delete(picture.key);
    if (!making.size) delete view.root.dataset.drawing;
    redraw();
  }

  // A new picture: what both show stays where it was on the screen.
  function draw() {
    const sent = model.get("picture") || {};
    if (sent.key) keep(kept, sent.key, sent);
    const wanted = model.get("key");
    const picture = kept.get(wanted) || (model.get("pictures") || {})[wanted] || sent;
    if (!picture.key || picture.key === key) return light();
    const known = parsed.get(picture.key);
    if (!known) {
      if (!failed.has(picture.key)) make(picture); else foot();
      return svg ? undefined : say(); // the marks are those of the picture that comes
    }
    const before = anchors();
    ({ svg, size, box, lit, written, plates } = keep(parsed, picture.key, known));
    stage.replaceChildren(svg);
    const first = key === null;
    key = picture.key;
    light(true);
    if (first || (!touched && !pressed(follow))) fit();
    const after = first ? null : before.find(([id]) => byId(id));
    if (after && (touched || pressed(follow) || !allFits())) {
      const now = onStage(byId(after[0]));
      x += after[1] - now.left;
      y += after[2] - now.top;
      within();
    }
    place();
    if (pressed(follow)) chase(false, true);
    select();
    choice();
    drawnPart = picture;
    foot();
  }

  // By which the next picture is put in place: active states first, then what is near the middle.
  function anchors() {
    if (!svg) return [];
    return [...stage.querySelectorAll(".state[id]")].map((node) => {
      const { left, top } = onStage(node);
      const far = Math.hypot(left - room[0] / 2, top - room[1] / 2);
      return [node.id, left, top, node.classList.contains("active") ? far - 1e6 : far];
    }).sort((one, other) => one[3] - other[3]);
  }

  // Where a node lies on the stage, in pixels.
  const staged = (one) => one && { left: x + scale * one.left, top: y + scale * one.top, right: x + scale * one.right, bottom: y + scale * one.bottom };
  const onStage = (node) => staged(box(node));

  let drawnPart = {};
  function foot() {
    const about = model.get("about") || {}, picture = drawnPart, meant = model.get("waiting");
    const small = model.get("spelt_out") || [];
    const part = picture.all ? "drawn: all states" : picture.shown ? `drawn: ${many(picture.shown, "state")}` : "";
    const waits = about.waiting ? `; ${many(about.waiting, "more rule")} when predicted` : "";
    const made = `the engine has made ${many(about.states || 0, "state")} of ${many(about.rules || 0, "rule")}${waits}`;
    note.textContent = [!meant ? "" : meant[0] === "#" ? `no rule is made yet that reads ${meant}` : `the rule ${meant} is made when it is predicted; ${model.get("rule") || "a rule not made yet"} calls it`, part, made,
      small.length ? `written into their callers: ${small.slice(0, 8).join(", ")}${small.length > 8 ? ` and ${small.length - 8} more` : ""}` : "",
      picture.note, trouble].filter(Boolean).join(" · ");
    note.title = `${note.textContent}\nthe engine's rules: it makes some of a schema, and writes small ones into their callers`;
  }

  function place() {
    if (!svg) return;
    // In CSS: a transform within the picture would have the browser set all its texts anew.
    svg.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    say();
    if (!drag) aside();
  }

  function allFits() {
    return size[0] * scale <= room[0] && size[1] * scale <= room[1];
  }

  // Everything in sight; of a large picture what can still be read, unless `whole` is asked for.
  function fit(whole = false) {
    const [width, height] = room;
    if (!width || !height) return;
    const all = Math.min((width - 16) / size[0], (height - 16) / size[1], 1.15);
    wish = scale = whole ? all : Math.max(all, READABLE);
    x = Math.max(8, (width - size[0] * scale) / 2);
    y = Math.max(8, (height - size[1] * scale) / 2);
    place();
    if (!whole && all < READABLE && pressed(follow)) chase(true);
  }

  function zoom(factor, at = [room[0] / 2, room[1] / 2]) {
    const next = Math.min(6, Math.max(0.05, scale * factor));
    x = at[0] - ((at[0] - x) * next) / scale;
    y = at[1] - ((at[1] - y) * next) / scale;
    wish = scale = next;
    touched = true;
    place();
  }

  function move(dx, dy) {
    x += dx;
    y += dy;
    touched = true;
    place();
  }

  // One step: only classes change, and the dot within a literal; what is marked as before is left alone.
  function light(fresh = false) {
    const marks = model.get("marks") || {};
    const wanted = new Map(); // element -> its classes
    const mark = (node, name) => wanted.set(node, (wanted.get(node) || new Set()).add(name));
    const both = (node, name) => {
      mark(node, name);
      if (node.classList.contains("label")) mark(node.closest(".edge"), name);
    };
    for (const name of MARKS)
      for (const id of marks[name] || []) {
        const node = byId(id);
        if (node) both(node, name);
      }
    const dotted = new Map(); // label -> where its dots are
    for (const [id, places] of Object.entries(marks.on || {})) {
      const label = byId(id);
      if (!label) continue;
      both(label, "active");
      dotted.set(label, places);
    }
    for (const [node, names] of lit) for (const name of names) if (!wanted.get(node)?.has(name)) node.classList.remove(name);
    for (const [node, names] of wanted) for (const name of names) if (!lit.get(node)?.has(name)) node.classList.add(name);
    lit.clear();
    for (const [node, names] of wanted) lit.set(node, names);
    for (const [label, { places, rows }] of written)
      if (String(dotted.get(label)) === String(places)) dotted.delete(label);
      else { label.replaceChildren(...rows); written.delete(label); }
    for (const [label, places] of dotted) {
      written.set(label, { places, rows: [...label.children].map((row) => row.cloneNode(true)) });
      dots(label, places);
    }
    const inside = plates(spots(marks.inside || [], byId));
    for (const panel of stage.querySelectorAll(".panel")) {
      const ours = inside.filter((one) => one.dataset.rule === panel.id), there = panel.querySelector(":scope > .inside");
      if (there || ours.length) fill(there || panel.appendChild(svgNode("g", { class: "inside" })), ours);
      panel.classList.toggle("live", !!panel.querySelector(".state.active"));
    }
    if (!fresh && pressed(follow)) chase();
    say();
  }

  // How many states are active, and which one does not see.
  function say() {
    const active = model.get("active") || [], hidden = live().filter((node) => box(node) && !seen(box(node))).length;
    const drawn = new Set([...stage.querySelectorAll(".state.active")].map((node) => Number(node.dataset.state)));
    const missing = stage.querySelector(".rulenode") ? 0 : active.filter((id) => !drawn.has(id)).length;
    put(status, active.length ? `${active.length} active: ${active.slice(0, 4).join(", ")}${active.length > 4 ? ", …" : ""}${missing ? ` (${missing} in rules not drawn)` : ""}${hidden ? `; ${hidden} out of sight: n, p` : ""}` : "no active state");
    const edges = (model.get("marks") || {}).edges || {};
    status.title = active.length ? [`${active.length} active: ${active.join(", ")}: the states at the ends of the frontier's items`,
      ...active.filter((id) => edges[id]).map((id) => `${id}: on the edge ${edges[id]}`)].join("\n") : "";
  }

  const live = () => [...stage.querySelectorAll(".state.active, .rulenode.active")];

  // Brings into sight what `aim` chooses of the active states and the boxes of their rules; the scale stays unless that does
  // not fit.  A picture made small for states far apart grows again when another one comes (`afresh`), not while one steps.
  function chase(always = false, afresh = always) {
    const nodes = live().filter(box);
    if (!room[0] || !nodes.length) return;
    const rules = [...new Set(nodes.map((node) => node.closest(".panel")))].filter((node) => node && box(node)).map(box);
    const [small, least, tiny] = [BOXED, SMALLEST, TINY].map((one) => Math.min(one, wish)), target = aim(nodes.map(box), rules, room, { small, least, tiny });
    const grows = always ? scale < wish : afresh && scale < small;
    if (!always && !grows && seen(target)) return;
    const most = fitting(target, room);
    scale = Math.max(Math.min(least, most), Math.min(!grows ? scale : always ? wish : Math.min(wish, READABLE), most));
    center(target);
  }
  const seen = (one) => inRoom(staged(one), room);

  function center(one) {
    if (!one) return;
    x = room[0] / 2 - (scale * (one.left + one.right)) / 2;
    y = room[1] / 2 - (scale * (one.top + one.bottom)) / 2;
    within();
    place();
  }

  // Do not show emptiness where there is picture on the other side.
  function within() {
    const kept = (at, room, length) => length <= room - 16 ? (room - length) / 2 : Math.min(8, Math.max(room - length - 8, at));
    x = kept(x, room[0], size[0] * scale);
    y = kept(y, room[1], size[1] * scale);
  }

  function select() {
    const chosen = model.get("selected");
    for (const node of stage.querySelectorAll(".state.selected")) node.classList.remove("selected");
    const node = chosen == null ? null : stateOf(chosen);
    if (node) node.classList.add("selected");
    if (chosen == null) { card.hidden = true; return; }
    ask(chosen, (state) => { if (model.get("selected") === chosen) describe(state); });
  }

  // The rule that is chosen has a frame, and so have the calls of a rule that is meant and not made yet.
  function choice() {
    const rule = model.get("rule"), meant = model.get("waiting");
    for (const one of stage.querySelectorAll(".panel, .rulenode")) one.classList.toggle("chosen", rule !== null && nameOf(one) === rule);
    for (const one of stage.querySelectorAll("[data-call]")) one.classList.toggle("chosen", !!meant && one.dataset.call === meant && !!one.closest(".panel.chosen"));
  }
  const nameOf = (one) => one.dataset.rule || one.dataset.title;
  // What was chosen elsewhere comes into sight as soon as it is drawn.
  function chosenRule() {
    choice();
    foot();
    const rule = model.get("rule");
    if (rule === null && pressed(follow)) chase();
    if (rule === null || wanted) return;
    wanted = { rule, state: model.get("selected"), still: true };
    reach();
  }

  function ask(id, handler) {
    if (told.has(id)) return handler(told.get(id));
    const known = (model.get("known") || {})[id];
    if (known) return handler(known);
    if (!offline()) python.ask({ type: "state", id }, (reply) => {
      if (reply.error) return;
      if (told.size > 500) told.clear();
      told.set(id, reply.state);
      handler(reply.state);
    });
  }

  function describe(state) {
    const go = (id) => button(String(id), `select state ${id}`, `go-${id}`, () => choose(id, state.rule));
    const ways = (title, rows, more, arrow) => rows.length ? [h("div", { class: "ms-head" }, title),
      h("div", { class: "ms-ways" }, ...rows.map(([text, id]) => h("div", {}, ...(arrow ? [h("code", {}, text), " → ", go(id)] : [go(id), " ", h("code", {}, text)])))),
      more ? h("div", { class: "ms-muted" }, `and ${more} more`) : null] : [];
    card.replaceChildren(...[
      h("div", { class: "ms-cardtop" }, h("b", {}, `state ${state.id}`), " of ", button(state.title, `open the rule ${state.title}`, "card-rule", () => open(state.rule)),
        h("span", { class: "ms-grow" }), button("×", "close (Escape)", "card-close", () => choose(null))),
      state.flags.length ? h("div", { class: "ms-muted" }, state.flags.join(" · ")) : null,
      ...state.inside.map((text) => h("div", { class: "ms-muted" }, `on the edge ${text}`)),
      ...state.dots.map((dot) => dotted(dot)),
      ...ways("out", state.out, state.more_out, true), ...ways("in", state.into, state.more_into, false)].filter(Boolean));
    card.hidden = false;
    aside();
  }

  // The card lies in the corner where it hides nothing of the state that it describes, and the fewest active ones.
  function aside() {
    const node = card.hidden ? null : stateOf(model.get("selected")), described = node && onStage(node);
    if (!described) return;
    const [width, height] = [card.offsetWidth + 12, card.offsetHeight + 12], others = live().map(onStage).filter(Boolean);
    const hides = ([right, bottom]) => (one) => (right ? one.right > room[0] - width : one.left < width) && (bottom ? one.bottom > room[1] - height : one.top < height);
    const cost = (corner) => 1000 * hides(corner)(described) + others.filter(hides(corner)).length;
    const [right, bottom] = [[true, true], [false, true], [true, false], [false, false]].reduce((best, one) => (cost(one) < cost(best) ? one : best));
    card.style.left = right ? "auto" : "8px";
    card.style.right = right ? "8px" : "auto";
    card.style.top = bottom ? "auto" : "8px";
    card.style.bottom = bottom ? "8px" : "auto";
  }

  function dotted([before, after]) {
    return h("code", { class: "ms-dots" }, before, after == null ? null : h("b", {}, "•"), after == null ? null : after);
  }

  function choose(id, rule) {
    model.set("selected", id);
    if (id !== null && rule) model.set("rule", rule);
    model.save_changes();
  }

  // Into a called rule: to its panel where it is drawn, else a picture of it alone, with the way back on top.
  function open(name) {
    const panel = [...stage.querySelectorAll(".panel")].find((one) => one.dataset.rule === name);
    if (panel) {
      center(box(panel));
      panel.classList.add("flash");
      setTimeout(() => panel.classList.remove("flash"), 900);
      if (offline() || !(model.get("focus") || []).length) return view.commit("rule", name);
    }
    if (offline()) return;
    const path = model.get("focus") || [];
    const at = path.indexOf(name);
    view.commit("focus", at < 0 ? [...path, name] : path.slice(0, at + 1));
  }

  function trail() {
    const path = model.get("focus") || [];
    crumbs.replaceChildren();
    if (!path.length) return;
    crumbs.append(button("parser", "back to where the parser is (Backspace)", "crumb-parser", () => view.commit("focus", [])));
    path.forEach((name, place) => crumbs.append(" › ", button(name, `the rule ${name}`, `crumb-${name}`, () => view.commit("focus", path.slice(0, place + 1)))));
  }

  function stub(name) {
    const opened = model.get("opened") || [];
    if (offline()) return;
    if (name.startsWith("close")) {
      const state = name.slice(5);
      return view.commit("opened", opened.filter((one) => one !== `out${state}` && one !== `in${state}`));
    }
    view.commit("opened", [...opened.filter((one) => one !== name), name]);
  }

  function activate(target) {
    const opening = target.closest("[data-stub]");
    if (opening) return stub(opening.dataset.stub);
    const call = target.closest("[data-call]");
    if (call) return open(call.dataset.call);
    const edge = target.closest(".edge.call");
    if (edge) { const one = edge.querySelector("[data-call]"); if (one) return open(one.dataset.call); }
    const title = target.closest("[data-title]");
    if (title) return offline() ? undefined : view.commit("focus", [title.dataset.title]);
    const state = target.closest(".state");
    const id = state ? Number(state.dataset.state) : null;
    if (id === null && model.get("selected") == null) return;
    choose(id === model.get("selected") ? null : id, state && state.closest(".panel").dataset.rule);
  }

  // Tooltips are text nodes only: nothing from a grammar is ever parsed as HTML.
  function show(target) {
    const node = target && target.closest(".state, .edge, [data-stub], [data-title]");
    tip.hidden = !node;
    if (!node) return;
    const put = (head, text) => {
      tip.replaceChildren(h("div", { class: "ms-head" }, head), text || "");
      const root = view.root.getBoundingClientRect(), box = node.getBoundingClientRect();
      const width = tip.offsetWidth, height = tip.offsetHeight;
      const left = Math.min(Math.max(4, (box.left + box.right) / 2 - root.left - width / 2), root.width - width - 4);
      const above = box.top - root.top - height - 6;
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${above > 4 ? above : Math.min(box.bottom - root.top + 6, root.height - height - 4)}px`;
    };
    if (node.classList.contains("state")) {
      const id = Number(node.dataset.state);
      if (!card.hidden && id === model.get("selected")) { tip.hidden = true; return; } // the card says it all
      put(`state ${id} · ${node.closest(".panel").dataset.said}`, "");
      return ask(id, (state) => { if (!tip.hidden && shown === node) put([`state ${id}`, state.title, ...state.flags].join(" · "), state.dots.map((dot) => dot.join(" • ")).join("\n")); });
    }
    if (node.dataset.stub) return put(node.dataset.stub.startsWith("close") ? "click to fold again" : "click to open", "");
    if (node.dataset.title) return put(offline() ? "rule" : "click to look at this rule alone", node.dataset.title);
    const text = node.dataset.full || node.textContent;
    if (!text) { tip.hidden = true; return; }
    const ends = `${node.dataset.from} → ${node.dataset.to}`.replace(/s(\d+)/g, "state $1").replace(/out\d+/, "");
    put(node.classList.contains("call") ? `call, ${ends}; click to go in` : ends, text);
  }

  let shown = null;
  const hover = (target) => { shown = target && target.closest(".state, .edge, [data-stub], [data-title]"); show(target); };

  view.listen(stage, "pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, y: event.clientY, from: [x, y], moved: false, target: event.target };
  });
  view.listen(stage, "pointermove", (event) => {
    if (!drag) return hover(event.target.closest && event.target);
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!drag.moved) stage.setPointerCapture(event.pointerId);
    drag.moved = touched = true;
    stage.classList.add("dragging");
    hover(null);
    [x, y] = [drag.from[0] + dx, drag.from[1] + dy];
    place();
  });
  const release = (event) => {
    stage.classList.remove("dragging");
    const held = drag;
    drag = null;
    if (held && !held.moved && event.type === "pointerup") { hover(null); activate(held.target); } else if (held) aside();
  };
  view.listen(stage, "pointerup", release);
  view.listen(stage, "pointercancel", release);
  view.listen(stage, "pointerleave", () => hover(null));
  view.listen(stage, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.matches(":focus-within")) return;
    event.preventDefault();
    const frame = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0016), [event.clientX - frame.left, event.clientY - frame.top]);
  }, { passive: false });

  let cursor = -1;
  const targets = () => [...stage.querySelectorAll(live().length ? ".state.active, .rulenode.active" : ".state")];
  function walk(by) {
    const states = targets();
    if (!states.length) return;
    cursor = (cursor + by + states.length) % states.length;
    center(box(states[cursor]));
    hover(states[cursor]);
  }
  const keys = {
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(1 / 1.25),
    0: () => { touched = false; fit(true); },
    h: () => move(60, 0), l: () => move(-60, 0), k: () => move(0, 60), j: () => move(0, -60),
    b: () => bytes.click(), f: () => follow.click(),
    "/": () => { search.focus(); search.select(); },
    n: () => walk(1), p: () => walk(-1),
    Backspace: () => view.commit("focus", (model.get("focus") || []).slice(0, -1)),
    Escape: () => { hover(null); choose(null); },
  };
  view.listen(stage, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const focused = event.target.closest("[data-stub], .rulenode");
    const chosen = focused || targets()[cursor];
    if (keys[event.key]) keys[event.key]();
    else if ((event.key === "Enter" || event.key === " ") && chosen) activate(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function arrive(hit) {
    hits.hidden = true;
    model.set("rule", hit.rule);
    model.set("selected", hit.state);
    if ((model.get("focus") || []).length) model.set("focus", [hit.rule]);
    model.save_changes();
    stage.focus();
    wanted = hit;
    reach();
  }
  // What was searched for comes into sight as soon as a picture shows it.
  let wanted = null;
  function reach() {
    if (!wanted) return;
    const panel = [...stage.querySelectorAll(".panel")].find((one) => one.dataset.rule === wanted.rule);
    const node = wanted.state == null ? (wanted.still && panel?.querySelector(".edge:has(.chosen)")) || panel : stateOf(wanted.state);
    if (!node || !box(node)) return;
    if (wanted.still && seen(box(node))) { wanted = null; return; }
    if (wanted.still) scale = Math.min(scale, Math.max(BOXED, fitting(box(node), room)));
    center(box(node));
    node.classList.add("flash");
    setTimeout(() => node.classList.remove("flash"), 900);
    wanted = null;
  }
  function drawn(query) {
    const small = query.toLowerCase();
    const found = [...stage.querySelectorAll(".panel")].filter((one) => one.dataset.said.toLowerCase().includes(small))
      .map((one) => ({ kind: "rule", text: one.dataset.said, rule: one.dataset.rule, state: null }));
    for (const edge of stage.querySelectorAll(".edge[data-full]"))
      if (edge.dataset.full.toLowerCase().includes(small))
        found.push({ kind: "label", text: edge.dataset.full.slice(0, 60), rule: edge.closest(".panel").dataset.rule, said: edge.closest(".panel").dataset.said, state: Number(edge.dataset.from.slice(1)) });
    return found.slice(0, 40);
  }
  finder({ view, search, hits, arrive, leave: () => stage.focus(), look: (query, reply) => {
    if (offline()) reply(drawn(query));
    else python.ask({ type: "search", query }, (answer) => reply(answer.hits || []));
  } });

  view.listen(around, "change", () => {
    model.set("whole", around.value === "all");
    if (around.value !== "all") model.set("steps_around", Number(around.value));
    model.save_changes();
  });
  function controls() {
    around.value = model.get("whole") ? "all" : String(model.get("steps_around") || 2);
    press(bytes, model.get("mode") === "bytes");
    for (const one of [around, bytes]) one.disabled = !!offline();
  }

  view.sized(stage, () => {
    const now = [stage.clientWidth, stage.clientHeight];
    if (now[0] === room[0] && now[1] === room[1]) return;
    room = now;
    if (touched) say(); else fit();
  });
  const redraw = soon(() => { draw(); reach(); });
  for (const trait of ["picture", "key", "pictures", "marks", "active"]) view.on(`change:${trait}`, redraw);
  view.on("change:selected", select);
  for (const trait of ["rule", "waiting"]) view.on(`change:${trait}`, soon(chosenRule));
  view.on("change:about", () => { told.clear(); foot(); });
  view.on("change:spelt_out", foot);
  view.watch(["whole", "steps_around", "mode", "offline"], controls);
  view.watch(["focus"], trail);
  draw();
});
