// The editor: CodeMirror 6, and what it knows of our languages.  A part of the bundle of its own (see loader.ts).
// Read on: source.js (the view).
import { defaultKeymap, history, historyKeymap, indentWithTab, redo } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  HighlightStyle, StreamLanguage, bracketMatching, codeFolding, foldGutter, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, hoverTooltip, keymap, lineNumbers, tooltips } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// What begins at the reader's place, in a few kinds of tokens: [pattern, kind].  The first that fits is taken.
const TOKENS = {
  ebnf: [[/#.*/, "comment"], [/b?"(?:[^"\\]|\\.)*"?/, "string"], [/b?'(?:[^'\\]|\\.)*'?/, "string"], [/b?\[\^?\]?(?:[^\]\\]|\\.)*\]?/, "string-2"],
    [/(?!\d+\b)[\w.-]+(?=\s*(?:\[[^\]]*\])?\s*::=)/, "def"], [/::=|[|*+?]|\{[\d,\s-]*\}/, "operator"], [/(?!\d+\b)[\w.-]+/, "variable"]],
  lark: [[/\/\/.*|#.*/, "comment"], [/"(?:[^"\\]|\\.)*"i?/, "string"], [/\/(?:[^/\\]|\\.)+\/[a-z]*/, "string-2"], [/%\w+/, "keyword"],
    [/[?!]?[A-Za-z_]\w*(?=(?:\.-?\d+)?\s*(?:\[[^\]]*\])?\s*:)/, "def"], [/->|[|*+?~:]/, "operator"], [/[A-Za-z_]\w*/, "variable"]],
  regex: [[/\[\^?\]?(?:[^\]\\]|\\.)*\]?/, "string-2"], [/\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)/, "atom"], [/\(\?[:=!<a-zA-Z]*>?|[()|]/, "keyword"],
    [/[*+?]|\{[\d,]*\}/, "operator"], [/[\^$.]/, "atom"]],
};

function colours(kind) {
  if (!TOKENS[kind]) return json();
  const rules = TOKENS[kind].map(([pattern, name]) => [new RegExp(pattern.source, "y"), name]);
  const next = (stream) => {
    for (const [pattern, name] of rules) {
      pattern.lastIndex = stream.pos;
      const hit = pattern.exec(stream.string);
      if (hit && hit[0]) { stream.pos += hit[0].length; return name; }
    }
    stream.next();
    return null;
  };
  return StreamLanguage.define({ name: kind, token: next });
}

// Colours by the page's theme: see theme.css.
const highlight = syntaxHighlighting(HighlightStyle.define([
  { tag: tags.comment, color: "var(--ms-muted)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ms-string)" },
  { tag: [tags.keyword, tags.operator, tags.atom, tags.bool, tags.null, tags.number], color: "var(--ms-accent)" },
  { tag: [tags.propertyName, tags.definition(tags.variableName)], color: "var(--ms-name)", fontWeight: "600" },
]));
const looks = EditorView.theme({
  "&": { color: "var(--ms-text)", backgroundColor: "transparent" },
  ".cm-content": { caretColor: "var(--ms-text)" },
  ".cm-cursor": { borderLeftColor: "var(--ms-text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--ms-accent) 28%, transparent)" },
  ".cm-panels": { backgroundColor: "var(--ms-surface)", color: "var(--ms-text)" },
  ".cm-foldPlaceholder": { background: "var(--ms-surface)", border: "0", color: "var(--ms-muted)" },
});

