// The source in its own language: what is read is lit in it, mistakes are marked where they are, a click chooses.
//
// Traits (Python to browser; offsets count characters as Python does):
//   document  {text, language, languages: [{name, title}], options: [{name, kind, value, default, help, choices}], summary,
//              why, client, seq}: client and seq say whose edit this answers
//   mistakes  [{start, end, line, column, message, cure, warning}]; status: what is in use instead, "" where all is well
//   places    [{role: "here" | "next" | "around", label, start, end, from, to, pointer, rule}]: from and to are what to
//              light of a range that is long; forbids: the same, why the text that was refused cannot come
//   selected  {start, end} or null: what is chosen, here or elsewhere
//   selection what all views have chosen (see workbench/panels/base.py)
// Messages (browser to Python): {kind: "source", text, client, seq}, {kind: "language", language}, {kind: "option", name,
// value}, {kind: "choose", offset}, and by channel {type: "hover", offset} -> {lines: [...]}.
//
// Keys: those of CodeMirror; Tab indents (Escape first, and it goes on to the next field).
// Read on: editor.js, workbench/panels/source.py.
import { channel, h, many, measured, defineView, soon } from "./common.js";
import { editor as editorPart } from "./parts";

const WAIT_MS = 350;

// Python counts characters, JavaScript counts UTF-16 units, and editors know one kind of line end.
function codec(text) {
  const shown = text.replace(/\r\n?/g, "\n");
  if (shown === text && !/[\ud800-\udfff]/.test(text)) return { shown, out: (at) => at, back: (at) => at };
  const units = [];
  let unit = 0, before = "";
  for (const character of text) {
    if (before === "\r" && character === "\n") units.push(unit - 1);
    else { units.push(unit); unit += character.length; }
    before = character;
  }
  units.push(unit);
  const out = (at) => units[Math.max(0, Math.min(at, units.length - 1))];
  const back = (at) => { let low = 0; while (low + 1 < units.length && units[low + 1] <= at) low += 1; return low; };
  return { shown, out, back };
}

