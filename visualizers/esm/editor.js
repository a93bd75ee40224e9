// The grammar editor: a text area with a gutter that lights the rules at work and marks the line of an error.
//
// Trait `state` (Python to browser): {text, client, seq, ok, message, summary, line, lit: [line, ...], select}.
// Messages (browser to Python): {kind: "source", text, client, seq}.
// The text area is only ever overwritten when the state answers this view's latest edit, or comes from elsewhere.

const WAIT_MS = 350;

function element(tag, className, parent) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

// A message: its first line wraps, the picture under it keeps its columns.
function say(node, text) {
  const [first, ...rest] = text.split("\n");
  node.replaceChildren(first);
  if (rest.length) element("pre", "", node).textContent = rest.join("\n");
}

function render({ model, el }) {
  const client = Math.random().toString(36).slice(2);
  let seq = 0;
  let timer = null;
  let lines = [];
  let selected = null;

  el.replaceChildren();
  const root = element("div", "ms-view mx-editor", el);
  const head = element("div", "ms-bar", root);
  element("span", "ms-title", head).textContent = "Grammar";
  const summary = element("span", "ms-muted", head);
  summary.dataset.testid = "grammar-summary";
  element("span", "ms-grow", head);
  element("span", "ms-badge active mx-waiting", head).textContent = "compiling…";
  const page = element("div", "mx-page", root);
  const gutter = element("div", "mx-gutter", page);
  gutter.setAttribute("aria-hidden", "true");
  const area = element("textarea", "mx-text", page);
  Object.assign(area, { spellcheck: false, wrap: "off", autocapitalize: "off", autocomplete: "off" });
  area.setAttribute("aria-label", "grammar in EBNF");
  area.dataset.testid = "grammar-editor";
  const status = element("div", "mx-message", root);
  status.dataset.kind = "dead";
  status.setAttribute("role", "status");
  status.dataset.testid = "grammar-status";

  function number() {
    const count = area.value.split("\n").length;
    while (lines.length < count) {
      const line = element("div", "", gutter);
      line.textContent = String(lines.length + 1);
      lines.push(line);
    }
    while (lines.length > count) lines.pop().remove();
  }

  function mark(state) {
    const lit = new Set(state.lit || []);
    lines.forEach((line, index) => {
      line.classList.toggle("mx-lit", lit.has(index + 1));
      line.classList.toggle("mx-bad", !state.ok && state.line === index + 1);
    });
  }

  function send() {
    timer = null;
    model.send({ kind: "source", text: area.value, client, seq });
  }

  function edited() {
    seq += 1;
    number();
    root.classList.add("mx-pending");
    clearTimeout(timer);
    timer = setTimeout(send, WAIT_MS);
  }

  function update() {
    const state = model.get("state");
    if (state.client === client && state.seq < seq) return; // an answer to an older edit
    if (timer === null && area.value !== state.text) area.value = state.text;
    number();
    if (timer === null) root.classList.remove("mx-pending");
    summary.textContent = state.summary || "";
    say(status, state.message || "");
    status.hidden = !state.message;
    root.classList.toggle("mx-failed", !state.ok);
    area.setAttribute("aria-invalid", String(!state.ok));
    mark(state);
    const select = state.select ? state.select.join() : null;
    if (select && select !== selected && area.value === state.text) {
      area.setSelectionRange(...state.select);
      const row = state.text.slice(0, state.select[0]).split("\n").length - 1;
      const height = lines[row] ? lines[row].offsetHeight : 18;
      const top = row * height;
      if (top < area.scrollTop || top + height > area.scrollTop + area.clientHeight) {
        area.scrollTop = Math.max(0, top - area.clientHeight / 2);
      }
    }
    selected = select;
  }

  function scrolled() {
    gutter.scrollTop = area.scrollTop;
  }

  area.addEventListener("input", edited);
  area.addEventListener("scroll", scrolled);
  model.on("change:state", update);
  update();
  return () => {
    if (timer !== null) send(); // the last keystrokes are not lost when the view goes
    clearTimeout(timer);
    model.off("change:state", update);
    root.remove();
  };
}

export default { render };
