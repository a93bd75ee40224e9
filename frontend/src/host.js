// The one widget of a panel: gives each view's module a model of its own over one widget model, and an element.
//
// A trait `active` of the view `automaton` is the widget's trait `automaton__active`; what all views share is
// `shared__selection`.  Values of places already visited are kept here (`travel`), so that going back to one paints at
// once; the kernel follows and its answer counts.
// Read on: visualizers/host.py (the traits), still.ts (the same without Python), stage.ts (the screen).
import { LINKED, emitter, h, settle, soon } from "./common.js";
import { lend } from "./loader";
import stage from "./stage";
import { views } from "./views";
import sheet from "sheet:style";

const KEPT_PLACES = 240;
const SHARED = "shared";
const BUSY_MS = 2500;
const SLIVER = 40;

// Whether two values say the same.
const same = (one, two) => one === two || JSON.stringify(one) === JSON.stringify(two);

// What stands between the widget's model and the views: names, the overlay of a place already visited, messages.
function hub(model, parts) {
  const client = Math.random().toString(36).slice(2);
  const { on: hear, off, emit } = emitter();
  const undo = [], wired = new Set(); // wires that are listened to on the widget's model
  const overlay = new Map(); // wire -> value shown before the kernel has answered
  const unsent = new Map(); // wire -> value set here that the kernel has not been told yet
  const bundles = new Map(); // place's key -> { wire: value }
  let sent = 0, answered = 0, gone = false, latest = 0, partial = false;

  const wire = (name, trait) => `${LINKED.includes(trait) ? SHARED : name}__${trait}`;
  const get = (full) => (overlay.has(full) ? overlay.get(full) : model.get(full));
  const outside = (event, handler) => {
    model.on(event, handler);
    undo.push(() => model.off(event, handler));
  };
  function listen(full) {
    if (wired.has(full)) return;
    wired.add(full);
    outside(`change:${full}`, () => { if (!overlay.has(full)) emit(`change:${full}`); });
  }
  const on = (event, handler) => {
    if (event.startsWith("change:") && event !== "change:place") listen(event.slice(7));
    hear(event, handler);
  };

  const place = () => get("place") || {};
  const wires = (part) => part.placed.map((trait) => wire(part.name, trait));
  const settled = () => answered >= sent;

  // Keep what is shown here; `place.fresh` names the views that Python has brought up to date.
  function keep() {
    const { key, fresh } = place();
    if (key == null || !settled()) return;
    const kept = bundles.get(key) || {};
    bundles.delete(key);
    for (const part of parts) {
      if (!part.placed.length || !(fresh || []).includes(part.name)) continue;
      kept[part.name] = { given: part.given.map((trait) => get(wire(part.name, trait))),
        values: wires(part).map((full) => [full, get(full)]) };
    }
    kept.place = place();
    bundles.set(key, kept);
    if (bundles.size > KEPT_PLACES) bundles.delete(bundles.keys().next().value);
  }

  // Show a place already visited.  False where it was never seen.
  function show(key) {
    const kept = key == null ? undefined : bundles.get(key);
    if (!kept) return false;
    const changes = [["place", kept.place]];
    for (const part of parts) {
      const held = kept[part.name];
      // Without a kernel what was kept under another setting (a tab, a mode) is better than what belongs to another place.
      if (held && (self.alone() || same(held.given, part.given.map((trait) => get(wire(part.name, trait)))))) changes.push(...held.values);
    }
    for (const part of parts) for (const trait of part.follows) changes.push([wire(part.name, trait), kept.place.index]);
    const shown = self.inSight();
    partial = parts.some((part) => part.placed.length && shown.has(part.name) && !kept[part.name]);
    const before = changes.map(([full]) => get(full));
    for (const [full, value] of changes) overlay.set(full, value);
    changes.forEach(([full, value], at) => { if (before[at] !== value) emit(`change:${full}`); });
    return true;
  }

  // Where a command leads, when that can be told without the kernel: the key of a place.
  function target(content) {
    const around = place().around || {};
    if (content.kind === "move") return around[content.to === "back" || content.to === "forward" ? `${content.to} ${content.by}` : content.to];
    if (content.kind === "goto") for (const [step, number, length] of around.steps || [])
      if (content.index >= step && content.index < step + length) return number + content.index - step;
    return undefined;
  }

  function uncover() {
    const covered = [...overlay];
    overlay.clear();
    for (const [full, value] of covered) if (!same(value, model.get(full))) emit(`change:${full}`);
  }

  function deliver(message) {
    sent += 1;
    latest = Date.now();
    model.send({ ...message, client, seq: sent });
    emit("sent");
    const mine = sent;
    setTimeout(() => { if (answered < mine && Date.now() - latest >= BUSY_MS - 50) emit("waiting"); }, BUSY_MS);
  }

  const changed = soon(() => { keep(); emit("placed"); });

  outside("change:ack", () => {
    const [who, seq] = model.get("ack") || [];
    if (who !== client) return;
    answered = Math.max(answered, seq);
    emit("answered");
    if (settled()) { partial = false; uncover(); changed(); }
  });
  outside("change:place", () => { if (!overlay.has("place")) { emit("change:place"); changed(); } });
  outside("msg:custom", (message, buffers) => { if (message?.to) emit(`msg:${message.to}`, message.content, buffers); });
  // Values of a place may come later than the place, when a panel becomes visible.
  for (const part of parts) for (const full of wires(part)) on(`change:${full}`, changed);
  changed();

  const translated = (name, event) => event.startsWith("change:") ? `change:${wire(name, event.slice(7))}` : event === "msg:custom" ? `msg:${name}` : event;

  const self = {
    get, on, off, place,
    get gone() { return gone; },
    get pending() { return sent - answered; },
    // Whether some view in sight still shows another place, because only the kernel knows what belongs there.
    get partial() { return partial && !self.alone(); },
    inSight: () => new Set(parts.map((part) => part.name)),
    look() {},
    page: false, // whether all of the document is this panel
    // What a person sets here travels as a message and is answered like one: the widgets' own way (`save_changes`) waits
    // for a status of the kernel that never comes for what was sent while cells were running.  Until the answer the value
    // stands, whatever older values the kernel still sends.
    set(full, value) { overlay.delete(full); model.set(full, value); unsent.set(full, value); },
    save() {
      const traits = Object.fromEntries(unsent);
      unsent.clear();
      if (self.alone() || !Object.keys(traits).length) return;
      for (const [full, value] of Object.entries(traits)) overlay.set(full, value);
      deliver({ traits });
    },
    // Lets go of the token that is chosen; false where none is.
    release() {
      const chosen = get(`${SHARED}__selection`);
      if (chosen?.token == null) return false;
      self.set(`${SHARED}__selection`, { ...chosen, token: null });
      self.save();
      return true;
    },
    // The kernel is gone, or there again: views that ask for `offline` are told.
    lost(value) {
      if (gone === value) return;
      gone = value;
      if (gone) answered = sent;
      emit("gone");
      for (const part of parts) emit(`change:${wire(part.name, "offline")}`);
    },
    // The view shows another place than the panel, because it was not in sight here before the kernel went.
    behind(name) {
      const { number, fresh } = place();
      return gone && parts.some((part) => part.name === name && part.placed.length) && !(fresh || []).includes(name) && !bundles.get(number)?.[name];
    },
    alone: () => gone || Boolean(parts.length && model.get(wire(parts[0].name, "offline"))),
    go(name, content) {
      const shown = content && content.kind ? show(target(content)) : false;
      if (shown) emit("placed");
      if (self.alone()) { if (!shown) emit("refused"); return; }
      deliver({ to: name, content });
    },
    model(part) {
      const name = part.name;
      return {
        get: (trait) => (trait === "offline" && gone) || get(wire(name, trait)),
        set: (trait, value) => { if (part.traits.includes(trait)) self.set(wire(name, trait), value); },
        save_changes: self.save,
        send: (content) => self.go(name, content),
        on: (event, handler) => on(translated(name, event), handler),
        off: (event, handler) => off(translated(name, event), handler),
      };
    },
    // Puts places into the store, as a saved page does.
    fill(places) { for (const [key, kept] of Object.entries(places)) bundles.set(isNaN(key) ? key : Number(key), kept); },
    close() { while (undo.length) undo.pop()(); },
  };
  return self;
}

