// The source in its own language: what is read is lit in it, mistakes are marked where they are, a click chooses.
//
// Traits (Python to browser; offsets count characters as Python does):
//   document  {text, language, languages: [{name, title}], options: [{name, label, kind, value, default, help, choices}], summary,
//              why, client, seq, opened}: client and seq say whose edit this answers; opened is another number for another text
//   mistakes  [{start, end, line, column, message, cure, warning}]; status: what is in use instead, "" where all is well
//   places    [{role: "here" | "next" | "around", label, start, end, from, to, pointer, rule}]: from and to are what to
//              light of a range that is long; forbids: the same, why the text that was refused cannot come
//   selected  {start, end} or null: what is chosen, here or elsewhere
//   selection what all views have chosen (see workbench/panels/base.py)
// Messages (browser to Python): {kind: "source", text, client, seq}, {kind: "undo" | "redo"} of the session, {kind: "language", language}, {kind: "option", name,
// value}, {kind: "choose", offset}, and asked {type: "hover", offset} -> {lines: [...]}.
//
// Keys: those of CodeMirror; Tab indents (Escape first, and it goes on to the next field).
// Read on: editor.js, workbench/panels/source.py.
import { button, h, many, measured, morph, defineView, soon, tab as tabOf } from "./common.js";
import { editor as editorPart } from "./loader";

const WAIT_MS = 350;
const LIT = [["here", "read now"], ["next", "may come next"], ["forbids", "refuses what was wanted"]]; // what marks mean

// Python counts characters, JavaScript counts UTF-16 units, and editors know one kind of line end.
function codec(text) {
  const shown = text.replace(/\r\n?/g, "\n");
  if (shown === text && !/[\ud800-\udfff]/.test(text)) return { shown, out: (at) => at, back: (at) => at };
  const units = [0]; // where the characters of `text` are in `shown`
  for (const piece of text.match(/\r\n|[^]/gu)) {
    const at = units.at(-1);
    units.push(...(piece === "\r\n" ? [at, at + 1] : [at + piece.length]));
  }
  return { shown, out: (at) => units[Math.max(0, Math.min(at, units.length - 1))], back: (at) => Math.max(0, units.findLastIndex((one) => one <= at)) };
}

