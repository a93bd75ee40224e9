// Helpers that every view uses.

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) if (value != null) node.setAttribute(name, value);
  node.append(...children.filter((child) => child != null));
  return node;
}

export const button = (label, title, testid, action) =>
  h("button", { type: "button", title, "aria-label": title, "data-testid": testid, onclick: action }, label);

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

// The options of a list, [[value, text]], which is only touched when they are others.
export function offer(list, options, value) {
  const said = JSON.stringify(options);
  if (list.said !== said) list.replaceChildren(...options.map(([name, text]) => h("option", { value: name }, text)));
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

// Makes `parent` hold `nodes`, in their order; those that it holds already are not touched.
export function fill(parent, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!wanted.has(node)) node.remove();
  let at = parent.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
}

// Draws items that come again as the nodes they had: `draw(items)` makes a node of each, `make(item)`, unless the last
// call had an item that says the same.  `say` tells what an item says (and must tell apart those of one call).
export function again(make, say = JSON.stringify) {
  let kept = new Map();
  return (items) => {
    const next = new Map(items.map((item) => { const said = say(item); return [said, kept.get(said) || make(item)]; }));
    kept = next;
    return [...next.values()];
  };
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

// A view by its name (`ms-name` is its class), what tests call it, and what builds it.  `render` may run many times for one
// model and returns a function that undoes everything that was attached.
export const defineView = (name, testid, build) => ({
  render(given) {
    const view = mount(given, name, testid), made = build({ ...given, view });
    return made instanceof Promise ? made.then(() => view.clean) : view.clean;
  },
});

// The view's root element and its bookkeeping.
function mount({ model, el }, name, testid) {
  const undo = [];
  const root = h("div", { class: `ms-view ms-${name}`, "data-testid": testid });
  // Keeps JupyterLab's one-letter shortcuts (x cuts a cell) away from keys that are meant for the view.  It looks for
  // this attribute on the element that has the focus.
  root.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
  el.replaceChildren(root);
  const view = {
    root,
    on(event, handler) {
      model.on(event, handler);
      undo.push(() => model.off(event, handler));
    },
    watch(traits, handler) {
      for (const trait of traits) view.on(`change:${trait}`, handler);
      handler();
    },
    listen(target, event, handler, options) {
      target.addEventListener(event, handler, options);
      undo.push(() => target.removeEventListener(event, handler, options));
    },
    defer(action) {
      undo.push(action);
    },
    commit(trait, value) {
      model.set(trait, value);
      model.save_changes();
    },
    // Calls `draw` now, and once for all traits that change in one task.
    draws(traits, draw) {
      const redraw = soon(draw);
      for (const trait of traits) view.on(`change:${trait}`, redraw);
      draw();
    },
    // Calls `handler(entries)` when the size of `node` changes.
    sized(node, handler) {
      const sizes = new ResizeObserver(handler);
      sizes.observe(node);
      undo.push(() => sizes.disconnect());
    },
    // Changes some keys of what all views have chosen.
    select(part) {
      view.commit("selection", { ...model.get("selection"), ...part });
    },
    clean() {
      while (undo.length) undo.pop()();
      root.remove();
    },
  };
  // A recorded run: `steps[index]` holds the traits of that step, so stepping needs no kernel.
  const step = () => {
    const traits = (model.get("steps") || [])[model.get("index")];
    for (const [trait, value] of Object.entries(traits || {})) model.set(trait, value);
  };
  view.on("change:index", step);
  view.on("change:steps", step);
  step();
  return view;
}

// What depends on sizes waits until the task is over: then all views draw, then look, then change: one layout for all.
// `measured(look, change, draw)` gives a function that asks for a turn: `draw()` is for what reads sizes by drawing, `look()`
// reads sizes and may scroll, `change(seen)` gets what it gave and reads none.  The host waits for it (see host.js).
export const frames = (globalThis.__maskscopeFrames ??= {
  turns: [],
  task: new MessageChannel(),
  ask(turn) {
    if (frames.turns.push(turn) === 1) frames.task.port2.postMessage(0);
  },
  run() {
    const turns = frames.turns.splice(0);
    for (const turn of turns) attempt(turn.draw);
    const seen = turns.map((turn) => attempt(turn.look));
    turns.forEach((turn, at) => { turn.due = false; attempt(() => turn.change(seen[at])); });
  },
});
frames.task.port1.onmessage = frames.run;
export function measured(look, change = () => {}, draw = () => {}) {
  const turn = { look, change, draw, due: false };
  return () => {
    if (turn.due) return;
    turn.due = true;
    frames.ask(turn);
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

// Requests to Python carry a sequence number and the view's own name; replies to others and stale replies are dropped.
let views = 0;
export function channel(model, view) {
  const name = `${Date.now().toString(36)}-${views++}`;
  const waiting = new Map();
  let sequence = 0;
  view.on("msg:custom", (message) => {
    if (message.view !== name || !waiting.has(message.seq)) return;
    const handler = waiting.get(message.seq);
    waiting.delete(message.seq);
    handler(message);
  });
  return {
    ask(content, handler) {
      sequence += 1;
      waiting.set(sequence, handler);
      model.send({ ...content, view: name, seq: sequence });
    },
    forget() {
      waiting.clear();
    },
    get pending() {
      return waiting.size;
    },
  };
}