// The widgets' manager knows whether there is still a kernel behind this model.  A page has no manager.
function watchKernel(model, host) {
  const look = async () => {
    try {
      const widget = await model.widget_manager?.get_model(model.get("uid"));
      if (widget) host.lost(widget.comm_live === false);
    } catch {
      // a manager that does not know its own models cannot tell; questions then stay without answer, which is said
    }
  };
  model.on("comm_live_update", look);
  look();
  return () => model.off("comm_live_update", look);
}

// A panel that nobody can see is asleep: scrolled away but for less than SLIVER pixels, or in a tab of JupyterLab that is
// not in front.  The kernel then computes nothing for it, and brings it up to date when it comes into sight.  One widget
// may be rendered several times.  `host.look(node)`: the panel is where `node` is, which may be elsewhere than `root`.
const awake = (globalThis.__maskscopeAwake ??= new Map()); // mark -> the renderings that can be seen
function watchSight(model, host, root) {
  if (host.alone()) return () => {};
  const me = {}, mark = model.get("mark");
  const others = awake.get(mark) ?? new Set();
  awake.set(mark, others);
  const tell = (seen) => {
    if (seen) others.add(me); else others.delete(me);
    const asleep = others.size === 0;
    if (Boolean(model.get("asleep")) === asleep) return;
    host.set("asleep", asleep);
    host.save();
  };
  const seen = ({ isIntersecting, intersectionRect, boundingClientRect }) =>
    isIntersecting && intersectionRect.height >= Math.min(SLIVER, boundingClientRect.height);
  const sight = new IntersectionObserver((entries) => tell(seen(entries.at(-1))), { threshold: [0, 0.02, 0.04, 0.06, 0.08, 0.1] });
  tell(true);
  host.look = (node) => { sight.disconnect(); sight.observe(node); };
  host.look(root);
  return () => { sight.disconnect(); tell(false); };
}

