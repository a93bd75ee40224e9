// The CodeMirror 6 that JupyterLab and Notebook 7 ship: how to reach it, and an editor made of it.
//
// Their bundler (webpack or rspack) keeps the modules that extensions share in `require.S.default`, by name and
// version.  A chunk without modules, pushed to the bundler's queue, is handed that `require`.  Nothing is fetched that
// is not part of JupyterLab; where there is no such queue (a plain page, VS Code), `codemirror()` gives null.
// Read on: source.js (the view), plaintext.js (the editor where there is no CodeMirror).

let found;

export function codemirror() {
  found ||= reach().catch(() => null);
  return found;
}

async function reach() {
  for (const queue of Object.getOwnPropertyNames(globalThis).filter((name) => /^(web|rs)packChunk/.test(name))) {
    let bundler = null;
    globalThis[queue].push([[`maskscope-${Date.now()}-${Math.random()}`], {}, (require) => { bundler = require; }]);
    const shared = bundler && bundler.S && bundler.S.default;
    if (!shared || !shared["@codemirror/view"] || !shared["@jupyterlab/codemirror"]) continue;
    const load = async (name) => {
      const versions = Object.values(shared[name]);
      return (await (versions.find((one) => one.loaded) || versions[versions.length - 1]).get())();
    };
    const [state, view, language, commands, search, lab] = await Promise.all(
      ["state", "view", "language", "commands", "search"].map((name) => load(`@codemirror/${name}`)).concat(load("@jupyterlab/codemirror")));
    return { state, view, language, commands, search, lab };
  }
  return null;
}

// What begins at the reader's place, in a few kinds of tokens: [pattern, kind].  The first that fits is taken.
const TOKENS = {
  ebnf: [[/#.*/, "comment"], [/b?"(?:[^"\\]|\\.)*"?/, "string"], [/b?'(?:[^'\\]|\\.)*'?/, "string"], [/b?\[\^?\]?(?:[^\]\\]|\\.)*\]?/, "string-2"],
    [/[A-Za-z_][\w.-]*(?=\s*(?:\[[^\]]*\])?\s*::=)/, "def"], [/::=|[|*+?]|\{[\d,\s-]*\}/, "operator"], [/[A-Za-z_][\w.-]*/, "variable"]],
  lark: [[/\/\/.*|#.*/, "comment"], [/"(?:[^"\\]|\\.)*"i?/, "string"], [/\/(?:[^/\\]|\\.)+\/[a-z]*/, "string-2"], [/%\w+/, "keyword"],
    [/[?!]?[A-Za-z_]\w*(?=(?:\.-?\d+)?\s*(?:\[[^\]]*\])?\s*:)/, "def"], [/->|[|*+?~:]/, "operator"], [/[A-Za-z_]\w*/, "variable"]],
  regex: [[/\[\^?\]?(?:[^\]\\]|\\.)*\]?/, "string-2"], [/\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)/, "atom"], [/\(\?[:=!<a-zA-Z]*>?|[()|]/, "keyword"],
    [/[*+?]|\{[\d,]*\}/, "operator"], [/[\^$.]/, "atom"]],
};

async function colours({ language, lab }, kind) {
  if (TOKENS[kind]) {
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
    return language.StreamLanguage.define({ name: kind, token: next });
  }
  const known = lab.EditorLanguageRegistry.getDefaultLanguages().find((one) => one.name === "JSON");
  return known && known.load ? known.load() : [];
}

// An editor in `parent`, whose tooltips go into `over`.  `on`: edited(text), clicked(offset), hover(offset) -> Promise of a node or null.
// Offsets are those of JavaScript strings.  Gives { text, show, mark, colour, sees, keep, reveal, lock, focus, close }.
export function codeEditor(modules, parent, { label, testid, over, on }) {
  const { state, view, language, commands, search, lab } = modules;
  const { EditorView, Decoration } = view;
  const marking = state.StateEffect.define();
  const marks = state.StateField.define({
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
  const spoken = new state.Compartment(), locked = new state.Compartment();
  const ours = state.Annotation.define();
  let down = null;
  const editor = new EditorView({
    parent,
    state: state.EditorState.create({
      doc: "",
      extensions: [
        view.lineNumbers(), commands.history(), view.drawSelection(), language.bracketMatching(), language.indentOnInput(),
        search.search ? search.search({ top: true }) : [], language.codeFolding ? [language.codeFolding(), language.foldGutter()] : [],
        view.keymap.of([commands.indentWithTab, ...commands.defaultKeymap, ...commands.historyKeymap, ...search.searchKeymap, ...language.foldKeymap]),
        lab.jupyterTheme || [], lab.jupyterHighlightStyle ? language.syntaxHighlighting(lab.jupyterHighlightStyle) : [],
        spoken.of([]), locked.of([]), marks,
        language.indentUnit.of("  "), EditorView.lineWrapping, view.tooltips({ parent: over }),
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
        view.hoverTooltip(async (shown, at) => {
          const dom = await on.hover(at);
          return dom ? { pos: at, above: true, create: () => ({ dom }) } : null;
        }, { hoverTime: 350, hideOnChange: true }),
      ],
    }),
  });
  const clamp = (at) => Math.max(0, Math.min(at, editor.state.doc.length));
  return {
    kind: "codemirror",
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
        annotations: [ours.of(true), state.Transaction.addToHistory.of(false)],
      });
    },
    mark(ranges) {
      const made = [], lined = new Set(); // many ranges may lie in one line
      for (const { from, to, css, line, title } of ranges) {
        const [start, end] = [clamp(from), clamp(to)];
        if (css && end > start) made.push(Decoration.mark({ class: css, attributes: title ? { "data-label": title } : {} }).range(start, end));
        if (!line) continue;
        const last = editor.state.doc.lineAt(end).number;
        for (let number = editor.state.doc.lineAt(start).number; number <= last; number += 1) {
          if (lined.has(`${line} ${number}`)) continue;
          lined.add(`${line} ${number}`);
          made.push(Decoration.line({ class: line }).range(editor.state.doc.line(number).from));
        }
      }
      editor.dispatch({ effects: marking.of(Decoration.set(made, true)) });
    },
    async colour(kind) {
      const found = await colours(modules, kind).catch(() => []);
      editor.dispatch({ effects: spoken.reconfigure(found) });
    },
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
    lock(value) { editor.dispatch({ effects: locked.reconfigure(state.EditorState.readOnly.of(value)) }); },
    focus() { editor.focus(); },
    close() { editor.destroy(); },
  };
}