export default defineView("source", "source", async ({ view, model, el }) => {
  const talk = channel(model, view);
  const client = Math.random().toString(36).slice(2);
  let seq = 0, timer = null, turns = codec(""), language = null, closed = false;

  // -- what it is made of -------------------------------------------------------------------------------------------
  const tabs = h("div", { class: "ms-group ms-source-tabs", role: "tablist", "aria-label": "language" });
  const summary = h("span", { class: "ms-muted ms-source-summary", "data-testid": "grammar-summary" });
  const waiting = h("span", { class: "ms-badge active ms-source-waiting" }, "compiling…");
  const toggle = h("button", { type: "button", "aria-expanded": "false", "data-testid": "source-options", title: "options of this language",
    "aria-label": "options of this language" }, "⚙");
  const bar = h("div", { class: "ms-bar" }, tabs, toggle, summary, waiting);
  const options = h("div", { class: "ms-source-options", hidden: true });
  const page = h("div", { class: "ms-source-page" });
  const said = h("div", { class: "ms-source-said", role: "status", "data-testid": "grammar-status" });
  view.root.append(bar, options, page, said);
  toggle.addEventListener("click", () => {
    options.hidden = !options.hidden;
    toggle.setAttribute("aria-expanded", String(!options.hidden));
  });

  // -- the editor ---------------------------------------------------------------------------------------------------
  const on = {
    edited() {
      seq += 1;
      given = "";
      view.root.classList.add("ms-pending");
      clearTimeout(timer);
      timer = setTimeout(send, WAIT_MS);
    },
    clicked(at) {
      if (timer === null && inUse()) model.send({ kind: "choose", offset: turns.back(at) });
    },
    hover: (at) => new Promise((resolve) => {
      const known = [...(model.get("mistakes") || []).map((one) => ({ ...one, lines: [one.message, one.cure] })),
        ...(model.get("forbids") || []).map((one) => ({ ...one, lines: [one.label] }))]
        .filter((one) => turns.out(one.start) <= at && at <= turns.out(one.end));
      const local = () => {
        const places = lit().filter((one) => turns.out(one.start) <= at && at <= turns.out(one.end));
        places.sort((a, b) => a.end - a.start - (b.end - b.start));
        return places.length ? [places[0].label, places[0].pointer || places[0].rule] : [];
      };
      const answer = (lines) => resolve(lines.length ? told(lines) : null);
      if (known.length || model.get("offline") || timer !== null) return answer(known.length ? known[0].lines : local());
      const late = setTimeout(() => answer(local()), 1500);
      talk.ask({ type: "hover", offset: turns.back(at) }, (reply) => { clearTimeout(late); answer(reply.lines || []); });
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
  const lit = () => model.get("places") || [];

  function update() {
    const state = current();
    if (stale()) return; // an answer to an older edit
    turns = codec(state.text || "");
    if (timer === null) { editor.show(turns.shown); given = ""; view.root.classList.remove("ms-pending"); }
    summary.textContent = state.summary || "";
    summary.title = state.why || "";
    if (language !== state.language) { language = state.language; editor.colour(language); }
    drawTabs(state);
    drawOptions(state);
    lockTools();
    mark();
  }

  function drawTabs(state) {
    const wanted = (state.languages || []).map((one) => h("button", {
      type: "button", role: "tab", "aria-selected": String(one.name === state.language), "data-testid": `language-${one.name}`,
      onclick: () => { if (one.name !== current().language) { if (timer !== null) send(); model.send({ kind: "language", language: one.name }); } },
    }, one.title));
    tabs.replaceChildren(...wanted);
  }

  function drawOptions(state) {
    const list = state.options || [];
    toggle.hidden = !list.length;
    const changed = list.filter((one) => one.value !== one.default).length;
    toggle.textContent = changed ? `⚙ ${changed}` : "⚙";
    if (options.contains(document.activeElement)) return;
    const set = (name, value) => model.send({ kind: "option", name, value });
    options.replaceChildren(...list.map((one) => {
      const name = one.name.replaceAll("_", " ");
      if (one.kind === "flag") {
        const box = h("input", { type: "checkbox", onchange: (event) => { event.target.blur(); set(one.name, event.target.checked); } });
        box.checked = Boolean(one.value);
        return h("label", { title: one.help }, box, name);
      }
      const field = one.kind === "choice"
        ? h("select", { onchange: (event) => { event.target.blur(); set(one.name, event.target.value); } }, ...one.choices.map((choice) => h("option", { value: choice }, choice)))
        : h("input", { type: "text", size: 10, onchange: (event) => set(one.name, event.target.value) });
      field.value = one.value ?? "";
      return h("label", { title: one.help }, name, field);
    }));
  }

  // Without a kernel there is nobody to read another text.
  function lockTools() {
    for (const one of [...tabs.children, ...options.querySelectorAll("input, select")]) one.disabled = Boolean(model.get("offline"));
  }

  function mark() {
    if (stale() || timer !== null) return;
    const ranges = [];
    const add = (list, css, line) => {
      for (const one of list || []) if (one.start != null)
        ranges.push({ from: turns.out(one.from ?? one.start), to: turns.out(one.to ?? one.end), css, line, title: one.label || one.message,
          ...(line ? {} : null), whole: [turns.out(one.start), turns.out(one.end)] });
    };
    const of = (role) => lit().filter((one) => one.role === role);
    add(of("around"), "", "ms-line-around");
    add(of("next"), "ms-lit-next");
    add(of("here"), "ms-lit-here", "ms-line-here");
    add(model.get("forbids"), "ms-lit-forbids");
    const [doubts, wrong] = [true, false].map((doubt) => (model.get("mistakes") || []).filter((one) => Boolean(one.warning) === doubt));
    add(doubts, "ms-lit-warning");
    add(wrong, "ms-lit-mistake");
    const chosen = model.get("selected");
    if (chosen) add([chosen], "ms-lit-chosen");
    // What is lit is a key or a word, what its line is marked for is the whole range.
    marks = ranges.flatMap((one) => one.line
      ? [{ ...one, line: null }, { from: one.whole[0], to: one.whole[1], css: "", line: one.line }] : [one]);
    say();
    const picked = chosen ? `${chosen.start} ${chosen.end}` : "";
    if (picked && picked !== revealed) follow(chosen);
    else if (stepped || (revealed && !picked)) follow(inUse() && ((model.get("forbids") || []).find((one) => one.start != null) || reading(of("here"), of("next").filter((one) => one.start != null))));
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
    const inner = here.filter((one) => one.start != null).sort((a, b) => size(a) - size(b))[0];
    const long = !inner || turns.shown.slice(turns.out(inner.start), turns.out(inner.end)).includes("\n");
    return (long && [...next].sort((a, b) => away(a) - away(b))[0]) || inner;
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
    const mistakes = model.get("mistakes") || [];
    const offer = model.get("offer");
    said.hidden = !mistakes.length && !model.get("status");
    const failed = mistakes.some((one) => !one.warning);
    // On the first screen an error comes into sight; a desk has a height of its own and is seen whole.
    if (failed && !view.root.classList.contains("ms-failed") && view.root.closest(".ms-first")) requestAnimationFrame(() => said.scrollIntoView({ block: "nearest" }));
    view.root.classList.toggle("ms-failed", failed);
    said.classList.toggle("ms-warns", !failed);
    said.classList.toggle("ms-quiet", !mistakes.length);
    const rows = mistakes.slice(0, 20).map((one) => h("button", {
      type: "button", class: "ms-source-mistake", onclick: () => editor.select(turns.out(one.start), turns.out(one.end)),
    }, h("span", { class: "ms-num" }, `line ${one.line}, column ${one.column}`), h("span", {}, one.message, one.cure ? h("span", { class: "ms-muted" }, ` — ${one.cure}`) : null)));
    if (mistakes.length > 20) rows.push(h("span", { class: "ms-muted" }, `and ${many(mistakes.length - 20, "mistake")} more`));
    said.replaceChildren(...rows, ...(model.get("status") ? [h("div", { class: "ms-muted" }, model.get("status"), offer ? " " : null,
      offer ? h("button", { type: "button", class: "ms-source-offer", "data-testid": "source-offer", disabled: Boolean(model.get("offline")), onclick: () => model.send({ kind: "offer" }) }, offer) : null)] : []));
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
  view.watch(["document"], update);
  const remark = soon(mark);
  view.on("change:places", () => { stepped = true; });
  for (const trait of ["places", "mistakes", "forbids", "status", "offer", "selected"]) view.on(`change:${trait}`, remark);
  view.watch(["offline"], () => {
    editor.lock(Boolean(model.get("offline")));
    lockTools();
  });
  view.defer(() => {
    if (closed) return;
    closed = true;
    if (timer !== null) send(); // the last keystrokes are not lost when the view goes
    editor.close();
  });
});