// JupyterLab cancels Enter and undo in text fields inside a cell, by a listener on the field itself.  Here they are
// meant for the field, so the listener never hears of them; the browser then does what it always does.
function keepTyping(root) {
  const hide = (event) => {
    if (event.target.matches("textarea, input") && ["insertLineBreak", "historyUndo", "historyRedo"].includes(event.inputType)) event.stopPropagation();
  };
  root.addEventListener("beforeinput", hide, true);
}

export async function render({ model, el, places, load }) {
  lend(load);
  const parts = model.get("parts") || [];
  const undo = [];
  const host = hub(model, parts);
  if (places) { host.page = true; host.fill(places); }
  const mark = model.get("mark") || "";
  const root = h("div", { class: "ms-host", "data-mark": mark, "data-testid": "host" });
  root.dataset.lmSuppressShortcuts = "true";
  // Except for the one that saves the notebook: the page hears it as if it were pressed beside the screen.
  root.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "s") return;
    if (!root.parentElement.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
  }, true);
  // The static twin of this widget is not seen while the widget is (`with_twin` in visualizers/host.py).
  const style = h("style", {}, sheet, mark && `.ms-twin-${mark} { display: none; }`);
  undo.push(() => host.close(), watchKernel(model, host), watchSight(model, host, root));
  keepTyping(root);
  el.replaceChildren(style, root);
  undo.push(() => { style.remove(); root.remove(); });
  // What is painted, and whether the kernel has agreed: for tests, measurements and style sheets.
  let asked = false;
  const painted = () => {
    if (!asked) requestAnimationFrame(say);
    asked = true;
  };
  const say = () => {
    asked = false;
    settle();
    if (!host.partial) root.dataset.place = String(host.place().number ?? "");
    if (host.pending) root.dataset.pending = String(host.pending); else delete root.dataset.pending;
  };
  // That something was asked is written at once: a frame of its own for it would draw nothing new.
  host.on("sent", () => { root.dataset.pending = String(host.pending); });
  for (const event of ["placed", "answered"]) host.on(event, painted);
  painted();
  const draw = async (part, slot) => {
    const clean = await views[part.module].render({ model: host.model(part), el: slot, host });
    undo.push(() => typeof clean === "function" && clean());
  };
  if (model.get("arranger") === "screen") undo.push(await stage({ model, host, root, parts, draw }));
  else {
    const gone = h("div", { class: "ms-gone", role: "status", "data-testid": "kernel-gone" });
    const tell = () => { gone.textContent = host.gone ? "The kernel is gone: run the cell again." : ""; };
    host.on("gone", tell);
    tell();
    root.append(gone);
    for (const part of parts) {
      const slot = h("div", { class: "part", "data-view": part.name });
      root.append(slot);
      await draw(part, slot);
    }
  }
  root.dataset.ready = "true";
  return () => { while (undo.length) undo.pop()(); };
}
