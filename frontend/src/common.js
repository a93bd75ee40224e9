// Helpers that every view uses.

// Children may be lists; null and false say nothing.  Handlers are properties, so that `morph` can hand them on.
const said = (children) => children.flat(Infinity).filter((child) => child != null && child !== false && child !== "");
export function dress(node, props, ...children) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node[name] = value;
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...said(children));
  return node;
}
export const h = (tag, props = {}, ...children) => dress(document.createElement(tag), props, ...children);
export const svg = (tag, props = {}, ...children) => dress(document.createElementNS("http://www.w3.org/2000/svg", tag), props, ...children);

// Its name is what is written on it; one that shows a sign alone is called by its title.
export const button = (label, title, testid, action) =>
  h("button", { type: "button", title, "aria-label": /\p{L}/u.test(label) ? null : title, "data-testid": testid, onclick: action }, label);

export const tab = (name, title, chosen, choose, ...inside) =>
  h("button", { type: "button", role: "tab", title, "aria-selected": String(chosen), "data-testid": name, onclick: choose }, ...inside);

// A place in the source or a rule, which is shown there: `part` is what becomes chosen.
export const link = (view, text, part, testid) => h("button", { type: "button", class: "link ms-mono", title: "show it in the source", "data-testid": testid,
  onclick: (event) => { event.stopPropagation(); view.select(part); } }, text);

// ◂ what is shown ▸: `turn(-1)` and `turn(1)` show its neighbours.
export const turner = (names, titles, turn, disabled, ...shown) => {
  const [back, on] = [0, 1].map((at) => h("button", { type: "button", title: titles[at], "data-testid": names[at], disabled, onclick: () => turn(2 * at - 1) }, "◂▸"[at]));
  return h("span", { class: "ms-group" }, back, ...shown, on);
};

// What a colour means; `tint` is a custom property.
export const key = (tint, text = "", title) => h("span", { class: "ms-key", title, style: `--tint:var(${tint})` }, text);

// Puts a text on the clipboard; `tell` hears what a person is told.
export const clip = (text, what, tell) => navigator.clipboard.writeText(text).then(() => tell(`copied: ${what}`), () => tell(`this page may not write to the clipboard: ${text}`));

// Puts a card that lies over `frame` beside a node: below it, or above where that has no room; or the other way round.
export function beside(card, frame, node, above = false) {
  const room = frame.getBoundingClientRect(), box = node.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: high } = card;
  const over = box.top - room.top - high - 6, under = box.bottom - room.top + 4;
  const left = box.width > wide ? box.right - wide - 12 : box.left; // of a row, so that those below stay readable
  card.style.top = `${over < 4 || (!above && under + high <= room.height) ? Math.min(under, room.height - high - 4) : over}px`;
  card.style.left = `${Math.max(4, Math.min(left - room.left, room.width - wide - 4))}px`;
}

// A table of rows (`tr`); a head is a text, a text and a title, or a `th`.  Those that begin with # stand over numbers.
export function table(heads, rows, props = {}) {
  const head = (one) => {
    if (one instanceof Node) return one;
    const [text, title] = [one].flat();
    return h("th", { class: text.startsWith("#") ? "ms-num" : null, title }, text.replace("#", ""));
  };
  const body = rows instanceof Node ? rows : h("tbody", {}, ...rows);
  return h("table", { class: "ms-table", ...props }, h("thead", {}, h("tr", {}, ...heads.map(head))), body);
}

// A dotted rule, [before, after] its dot; one without a dot is [text].
export const dotted = ([before, after] = [""]) => after === undefined ? [before]
  : [h("span", { class: "before" }, before), h("span", { class: "dot" }, "•"), h("span", { class: "after" }, after)];

// The options of a list, [[value, text, disabled]], which is only touched when they are others.
export function offer(list, options, value) {
  const said = JSON.stringify(options);
  if (list.said !== said) list.replaceChildren(...options.map(([name, text, disabled]) => h("option", { value: name, disabled }, text)));
  list.said = said;
  if (value !== undefined && list.value !== String(value)) list.value = value;
}

// Gives a person a file.
//
// A browser may keep it without a word, so the answer is to be shown: where the file went, with a link that opens it.
export function keep(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  return h("span", { "data-testid": "saved-file" }, `${name} is in your browser's downloads · `, h("a", { href: url, target: "_blank", rel: "noopener" }, "open it"));
}