// An editor in `parent`, whose tooltips go into `over`.  `on`: edited(text), clicked(offset), hover(offset) -> Promise of a node or null,
// spent("undo" | "redo") where there is nothing left to take back here, or to do again.
// Offsets are those of JavaScript strings.  Gives { text, show, forget, mark, colour, sees, keep, reveal, select, lock, close }.
export function codeEditor(parent, { label, testid, over, on }) {
  const marking = StateEffect.define();
  const marks = StateField.define({
    create: () => Decoration.none,
    update(now, change) {
      now = now.map(change.changes);
      for (const effect of change.effects) if (effect.is(marking)) now = effect.value;
      return now;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
  // A place that is revealed comes to the middle of the editor; the page around it stays where it is.  This may run while
  // the editor updates, when it lets nobody measure text: in a line that is wrapped, the place is where its share of the text is.
  const within = (shown, range, { y }) => {
    if (y !== "center") return false;
    const line = shown.lineBlockAt(range.head), share = line.length ? (range.head - line.from) / line.length : 0;
    shown.scrollDOM.scrollTop = line.top + share * line.height - shown.scrollDOM.clientHeight / 2;
    return true;
  };
  const spoken = new Compartment(), locked = new Compartment(), past = new Compartment();
  const undone = () => { on.spent("undo"); return true; };
  const redone = (shown) => { if (!redo(shown)) on.spent("redo"); return true; };
  const ours = Annotation.define();
  let down = null;
  const editor = new EditorView({
    parent,
    state: EditorState.create({
      doc: "",
      extensions: [
        lineNumbers(), past.of(history()), drawSelection(), bracketMatching(), indentOnInput(),
        search({ top: true }), codeFolding(), foldGutter(),
        keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap,
          { key: "Mod-z", run: undone, shift: redone }, { key: "Mod-y", run: redone }]), // where the editor's own have nothing left
        looks, highlight, spoken.of([]), locked.of([]), marks,
        indentUnit.of("  "), EditorView.lineWrapping, tooltips({ parent: over }),
        EditorView.contentAttributes.of({ "aria-label": label, "data-testid": testid, spellcheck: "false", "data-lm-suppress-shortcuts": "true" }),
        EditorView.scrollHandler.of(within),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.some((one) => one.annotation(ours))) on.edited(update.state.doc.toString());
        }),
        EditorView.domEventHandlers({
          mousedown: (event) => { down = [event.clientX, event.clientY]; },
          mouseup: (event, shown) => {
            const still = down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 4;
            const at = still ? shown.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
            if (at !== null && event.button === 0) on.clicked(at);
          },
        }),
        hoverTooltip(async (shown, at) => {
          const dom = await on.hover(at);
          if (!dom) return null;
          // Beside the line, on the side where nobody writes.
          const caret = shown.state.selection.main.head, line = shown.state.doc.lineAt(at);
          return { pos: at, above: !shown.hasFocus || caret >= line.from, create: () => ({ dom }) };
        }, { hoverTime: 350, hideOnChange: true }),
      ],
    }),
  });
  const clamp = (at) => Math.max(0, Math.min(at, editor.state.doc.length));
  return {
    get text() { return editor.state.doc.toString(); },
    // Replaces what differs, so that the cursor stays where it was; cannot be undone into another text.
    show(text) {
      const old = editor.state.doc.toString();
      if (old === text) return;
      let head = 0, tail = 0;
      const most = Math.min(old.length, text.length);
      while (head < most && old[head] === text[head]) head += 1;
      while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
      editor.dispatch({
        changes: { from: head, to: old.length - tail, insert: text.slice(head, text.length - tail) },
        annotations: [ours.of(true), Transaction.addToHistory.of(false)],
      });
    },
    // Another text was opened: what was typed into the one of before is no edit of it.
    forget() { for (const one of [[], history()]) editor.dispatch({ effects: past.reconfigure(one) }); },
    mark(ranges) {
      const { doc } = editor.state, lined = new Set(); // many ranges may lie in one line
      const made = ranges.flatMap(({ from, to, css, line, title }) => {
        const [start, end] = [clamp(from), clamp(to)], first = doc.lineAt(start).number, lines = line ? doc.lineAt(end).number - first + 1 : 0;
        const fresh = Array.from({ length: lines }, (_, k) => doc.line(first + k).from).filter((at) => !lined.has(`${line} ${at}`));
        for (const at of fresh) lined.add(`${line} ${at}`);
        return [...(css && end > start ? [Decoration.mark({ class: css, attributes: title ? { "data-label": title } : {} }).range(start, end)] : []),
          ...fresh.map((at) => Decoration.line({ class: line }).range(at))];
      });
      editor.dispatch({ effects: marking.of(Decoration.set(made, true)) });
    },
    colour(kind) { editor.dispatch({ effects: spoken.reconfigure(colours(kind)) }); },
    sees(at) {
      const { top, bottom } = editor.scrollDOM.getBoundingClientRect();
      const seen = editor.coordsAtPos(clamp(at));
      return Boolean(seen && seen.top >= top && seen.bottom <= bottom);
    },
    // The editor has lost `lost` pixels at its foot: the caret stays in sight if it was.  The page scrolls nowhere.
    keep(lost) {
      const { bottom } = editor.scrollDOM.getBoundingClientRect(), caret = editor.coordsAtPos(editor.state.selection.main.head);
      if (caret && caret.bottom > bottom && caret.bottom <= bottom + lost) editor.scrollDOM.scrollTop += caret.bottom - bottom;
    },
    reveal(at) { editor.dispatch({ effects: EditorView.scrollIntoView(clamp(at), { y: "center" }) }); },
    select(from, to) {
      editor.dispatch({ selection: { anchor: clamp(from), head: clamp(to) }, scrollIntoView: true });
      editor.focus();
    },
    lock(value) { editor.dispatch({ effects: locked.reconfigure(EditorState.readOnly.of(value)) }); },
    close() { editor.destroy(); },
  };
}