export default defineView("source", "source", async ({ view, model, el }) => {
  const client = Math.random().toString(36).slice(2);
  let seq = 0, timer = null, turns = codec(""), language = null, opened = null, closed = false;

  // -- what it is made of -------------------------------------------------------------------------------------------
  const tabs = h("div", { class: "ms-group ms-source-tabs", role: "tablist", "aria-label": "language" });
  const summary = h("span", { class: "ms-muted ms-source-summary", "data-testid": "grammar-summary" });
  const waiting = h("span", { class: "ms-badge active ms-source-waiting" }, "compiling…");
  const toggle = button("⚙", "options of this language", "source-options", () => {
    options.hidden = !options.hidden;
    toggle.setAttribute("aria-expanded", String(!options.hidden));
  });
  const bar = h("div", { class: "ms-bar" }, tabs, toggle, summary, waiting);
  const options = h("div", { class: "ms-source-options", hidden: true });
  const legend = h("div", { class: "ms-source-legend", "data-testid": "source-legend" });
  const page = h("div", { class: "ms-source-page" });
  const said = h("div", { class: "ms-source-said", role: "status", "data-testid": "grammar-status" });
  view.root.append(bar, options, legend, page, said);

  // -- the editor ---------------------------------------------------------------------------------------------------
  const on = {
    edited() {
      seq += 1;
      given = "";
      view.root.classList.add("ms-pending");
      clearTimeout(timer);
      timer = setTimeout(send, WAIT_MS);
    },
    spent(kind) {
      if (!view.offline() && timer === null) model.send({ kind });
    },
    clicked(at) {
      if (timer === null && inUse()) model.send({ kind: "choose", offset: turns.back(at) });
    },
    hover: (at) => new Promise((resolve) => {
      const covers = (one) => turns.out(one.start) <= at && at <= turns.out(one.end);
      const known = [...(model.get("mistakes") || []).map((one) => ({ ...one, lines: [one.message, one.cure] })),
        ...forbids().map((one) => ({ ...one, lines: [one.label] }))].filter(covers);
      const local = () => {
        const [inner] = lit().filter(covers).sort((a, b) => a.end - a.start - (b.end - b.start));
        return inner ? [inner.label, inner.pointer || inner.rule] : [];
      };
      const answer = (lines) => resolve(lines.length ? told(lines) : null);
      if (known.length || view.offline() || timer !== null) return answer(known.length ? known[0].lines : local());
      const late = setTimeout(() => answer(local()), 1500);
      view.ask({ type: "hover", offset: turns.back(at) }, (reply) => { clearTimeout(late); answer(reply.lines || []); });
    }),
  };
  // Where what hovers is put: nothing there cuts it off, and it takes no room.
  const over = h("div", { class: "ms-source-over" });
  (el.closest(".ms-first") || view.root).append(over);
  view.defer(() => over.remove());
  const parts = { label: "the grammar's source", testid: "grammar-editor", over, on };
  const editor = (await editorPart()).codeEditor(page, parts);

  // Who goes on to a button means what is typed, however short ago that was.
  page.addEventListener("focusout", () => { if (timer !== null) send(); });
  function send() {
    clearTimeout(timer);
    timer = null;
    model.send({ kind: "source", text: editor.text, client, seq });
  }

  // -- what is shown ------------------------------------------------------------------------------------------------
  const current = () => model.get("document") || {};
  const stale = () => current().client === client && current().seq < seq;
  const inUse = () => editor.text === turns.shown;
  const lit = () => model.get("places") || [], forbids = () => model.get("forbids") || [];
  const placed = (list) => list.filter((one) => one.start != null);

  function update() {
    const state = current();
    if (stale()) return; // an answer to an older edit
    turns = codec(state.text || "");
    if (timer === null) { editor.show(turns.shown); given = ""; view.root.classList.remove("ms-pending"); }
    if (opened !== state.opened) { opened = state.opened; editor.forget(); }
    summary.textContent = state.summary || "";
    summary.title = state.why || "";
    if (language !== state.language) { language = state.language; editor.colour(language); }
    drawTools();
    mark();
  }

  // Without a kernel there is nobody to read another text.
  function drawTools() {
    const { languages = [], language: now, options: list = [] } = current(), changed = list.filter((one) => one.value !== one.default).length;
    morph(tabs, languages.map(({ name, title }) => tabOf(`language-${name}`, null, name === now, () => {
      if (name === current().language) return;
      if (timer !== null) send();
      model.send({ kind: "language", language: name });
    }, title)));
    toggle.hidden = !list.length;
    toggle.textContent = changed ? `⚙ ${changed}` : "⚙";
    if (!options.contains(document.activeElement)) options.replaceChildren(...list.map(option));
    for (const one of [...tabs.children, ...options.querySelectorAll("input, select")]) one.disabled = view.offline();
  }

  function option({ name, label, kind, value, help, choices }) {
    const set = ({ target }) => {
      target.blur(); // what has the focus is not drawn anew
      model.send({ kind: "option", name, value: kind === "flag" ? target.checked : target.value });
    };
    if (kind === "flag") return h("label", { title: help }, h("input", { type: "checkbox", checked: Boolean(value), onchange: set }), label);
    const field = kind === "choice" ? h("select", { onchange: set }, choices.map((choice) => h("option", { value: choice }, choice))) : h("input", { type: "text", size: 10, onchange: set });
    field.value = value ?? "";
    return h("label", { title: help }, label, field);
  }

  function mark() {
    if (stale() || timer !== null) return;
    const of = (role) => lit().filter((one) => one.role === role), mistakes = model.get("mistakes") || [], chosen = model.get("selected");
    // What is lit is a key or a word, what its line is marked for is the whole range.
    const ranges = (list, css, line) => placed(list).flatMap((one) => [
      css && { from: turns.out(one.from ?? one.start), to: turns.out(one.to ?? one.end), css, title: one.label || one.message },
      line && { from: turns.out(one.start), to: turns.out(one.end), line }].filter(Boolean));
    marks = [...ranges(of("around"), "", "ms-line-around"), ...ranges(of("next"), "ms-lit-next"), ...ranges(of("here"), "ms-lit-here", "ms-line-here"), ...ranges(forbids(), "ms-lit-forbids"),
      ...ranges(mistakes.filter((one) => one.warning), "ms-lit-warning"), ...ranges(mistakes.filter((one) => !one.warning), "ms-lit-mistake", "ms-line-mistake"), ...ranges(chosen ? [chosen] : [], "ms-lit-chosen")];
    morph(legend, LIT.filter(([kind]) => marks.some(({ css }) => css === `ms-lit-${kind}`)).map(([kind, told]) => h("span", { class: kind }, told)));
    say();
    const picked = chosen ? `${chosen.start} ${chosen.end}` : "";
    if (picked && picked !== revealed) follow(chosen);
    else if (stepped || (revealed && !picked)) follow(inUse() && (placed(forbids())[0] || reading(placed(of("here")), placed(of("next")))));
    revealed = picked;
    stepped = false;
    light();
  }

  // What is chosen comes into sight, and after each step of the text what the parser reads then.
  let revealed = "", stepped = true; // what was chosen; whether the text went on
  let last = 0; // where that was
  function follow(target) {
    if (!target || target.start == null) return;
    if (!page.contains(document.activeElement)) wanted = turns.out(target.from ?? target.start);
    last = target.start;
  }
  // The innermost of what is read; within something long, between two parts of it, the nearest part that may come next.
  function reading(here, next) {
    const size = (one) => one.end - one.start, away = (one) => Math.abs(one.start - last);
    const inner = here.sort((a, b) => size(a) - size(b))[0];
    const long = !inner || turns.shown.slice(turns.out(inner.start), turns.out(inner.end)).includes("\n");
    return (long && next.sort((a, b) => away(a) - away(b))[0]) || inner;
  }

  // An editor reads its layout when it is given marks: it gets them when all else is drawn and is laid out with it.
  let marks = [], given = "", wanted = null;
  const light = measured(() => wanted !== null && !closed && !editor.sees(wanted), (away) => {
    if (away) editor.reveal(wanted);
    wanted = null;
  }, () => {
    const now = JSON.stringify(marks);
    if (now !== given && !closed) editor.mark(marks);
    given = now;
  });

  function say() {
    const mistakes = model.get("mistakes") || [], offer = model.get("offer"), status = model.get("status");
    said.hidden = !mistakes.length && !status;
    const wrong = mistakes.find((one) => !one.warning), failed = Boolean(wrong);
    // An error comes into sight, and its line, where nobody writes.
    if (failed && !view.root.classList.contains("ms-failed")) {
      follow(wrong);
      if (view.root.closest(".ms-first")) requestAnimationFrame(() => said.scrollIntoView({ block: "nearest" }));
    }
    view.root.classList.toggle("ms-failed", failed);
    said.classList.toggle("ms-warns", !failed);
    said.classList.toggle("ms-quiet", !mistakes.length);
    const row = (one) => h("button", { type: "button", class: "ms-source-mistake", onclick: () => editor.select(turns.out(one.start), turns.out(one.end)) },
      h("span", { class: "ms-num" }, `line ${one.line}, column ${one.column}`), h("span", {}, one.message, one.cure && h("span", { class: "ms-muted" }, ` — ${one.cure}`)));
    morph(said, mistakes.slice(0, 20).map(row), mistakes.length > 20 && h("span", { class: "ms-muted" }, `and ${many(mistakes.length - 20, "mistake")} more`),
      status && h("div", { class: "ms-muted" }, status, " ",
        offer && h("button", { type: "button", class: "ms-source-offer", "data-testid": "source-offer", disabled: view.offline(), onclick: () => model.send({ kind: "offer" }) }, offer)));
  }

  function told(lines) {
    const [first, ...rest] = lines.filter(Boolean);
    return h("div", { class: "ms-source-tip" }, h("div", { class: "ms-head" }, first), ...rest.map((line) => h("div", {}, line)));
  }

  // What is said below takes its room from the editor, where somebody may be writing.
  let tall = 0;
  view.sized(page, ([{ contentRect: { height } }]) => {
    const lost = tall - height;
    tall = height;
    if (lost > 0 && !closed && page.contains(document.activeElement)) editor.keep(lost);
  });
  view.on("change:document", update);
  update();
  const remark = soon(mark);
  view.on("change:places", () => { stepped = true; });
  for (const trait of ["places", "mistakes", "forbids", "status", "offer", "selected"]) view.on(`change:${trait}`, remark);
  view.draws(["offline"], () => {
    editor.lock(view.offline());
    drawTools();
  });
  view.defer(() => {
    if (closed) return;
    closed = true;
    if (timer !== null) send(); // the last keystrokes are not lost when the view goes
    editor.close();
  });
});