// Writes a text only where it is another: what is not touched is not laid out again.
export const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };

// Makes `parent` hold what `nodes` say.  What says the same already is not touched, and keeps the focus.
const PASSED_ON = ["onclick", "onkeydown"], OURS = "data-lm-suppress-shortcuts";
export function morph(parent, ...nodes) {
  const wanted = said(nodes).map((node) => (node instanceof Node ? node : document.createTextNode(node)));
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
  wanted.forEach((node, at) => {
    const old = parent.childNodes[at];
    if (!old) parent.append(node);
    else if (old.nodeName !== node.nodeName) old.replaceWith(node);
    else if (old.nodeType === Node.TEXT_NODE) put(old, node.data);
    else if (old !== node) become(old, node);
  });
}
function become(old, node) {
  for (const name of old.getAttributeNames()) if (!node.hasAttribute(name) && name !== OURS) old.removeAttribute(name);
  for (const { name, value } of node.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const event of PASSED_ON) old[event] = node[event];
  morph(old, [...node.childNodes]);
}

// Sizes in binary units (1 KiB is 1,024 bytes), as `size` in visualizers/glyphs.py writes them.
export const bytes = (value) => value < 1024 ? `${number(Math.round(value))} B` : value < 1048576 ? `${(value / 1024).toFixed(1)} KiB` : `${(value / 1048576).toFixed(1)} MiB`;

export const many = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

// A text with words in `backticks`, which become code.
export const code = (text) => h("span", {}, ...text.split("`").map((part, k) => (k % 2 ? h("code", { class: "ms-mono" }, part) : part)));

const digits = new Intl.NumberFormat("en-US"); // made once: making one takes longer than a whole row
export const number = (value) => digits.format(Number(value));

// Whether a row with a rule and a pointer into the source is what `selection` chooses: its rule; or, where somebody
// pointed into the source, the part around that place, the innermost of those that the rows have.
export function chosen(selection, rows) {
  const { rule, pointer } = selection || {};
  if (pointer == null) return (row) => rule != null && row.rule === rule;
  const within = (outer) => pointer === outer || (outer !== "#" && pointer.startsWith(`${outer}/`));
  const inner = rows.reduce((best, row) => (row.pointer != null && within(row.pointer) && row.pointer.length > best.length ? row.pointer : best), "");
  return (row) => row.pointer != null && row.pointer === inner && (rule == null || row.rule === rule);
}
// The selection after a click on a row: the row, or nothing where it was chosen before.
export const click = (selection, row, was) => ({ ...selection, rule: was ? null : row.rule, pointer: was ? null : row.pointer ?? null });

// Bring another panel of the same screen into sight, if there is one: stage.ts hears it.
export const reveal = (node, panel) => node.dispatchEvent(new CustomEvent("ms-reveal", { bubbles: true, detail: panel }));

export const FIELD = "input:not([type=range], [type=checkbox]), textarea, select, [contenteditable=true]";
const moded = (event) => event.ctrlKey || event.metaKey || event.altKey;

// What keys do, as a listener: `find(event)` gives actions by their keys.  One that returns false leaves the key to others.
export const keys = (find) => (event) => {
  const action = !event.defaultPrevented && !moded(event) && find(event)[event.key];
  if (!action || action() === false) return;
  event.preventDefault();
  event.stopPropagation();
};

// What Enter does to a row of a table that has the keyboard: what a click does.
export const press = ({ target }) => () => target.matches("tr") && target.click();

// A view by its name (`ms-name` is its class), what tests call it, and what builds it.  `render` may run many times for one
// model and returns a function that undoes everything that was attached.
export const defineView = (name, testid, build) => ({
  render(given) {
    const view = mount(given, name, testid), made = build({ ...given, view });
    return made instanceof Promise ? made.then(() => view.clean) : view.clean;
  },
});

