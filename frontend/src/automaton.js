// The automaton: a picture that Graphviz draws, lit here by toggling classes on elements whose ids never change.
// A picture that shows another part comes when it is drawn and is put so that what was looked at stays in place.
// Read on: drawing.ts (the picture), visualizers/live_automaton.py (AutomatonView).
import { boxes } from "./boxes.js";
import { beside, button, dotted, h, many, morph, defineView, put, soon, svg } from "./common.js";
import { draw as drawAll } from "./drawing";
import { finder } from "./find.js";
import { aim, fitting, inRoom } from "./following.js";
import { dots, plate, spots } from "./inside.js";

const READABLE = 0.72, BOXED = 0.5, SMALLEST = 0.4, TINY = 0.3; // scales: of what is too large at first, and the least of `aim`
const MARKS = ["active", "waiting", "visited", "fresh"], KEPT = 48, TOLD = ".state, .edge, [data-stub], [data-title]";
const CORNERS = [[true, true], [false, true], [true, false], [false, false]]; // [right, bottom]

export default defineView("automaton", "automaton-view", ({ view, model }) => {
  const focus = () => model.get("focus") || [];
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
  const around = h("select", { title: "how many steps around the parser are drawn", "aria-label": "steps around the parser", "data-testid": "automaton-around", onchange: () => {
    model.set("whole", around.value === "all");
    if (around.value !== "all") model.set("steps_around", Number(around.value));
    model.save_changes();
  } }, [1, 2, 3, 4].map((count) => h("option", { value: count }, many(count, "step"))), h("option", { value: "all" }, "everything"));
  const press = (one, on) => one.setAttribute("aria-pressed", String(on));
  const follow = button("follow", "keep the active states in sight", "follow", () => { press(follow, !follows()); if (follows()) chase(); });
  const follows = () => follow.getAttribute("aria-pressed") === "true";
  const bytes = button("bytes", "every state and byte as the engine has them (b)", "bytes", () => view.commit("mode", model.get("mode") === "bytes" ? "characters" : "bytes"));
  press(follow, true);
  const fitAll = () => { touched = false; fit(true); };
  view.root.append(
    h("div", { class: "ms-bar" },
      h("span", { class: "ms-title" }, "Automaton"), crumbs, status, h("span", { class: "ms-grow" }),
      h("span", { class: "ms-find" }, search, hits), around, bytes, follow,
      h("span", { class: "ms-group" }, button("−", "zoom out (-)", "zoom-out", () => zoom(1 / 1.25)), button("fit", "fit everything (0)", "zoom-fit", fitAll),
        button("+", "zoom in (+); the wheel zooms once the picture has the focus, or with Ctrl", "zoom-in", () => zoom(1.25)))),
    h("div", { class: "ms-hold" }, stage, card), note, tip);

  // -- the picture -----------------------------------------------------------------------------------------------------
  let shown = null;          // { picture, svg, size, box }: what Python sent, and what was drawn of it
  let room = [0, 0];         // width and height of the stage
  let scale = 1, x = 0, y = 0;
  let wish = 1;              // the scale that was asked for; following may need a smaller one
  let touched = false;
  let trouble = "";
  const pictures = new Map(); // those already seen, by their keys, so that going back asks nobody
  const all = (selector) => [...stage.querySelectorAll(selector)];
  const byId = (id) => shown?.svg.getElementById(id) ?? null;
  const stateOf = (id) => byId(`s${id}`) || stage.querySelector(`.plate[data-state="${Number(id)}"]`);
  const panelOf = (rule) => all(".panel").find((one) => one.dataset.rule === rule);
  const live = () => all(".state.active, .rulenode.active");
  const box = (node) => shown.box(node); // in the picture's units; null where nothing is drawn
  const staged = (one) => one && { left: x + scale * one.left, top: y + scale * one.top, right: x + scale * one.right, bottom: y + scale * one.bottom };
  const onStage = (node) => staged(box(node)); // in pixels
  const seen = (one) => inRoom(staged(one), room);

  function keep(picture) {
    const one = Object.assign(pictures.get(picture.key) || {}, { picture });
    pictures.delete(picture.key);
    pictures.set(picture.key, one);
    if (pictures.size > KEPT) pictures.delete(pictures.keys().next().value);
    return one;
  }
  // Lays a picture out when what is shown now has been painted.
  async function make(one) {
    if (one.making) return;
    one.making = true;
    view.root.dataset.drawing = "";
    await new Promise((painted) => (shown ? requestAnimationFrame(() => setTimeout(painted)) : setTimeout(painted)));
    try {
      const made = await drawAll(one.picture.panels);
      Object.assign(one, made, { box: boxes(made.graph) });
      trouble = "";
    } catch (error) {
      trouble = `not drawn: ${error.message || error}`;
      one.failed = true;
      reportError(error);
    }
    one.making = false;
    if (![...pictures.values()].some((other) => other.making)) delete view.root.dataset.drawing;
    redraw();
  }

  // A new picture: what both show stays where it was on the screen.
  function draw() {
    const sent = model.get("picture") || {}, name = model.get("key"), saved = (model.get("pictures") || {})[name];
    if (sent.key) keep(sent);
    const next = pictures.get(name) || (saved && keep(saved)) || pictures.get(sent.key);
    if (!next || next === shown) return light();
    if (!next.svg) {
      if (next.failed) foot(); else make(next);
      return shown ? undefined : say(); // the marks are those of the picture that comes
    }
    const before = shown ? anchors() : null;
    shown = keep(next.picture);
    stage.replaceChildren(shown.svg);
    light(true);
    if (!before || (!touched && (!follows() || largest() >= SMALLEST || wish < READABLE))) fit();
    const after = before?.find(([id]) => byId(id));
    if (after && (touched || follows() || shown.size.some((length, at) => length * scale > room[at]))) {
      const now = onStage(byId(after[0]));
      x += after[1] - now.left;
      y += after[2] - now.top;
      within();
    }
    place();
    if (follows()) chase(false, true);
    select();
    choice();
    foot();
  }

  // By which the next picture is put in place: active states first, then what is near the middle.
  const anchors = () => all(".state[id]").map((node) => {
    const { left, top } = onStage(node), far = Math.hypot(left - room[0] / 2, top - room[1] / 2);
    return [node.id, left, top, node.classList.contains("active") ? far - 1e6 : far];
  }).sort((one, other) => one[3] - other[3]);

  function foot() {
    const about = model.get("about") || {}, picture = shown?.picture || {}, meant = model.get("waiting"), small = model.get("spelt_out") || [];
    note.textContent = [
      meant && (meant[0] === "#" ? `no rule is made yet that reads ${meant}` : `the rule ${meant} is made when it is predicted; ${model.get("rule") || "a rule not made yet"} calls it`),
      picture.all ? "drawn: all states" : picture.shown && `drawn: ${many(picture.shown, "state")}`,
      `the engine has made ${many(about.states || 0, "state")} of ${many(about.rules || 0, "rule")}${about.waiting ? `; ${many(about.waiting, "more rule")} when predicted` : ""}`,
      small.length && `written into their callers: ${small.slice(0, 8).join(", ")}${small.length > 8 ? ` and ${small.length - 8} more` : ""}`,
      picture.note, trouble].filter(Boolean).join(" · ");
    note.title = `${note.textContent}\nthe engine's rules: it makes some of a schema, and writes small ones into their callers`;
  }

  // -- where one looks ---------------------------------------------------------------------------------------------------
  function place() {
    if (!shown) return;
    // In CSS: a transform within the picture would have the browser set all its texts anew.
    shown.svg.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    say();
    if (!drag) aside();
  }

  // Everything in sight; of a picture that would be smaller than SMALLEST what can still be read, unless `whole` is asked for.
  const largest = () => Math.min(...shown.size.map((length, at) => (room[at] - 16) / length), 1.15);
  function fit(asked = false) {
    if (!shown || !room[0] || !room[1]) return;
    const whole = asked || largest() >= SMALLEST;
    wish = scale = whole ? largest() : READABLE;
    [x, y] = shown.size.map((length, at) => Math.max(8, (room[at] - length * scale) / 2));
    place();
    if (!whole && follows()) chase(true);
  }

  function zoom(factor, at = [room[0] / 2, room[1] / 2]) {
    const next = Math.min(6, Math.max(0.05, scale * factor));
    x = at[0] - ((at[0] - x) * next) / scale;
    y = at[1] - ((at[1] - y) * next) / scale;
    wish = scale = next;
    touched = true;
    place();
  }

  function moveTo(left, top) {
    [x, y] = [left, top];
    touched = true;
    place();
  }

  // Brings into sight what `aim` chooses of the active states and the boxes of their rules; the scale stays unless that does
  // not fit.  A picture made small for states far apart grows again when another one comes (`afresh`), not while one steps.
  function chase(always = false, afresh = always) {
    const nodes = shown ? live().filter(box) : [];
    if (!room[0] || !nodes.length) return;
    const rules = [...new Set(nodes.map((node) => node.closest(".panel")))].filter((node) => node && box(node)).map(box);
    const [small, least, tiny] = [BOXED, SMALLEST, TINY].map((one) => Math.min(one, wish)), target = aim(nodes.map(box), rules, room, { small, least, tiny });
    const grows = always ? scale < wish : afresh && scale < small;
    if (!always && !grows && seen(target)) return;
    const most = fitting(target, room);
    scale = Math.max(Math.min(least, most), Math.min(!grows ? scale : always ? wish : Math.min(wish, READABLE), most));
    center(target);
  }

  function center(one) {
    if (!one) return;
    x = room[0] / 2 - (scale * (one.left + one.right)) / 2;
    y = room[1] / 2 - (scale * (one.top + one.bottom)) / 2;
    within();
    place();
  }

  // Do not show emptiness where there is picture on the other side.
  function within() {
    [x, y] = [x, y].map((at, k) => {
      const length = shown.size[k] * scale;
      return length <= room[k] - 16 ? (room[k] - length) / 2 : Math.min(8, Math.max(room[k] - length - 8, at));
    });
  }

  // -- what is lit -------------------------------------------------------------------------------------------------------
  // One step: only classes change, and the dot within a literal.
  function light(fresh = false) {
    const marks = model.get("marks") || {}, on = marks.on || {}, inside = spots(marks.inside || [], byId);
    for (const name of MARKS) {
      const ids = [...(marks[name] || []), ...(name === "active" ? Object.keys(on) : [])];
      const wanted = new Set(ids.map(byId).filter(Boolean).flatMap((node) => (node.matches(".label") ? [node, node.closest(".edge")] : [node])));
      for (const node of all(`.${name}:not(.plate)`)) if (!wanted.has(node)) node.classList.remove(name);
      for (const node of wanted) node.classList.add(name);
    }
    for (const label of new Set([...all("[data-dots]"), ...Object.keys(on).map(byId).filter(Boolean)])) dots(label, on[label.id] || []);
    for (const panel of all(".panel")) {
      const ours = inside.filter(([, rule]) => `rule${rule}` === panel.id), there = panel.querySelector(":scope > .inside");
      if (there || ours.length) morph(there || panel.appendChild(svg("g", { class: "inside" })), ours.map((one) => plate(one, one[0] === model.get("selected"))));
      panel.classList.toggle("live", !!panel.querySelector(".state.active"));
    }
    if (!fresh && follows()) chase();
    say();
  }

  // How many states are active, and which one does not see.
  function say() {
    const active = model.get("active") || [], { edges = {} } = model.get("marks") || {};
    const hidden = live().filter((node) => box(node) && !seen(box(node))).length;
    const drawn = new Set(all(".state.active").map((node) => Number(node.dataset.state)));
    const missing = stage.querySelector(".rulenode") ? 0 : active.filter((id) => !drawn.has(id)).length;
    put(status, !active.length ? "no active state" : `${active.length} active: ${active.slice(0, 4).join(", ")}${active.length > 4 ? ", …" : ""}`
      + `${missing ? ` (${missing} in rules not drawn)` : ""}${hidden ? `; ${hidden} out of sight: n, p` : ""}`);
    status.title = active.length ? [`${active.length} active: ${active.join(", ")}: the states at the ends of the frontier's items`,
      ...active.filter((id) => edges[id]).map((id) => `${id}: on the edge ${edges[id]}`)].join("\n") : "";
  }

  function select() {
    const chosen = model.get("selected"), node = chosen == null ? null : stateOf(chosen);
    for (const one of all(".state")) one.classList.toggle("selected", one === node);
    card.hidden = card.hidden || chosen == null;
    if (chosen != null) ask(chosen, (state) => { if (model.get("selected") === chosen) describe(state); });
  }

  // The rule that is chosen has a frame, and so have the calls of a rule that is meant and not made yet.
  function choice() {
    const rule = model.get("rule"), meant = model.get("waiting");
    for (const one of all(".panel, .rulenode")) one.classList.toggle("chosen", rule !== null && (one.dataset.rule || one.dataset.title) === rule);
    for (const one of all("[data-call]")) one.classList.toggle("chosen", !!meant && one.dataset.call === meant && !!one.closest(".panel.chosen"));
  }
  // What was chosen elsewhere comes into sight as soon as it is drawn.
  function chosenRule() {
    choice();
    foot();
    const rule = model.get("rule");
    if (rule === null && follows()) chase();
    if (rule === null || wanted) return;
    wanted = { rule, state: model.get("selected"), still: true };
    reach();
  }

  // -- what is told of a state -------------------------------------------------------------------------------------------
  function ask(id, handler) {
    const known = (model.get("known") || {})[id];
    if (known) handler(known);
    else if (!view.offline()) view.ask({ type: "state", id }, (reply) => { if (!reply.error) handler(reply.state); });
  }

  function describe(state) {
    const go = (id) => button(String(id), `select state ${id}`, `go-${id}`, () => choose(id, state.rule));
    const muted = (text) => h("div", { class: "ms-muted" }, text);
    const ways = (title, rows, more, line) => rows.length ? [h("div", { class: "ms-head" }, title), h("div", { class: "ms-ways" }, rows.map(line)), more ? muted(`and ${more} more`) : null] : [];
    morph(card, h("div", { class: "ms-cardtop" }, h("b", {}, `state ${state.id}`), " of ", button(state.title, `open the rule ${state.title}`, "card-rule", () => open(state.rule)),
      h("span", { class: "ms-grow" }), button("×", "close (Escape)", "card-close", () => choose(null))),
      state.flags.length > 0 && muted(state.flags.join(" · ")), state.inside.map((text) => muted(`on the edge ${text}`)),
      state.dots.map((dot) => h("code", { class: "ms-dots" }, dotted(dot))),
      ways("out", state.out, state.more_out, ([text, id]) => h("div", {}, h("code", {}, text), " → ", go(id))),
      ways("in", state.into, state.more_into, ([text, id]) => h("div", {}, go(id), " ", h("code", {}, text))));
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
    const [right, bottom] = CORNERS.reduce((best, one) => (cost(one) < cost(best) ? one : best));
    card.style.inset = `${bottom ? "auto" : "8px"} ${right ? "8px" : "auto"} ${bottom ? "8px" : "auto"} ${right ? "auto" : "8px"}`;
  }

  // Tooltips are text nodes only: nothing from a grammar is ever parsed as HTML.
  let hovered = null;
  function hover(target) {
    const node = hovered = target?.closest(TOLD) ?? null, data = node?.dataset, id = Number(data?.state);
    const tell = (head, text = "") => {
      tip.replaceChildren(h("div", { class: "ms-head" }, head), text);
      tip.hidden = false;
      beside(tip, view.root, node, true);
    };
    tip.hidden = true;
    if (!node) return;
    if (data.stub) return tell(data.stub.startsWith("close") ? "click to fold again" : "click to open");
    if (data.title) return tell(view.offline() ? "rule" : "click to look at this rule alone", data.said);
    if (node.matches(".edge")) {
      const ends = `${data.from} → ${data.to}`.replace(/s(\d+)/g, "state $1").replace(/out\d+/, ""), text = data.full || node.textContent;
      return text && tell(node.matches(".call") ? `call, ${ends}; click to go in` : ends, text);
    }
    if (!card.hidden && id === model.get("selected")) return; // the card says it all
    tell(`state ${id} · ${node.closest(".panel").dataset.said}`);
    ask(id, (state) => { if (hovered === node) tell([`state ${id}`, state.title, ...state.flags].join(" · "), state.dots.map((dot) => dot.join(" • ")).join("\n")); });
  }

  // -- going elsewhere ---------------------------------------------------------------------------------------------------
  function choose(id, rule) {
    model.set("selected", id);
    if (id !== null && rule) model.set("rule", rule);
    model.save_changes();
  }

  function flash(node) {
    center(box(node));
    node.classList.add("flash");
    setTimeout(() => node.classList.remove("flash"), 900);
  }

  // Into a called rule: to its panel where it is drawn, else a picture of it alone, with the way back on top.
  function open(name) {
    const panel = panelOf(name), path = focus(), at = path.indexOf(name);
    if (panel) flash(panel);
    if (panel && (view.offline() || !path.length)) view.commit("rule", name);
    else if (!view.offline()) view.commit("focus", at < 0 ? [...path, name] : path.slice(0, at + 1));
  }

  function trail() {
    const path = focus();
    crumbs.replaceChildren(...(path.length ? [button("parser", "back to where the parser is (Backspace)", "crumb-parser", () => view.commit("focus", []))] : []),
      ...path.flatMap((name, at) => [" › ", button(name, `the rule ${name}`, `crumb-${name}`, () => view.commit("focus", path.slice(0, at + 1)))]));
  }

  function stub(name) {
    const opened = model.get("opened") || [], folds = name.startsWith("close") ? ["out", "in"].map((way) => way + name.slice(5)) : [name];
    if (!view.offline()) view.commit("opened", [...opened.filter((one) => !folds.includes(one)), ...(folds.includes(name) ? [name] : [])]);
  }

  function activate(target) {
    const stubbed = target.closest("[data-stub]"), call = target.closest("[data-call]") || target.closest(".edge.call")?.querySelector("[data-call]");
    const title = target.closest("[data-title]"), state = target.closest(".state"), id = state ? Number(state.dataset.state) : null;
    if (stubbed) stub(stubbed.dataset.stub);
    else if (call) open(call.dataset.call);
    else if (title) { if (!view.offline()) view.commit("focus", [title.dataset.title]); }
    else if (id !== null || model.get("selected") != null) choose(id === model.get("selected") ? null : id, state?.closest(".panel").dataset.rule);
  }

  // -- pointer and keys --------------------------------------------------------------------------------------------------
  let drag = null; // where a pointer took hold of the picture
  view.listen(stage, "pointerdown", ({ button: which, clientX, clientY, target }) => {
    if (which === 0) drag = { from: [x - clientX, y - clientY], at: [clientX, clientY], moved: false, target };
  });
  view.listen(stage, "pointermove", ({ clientX, clientY, pointerId, target }) => {
    if (!drag) return target.closest(TOLD) === hovered ? undefined : hover(target); // Python is asked once a node
    if (!drag.moved && Math.hypot(clientX - drag.at[0], clientY - drag.at[1]) < 4) return;
    if (!drag.moved) stage.setPointerCapture(pointerId);
    drag.moved = true;
    stage.classList.add("dragging");
    hover(null);
    moveTo(drag.from[0] + clientX, drag.from[1] + clientY);
  });
  for (const kind of ["pointerup", "pointercancel"]) view.listen(stage, kind, () => {
    stage.classList.remove("dragging");
    const held = drag;
    drag = null;
    if (held && !held.moved && kind === "pointerup") { hover(null); activate(held.target); } else if (held) aside();
  });
  view.listen(stage, "pointerleave", () => hover(null));
  view.listen(stage, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.matches(":focus-within")) return;
    event.preventDefault();
    const frame = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0016), [event.clientX - frame.left, event.clientY - frame.top]);
  }, { passive: false });

  let cursor = -1;
  const targets = () => all(live().length ? ".state.active, .rulenode.active" : ".state");
  function walk(by) {
    const states = targets();
    if (!states.length) return;
    cursor = (cursor + by + states.length) % states.length;
    center(box(states[cursor]));
    hover(states[cursor]);
  }
  view.keys(stage, ({ target }) => {
    const chosen = target.closest("[data-stub], .rulenode") || targets()[cursor], enter = () => (chosen ? activate(chosen) : false);
    return {
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(1 / 1.25), 0: fitAll,
      h: () => moveTo(x + 60, y), l: () => moveTo(x - 60, y), k: () => moveTo(x, y + 60), j: () => moveTo(x, y - 60),
      b: () => bytes.click(), f: () => follow.click(), "/": () => { search.focus(); search.select(); }, n: () => walk(1), p: () => walk(-1), Enter: enter, " ": enter,
      Backspace: () => view.commit("focus", focus().slice(0, -1)), Escape: () => { hover(null); choose(null); },
    };
  });

  // -- search ------------------------------------------------------------------------------------------------------------
  let wanted = null; // what was searched for or chosen elsewhere, until a picture shows it
  function arrive(hit) {
    hits.hidden = true;
    model.set("rule", hit.rule);
    model.set("selected", hit.state);
    if (focus().length) model.set("focus", [hit.rule]);
    model.save_changes();
    stage.focus();
    wanted = hit;
    reach();
  }
  function reach() {
    const panel = wanted && panelOf(wanted.rule);
    const node = wanted && (wanted.state != null ? stateOf(wanted.state) : (wanted.still && panel?.querySelector(".edge:has(.chosen)")) || panel);
    if (!node || !box(node)) return;
    const { still } = wanted;
    wanted = null;
    if (still && seen(box(node))) return;
    if (still) scale = Math.min(scale, Math.max(BOXED, fitting(box(node), room)));
    flash(node);
  }
  function drawn(query) {
    const has = (text) => text.toLowerCase().includes(query.toLowerCase());
    const rules = all(".panel").map(({ dataset: { rule, said } }) => ({ kind: "rule", text: said, rule, state: null }));
    const labels = all(".edge[data-full]").map((edge) => {
      const { rule, said } = edge.closest(".panel").dataset;
      return { kind: "label", text: edge.dataset.full, rule, said, state: Number(edge.dataset.from.slice(1)) };
    });
    return [...rules, ...labels].filter(({ text }) => has(text)).slice(0, 40);
  }
  finder({ view, search, hits, arrive, leave: () => stage.focus(), look: (query, reply) => {
    if (view.offline()) reply(drawn(query));
    else view.ask({ type: "search", query }, (answer) => reply(answer.hits || []));
  } });

  function controls() {
    around.value = model.get("whole") ? "all" : String(model.get("steps_around") || 2);
    press(bytes, model.get("mode") === "bytes");
    around.disabled = bytes.disabled = view.offline();
  }

  view.sized(stage, () => {
    const now = [stage.clientWidth, stage.clientHeight];
    if (String(now) === String(room)) return;
    room = now;
    if (touched) say(); else fit();
  });
  view.on("change:selected", select);
  for (const trait of ["about", "spelt_out"]) view.on(`change:${trait}`, foot);
  for (const trait of ["rule", "waiting"]) view.on(`change:${trait}`, soon(chosenRule));
  view.draws(["whole", "steps_around", "mode", "offline"], controls);
  view.draws(["focus"], trail);
  const redraw = view.draws(["picture", "key", "pictures", "marks", "active"], () => { draw(); reach(); });
});