// The view's root element and its bookkeeping.
let views = 0;
function mount({ model, el }, name, testid) {
  const undo = [], me = `${Date.now().toString(36)}-${views++}`, waiting = new Map();
  let sequence = 0;
  const root = h("div", { class: `ms-view ms-${name}`, "data-testid": testid });
  const view = {
    root,
    defer: (action) => undo.push(action),
    on(event, handler) {
      model.on(event, handler);
      undo.push(() => model.off(event, handler));
    },
    listen(target, event, handler, options) {
      target.addEventListener(event, handler, options);
      undo.push(() => target.removeEventListener(event, handler, options));
    },
    keys: (target, find) => view.listen(target, "keydown", keys(find)),
    commit(trait, value) {
      model.set(trait, value);
      model.save_changes();
    },
    // Changes some keys of what all views have chosen.
    select: (part) => view.commit("selection", { ...model.get("selection"), ...part }),
    // The token that is chosen, or null; what is chosen again is let go of.
    token: () => model.get("selection")?.token ?? null,
    pick: (id) => view.select({ token: id === view.token() ? null : id }),
    offline: () => Boolean(model.get("offline")), // whether there is no Python to ask
    // Asks Python; `handler` gets the reply to this view and this question, unless they were all forgotten meanwhile.
    ask(content, handler) {
      waiting.set(++sequence, handler);
      model.send({ ...content, view: me, seq: sequence });
    },
    forget: () => waiting.clear(),
    // Calls `draw` now, and once for all traits that change in one task; gives what asks for it.
    draws(traits, draw) {
      const redraw = soon(draw);
      for (const trait of traits) view.on(`change:${trait}`, redraw);
      draw();
      return redraw;
    },
    // Calls `handler(entries)` when the size of `node` changes.
    sized(node, handler) {
      const sizes = new ResizeObserver(handler);
      sizes.observe(node);
      undo.push(() => sizes.disconnect());
    },
    clean() {
      while (undo.length) undo.pop()();
      root.remove();
    },
  };
  // Keeps JupyterLab's one-letter shortcuts (x cuts a cell) away from keys that are meant for the view.  It looks for
  // this attribute on the element that has the focus.
  root.addEventListener("focusin", (event) => event.target.setAttribute(OURS, "true"));
  // What is typed into a field is nobody else's, neither the screen's nor the notebook's.
  root.addEventListener("keydown", (event) => { if (!moded(event) && event.key !== "Escape" && event.target.matches(FIELD)) event.stopPropagation(); });
  el.replaceChildren(root);
  view.on("msg:custom", (message) => {
    if (message.view !== me) return;
    const handler = waiting.get(message.seq);
    waiting.delete(message.seq);
    handler?.(message);
  });
  // A recorded run: `steps[index]` holds the traits of that step, so stepping needs no kernel.
  const step = () => { for (const [trait, value] of Object.entries((model.get("steps") || [])[model.get("index")] || {})) model.set(trait, value); };
  for (const trait of ["index", "steps"]) view.on(`change:${trait}`, step);
  step();
  return view;
}

// What depends on sizes waits until the task is over: then all views draw, then look, then change: one layout for all.
// `measured(look, change, draw)` gives a function that asks for a turn: `draw()` is for what reads sizes by drawing, `look()`
// reads sizes and may scroll, `change(seen)` gets what it gave and reads none.  The host waits for it (see host.js).
const turns = new Set(), task = new MessageChannel();
task.port1.onmessage = settle;
export function settle() {
  const now = [...turns];
  turns.clear();
  for (const turn of now) attempt(turn.draw);
  const seen = now.map((turn) => attempt(turn.look));
  now.forEach((turn, at) => attempt(() => turn.change(seen[at])));
}
export function measured(look, change = () => {}, draw = () => {}) {
  const turn = { look, change, draw };
  return () => {
    if (!turns.size) task.port2.postMessage(0);
    turns.add(turn);
  };
}
// One view's mistake keeps nobody else from being drawn.
function attempt(action) {
  try { return action(); } catch (error) { reportError(error); return undefined; }
}

// Calls `handler` once for all that asks in one task, when the task is over.
export function soon(handler) {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; handler(); });
  };
}

export const LINKED = ["index", "selection"]; // traits that all views of a host share

// Handlers by events.
export function emitter() {
  const handlers = new Map();
  return {
    on(event, handler) { handlers.set(event, [...(handlers.get(event) || []), handler]); },
    off(event, handler) { handlers.set(event, (handlers.get(event) || []).filter((kept) => kept !== handler)); },
    emit(event, ...given) { for (const handler of handlers.get(event) || []) handler(...given); },
  };
}
