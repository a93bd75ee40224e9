// The first screen: one text that is the interface, coloured by what the grammar did to the model.
//
// Traits (Python to browser; workbench/screen/state.py says what each means):
//   text  { tokens: [[text, how, mask, us, told, sure]], parts: [[name, hue, count]], refused }
//   here  { place, where, next: [row], wanted: [row], end, more, died, note, whole, parses }, a row { shown, text, before, after, taken, why, keyword, group, chip, token }
//   bar   what can be chosen and what was; `offer` is what a click makes of a paste that failed; `outcome` { kind, told, goes_on } is how the run ended; `plays` counts the recordings that were opened, the last of which rests at the place `rests` when it has played
// Messages (browser to Python): {kind: "open", name}, {kind: "paste", text}, {kind: "offer" | "run" | "step" | "branch" | "continue" | "tell" | "reads"}, all
// with { prompt, seed, temperature, grammar, limit, chat }, what stands in the fields; {kind: "choose", model | tokenizer | chat | tool_choice},
// {kind: "share" | "copy" | "models"}, and the desk's own: goto, move, prefix, text, token, stop; asked {type: "tokens", group, chip}
// of a row that is open, and {type: "parses"} where the text is `whole`: the answer is in `here`.
// Python to browser: {save: name, text}, a file to keep; {copy: text, said}, for the clipboard; {reads: text}, the prompt as the model reads it.
//
// Keys: arrows step by token, with shift by byte; Home, End; space plays a run or holds it; in the text all keys are the text's,
// and Ctrl+Z takes back the last edit, whoever made it.
// Read on: run.ts, stage.ts, workbench/panels/screen.py.
import { FIELD, button, clip, code, h, keep, key, measured, morph, defineView, number, offer, put, reveal, soon } from "./common.js";
import { HOWS, MASKS, TOLD, costs, counted, figure, height, micros, pause, percent, placeAt, tokenAt, type Text, type Token } from "./run";

interface Row { shown: string; text: string; before: number | null; after: number | null; taken: boolean; why: string; keyword: string; group?: string; chip?: string; token?: number | null }
interface Here { place: number; where: string; next: Row[]; wanted: Row[]; end: string; more: string; died: string; note?: string; whole?: boolean; parses?: string | null }
interface Listed { where: string; group: string; chip: string; tokens?: { id: number; glyph: string }[]; more?: number; error?: string }

const LINE = 29; // pixels: screen.css

const SIGNS: Record<string, string> = { " ": "␣", "\n": "↵", "\t": "→" };
const COME_BY = ["this parser state was met before: its mask is looked up", "a new parser state: its mask is put together from token sets that are known", "a new parser state: the vocabulary, or part of it, is walked"];
const ABOUT = [
  ["what this is", "A language model writes a text, token by token, and a grammar (or a JSON schema, or tools) takes away the tokens that would break it. Here one sees what that did to the model, why, and what it cost; and can change everything: the source below, the text itself, the prompt."],
  ["paste / open", "A source of your own: a JSON schema, tools, a grammar, a regular expression. The `gallery` beside it has examples with recorded runs. `vocabulary`: whose tokens what is typed is cut into and masks allow; a model that runs brings its own. `share` keeps a page that needs no Python, `figure` a picture of the text."],
  ["Run, Step, Stop", "A model answers the prompt. At each token the mask takes away what would leave the grammar. `Run` writes a text, `Step` one token, `Stop` ends a run, `continue` goes on from where it was cut. `copy text`, `copy code`: what was written, and the Python that writes it again."],
  ["grammar, model …", "`model`: the one that writes. Without `grammar` it is free, and what the grammar refuses is marked. `seed`: the same one draws the same tokens. `temp`: the temperature. `at most`: the most tokens. `as chat`, `raw`: with the model's chat template, or without; `what it reads` shows the prompt with it. `tell it the schema`, or the tools, puts them into the prompt: a model sees nothing of a grammar. `calls`: which tools it may call, and in whose format calls are written, which need not be its own."],
  ["agreed", `Green: ${TOLD.agreed}.`],
  ["pushed", `Yellow: ${TOLD.pushed}.`],
  ["overruled", `Orange: ${TOLD.overruled}, and another token was written.`],
  ["forced", `Grey, with a thin line: ${TOLD.forced}.`],
  ["text", "Click a token to go there; type to write the text yourself. What the grammar refuses is red, with a wavy line. `↻` replays the text; the track beside it names the parts of the text, and leads to the place where it is clicked."],
  ["Next, Wanted", "Next is what may come, with its probability before and after the mask; a click writes it, or lists its tokens. Wanted is what the model would have written: `why` says what refuses it, `branch` lets the model go on with it, free of the grammar."],
  ["bars", "The time of each mask: found (computed before), put together (from known parts), or made (computed now)."],
  ["tabs", "`Caches`: what masks cost. `Ablate`: what each mechanism of the engine is worth. `Examples`: texts that must and must not be taken. `Model`: the run with and without the grammar, side by side. `Under the hood` is what the parser does: `Automaton`, `Chart` (its items), `Call stack`, `Derivation` (parse trees), `Triggers` (free text and tags), `Tokens` and `Mask` (what is allowed), `What next` and `Why` (what may come, or why not), `Compare` (with another engine)."],
  ["Automaton", "Filled: the parser is in this state. Pale: it waits for the rule that it called. Green ring: just made. Double ring: its rule may end here. Dashed: not made further yet; a dashed arrow calls a rule."],
  ["keys", "← → one token, with Shift one byte; Home and End; the space bar plays the run; Ctrl+Z or `take it back` takes back an edit; t goes into the text, e into the source, / searches the tokens; [ ] change the tab; w or ▣ is the whole window."],
];

export default defineView("first", "screen", ({ view, model, host }: any) => {
  const text = (): Text => ({ tokens: [], parts: [], refused: "", ...model.get("text") });
  const here = (): Here => ({ place: 0, where: "", next: [], wanted: [], end: "", more: "", died: "", ...model.get("here") });
  const bar = () => model.get("bar") || {};
  const send = (content: any) => { hold(); show(""); model.send(content); };
  const goto = (place: number) => model.send({ kind: "goto", index: Math.max(0, Math.min(text().tokens.length, place)) });

  // -- the top: what is opened ---------------------------------------------------------------------------------------
  const choice = (label: string, testid: string, action: (value: string) => void) =>
    h("select", { "aria-label": label, title: label, "data-testid": testid, onchange: (event: any) => action(event.target.value) });
  const gallery = choice("gallery", "gallery", (name) => { if (name) begin("open", { name }); });
  const tokenizer = choice("vocabulary", "tokenizer", (name) => send({ kind: "choose", tokenizer: name }));
  tokenizer.title = "whose tokens what is typed is cut into and masks allow; a model that runs brings its own";
  const speaker = choice("model", "model", (name) => send({ kind: "choose", model: name }));
  speaker.title = "the model that writes";
  speaker.onpointerenter = speaker.onfocus = () => { if (!view.offline()) model.send({ kind: "models" }); }; // one may have been fetched meanwhile
  const paste = button("paste / open", "paste a schema, tools, a grammar or a regular expression", "paste", () => { sheet.hidden = !sheet.hidden; area.value = ""; if (!sheet.hidden) area.focus(); });
  const share = button("share", "keep this as a page that needs no Python", "share", () => send({ kind: "share" }));
  const picture = button("figure", "keep the text as a picture (SVG)", "figure", () => show(keep("maskscope.svg", figure(text()), "image/svg+xml")));
  const area = h("textarea", { rows: 8, spellcheck: "false", "aria-label": "source to open", "data-testid": "paste-text",
    placeholder: "a JSON schema, tools, a structural tag, EBNF, Lark, a regular expression" });
  const file = h("input", { type: "file", "aria-label": "a file", "data-testid": "paste-file", onchange: async () => { const [chosen] = file.files || []; if (chosen) area.value = await chosen.text(); file.value = ""; } });
  const sheet = h("div", { class: "ms-first-sheet", hidden: true }, area, h("div", {}, file,
    button("cancel", "open nothing (Esc)", "paste-cancel", () => { sheet.hidden = true; }),
    button("open", "open this source", "paste-open", () => { sheet.hidden = true; begin("paste", { text: area.value }); })));
  const top = h("div", { class: "ms-first-bar" }, h("b", {}, "Maskscope"), gallery, paste, h("label", {}, "vocabulary ", tokenizer), h("span", { class: "ms-grow" }),
    share, picture, button("?", "what one sees here, and the keys", "first-help", () => about.showModal()), sheet);
  const dialog = (title: string, testid: string, inside: HTMLElement) => {
    const made = h("dialog", { class: "ms-view ms-about", "aria-label": title, "data-testid": testid, onclick: (event: Event) => { if (event.target === made) made.close(); } },
      h("div", { class: "ms-about-head" }, h("b", {}, title), button("×", "close (Esc)", `${testid}-close`, () => made.close())), inside);
    return made;
  };
  const about = dialog("What one sees here", "about", h("dl", {}, ...ABOUT.flatMap(([what, told]) => [h("dt", {}, what), h("dd", {}, code(told))])));
  const read = h("pre", { "data-testid": "told" }), reading = dialog("What the model reads before it writes", "reading", read);

  // -- the run -------------------------------------------------------------------------------------------------------
  const prompt = h("textarea", { rows: 3, class: "ms-prompt", spellcheck: "false", "aria-label": "prompt", "data-testid": "prompt", placeholder: "what the model is asked", title: "Enter runs, Shift+Enter begins a line",
    onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); ask("run"); } } });
  const seed = h("input", { type: "number", min: 0, step: 1, class: "ms-seed", "aria-label": "seed", title: "the same seed draws the same tokens", "data-testid": "seed" });
  const warmth = h("input", { type: "number", min: 0, max: 2, step: 0.1, "aria-label": "temperature", title: "temperature: 0 takes the likeliest token, 1 draws as the model says", "data-testid": "temperature" });
  const limit = h("input", { type: "number", min: 1, step: 16, class: "ms-limit", "aria-label": "most tokens", "data-testid": "limit", title: "a run has at most so many tokens; under a grammar its text is whole by then" });
  const manner = choice("as chat, raw", "chat", (value) => send({ kind: "choose", chat: value === "chat" }));
  manner.append(h("option", { value: "chat" }, "as chat"), h("option", { value: "raw" }, "raw"));
  const reads = button("what it reads", "the prompt as the model reads it, with what its chat template adds", "reads", () => ask("reads"));
  const tools = choice("tool choice", "tool-choice", (value) => send({ kind: "choose", tool_choice: value }));
  const format = h("span", { class: "ms-muted", title: "how calls are written, which `model` in the source says; the model that writes may be another", "data-testid": "call-format" });
  const toolbox = h("div", { class: "ms-toolbox" }, h("label", { title: "which tools the model may call" }, "calls ", tools), format);
  const tell_ = button("tell it the schema", "the model does not see the grammar, which holds only its text: put the schema, or the tools and how they are called, into the prompt", "tell", () => { prompt.blur(); ask("tell"); });
  const constrained = h("input", { type: "checkbox", title: "without it the model is free, and what the grammar refuses is marked", "data-testid": "under-grammar" });
  const run = button("▶ Run", "let the model write, from the beginning or from what you typed", "run", () => ask("run"));
  const step = button("▸| Step", "let the model write one token here", "step", () => ask("step"));
  const stop = button("■ Stop", "end the run before the next token", "stop-run", () => { hold(); model.send({ kind: "stop" }); });
  const ask = (kind: string, more = {}) => { flush(); send({ kind, ...more, prompt: prompt.value, seed: Number(seed.value), temperature: Number(warmth.value), grammar: constrained.checked, limit: Number(limit.value), chat: manner.value === "chat" }); };
  const begin = (kind: string, more = {}) => { settled.clear(); ask(kind, more); }; // with what Python then says of the fields
  const controls = h("div", { class: "ms-ask" }, h("label", { class: "ms-wide-label" }, "Prompt ", prompt), h("div", { class: "ms-set" }, run, step, stop,
    h("label", {}, constrained, " grammar"), h("label", {}, "model ", speaker), h("label", {}, "seed ", seed), h("label", {}, "temp ", warmth), h("label", {}, "at most ", limit), manner, reads));
  const look = h("span", { role: "status", "data-testid": "look" });

  // -- the text ------------------------------------------------------------------------------------------------------
  const modes = h("div", { class: "ms-modes", role: "slider", tabindex: "0", "aria-label": "parts of the text", "aria-valuemin": 0, "data-testid": "modes" });
  const position = h("i", { class: "ms-at" });
  const copy = h("div", { class: "ms-copy", "aria-hidden": "true" });
  const box = h("textarea", { class: "ms-typed", spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: "type a text here, or Run", "aria-label": "the text", "data-testid": "text" });
  const paper = h("div", { class: "ms-paper" }, copy, box);
  const play = button("↻", "replay the text (space)", "play", () => (playing ? hold() : start()));
  const said = h("span", { class: "ms-muted", "data-testid": "speaker" });
  let doing = "", since = 0, clock = 0; // what goes on, and since when
  const clocked = () => put(said, `${doing} … ${Math.floor((Date.now() - since) / 1000)} s`);
  const where = h("span", { class: "ms-muted ms-num", "data-testid": "place", title: "each token is a step, the stop token too; before each step, and behind the last, there is a mask" });
  const busy = h("span", { class: "ms-busy", role: "status", "data-testid": "kernel-busy" });
  const ended = h("span", { class: "ms-outcome", role: "status", "data-testid": "outcome" });
  const more = button("continue", "let the model go on from the end", "continue", () => ask("continue"));
  const copyText = button("copy text", "the whole text", "copy-text", () => clip(box.value, "the text", show));
  const python = button("copy code", "the Python that makes this run", "copy-python", () => send({ kind: "copy" }));
  const legend = h("div", { class: "ms-legend", "data-testid": "legend" }, ...HOWS.map((how) => h("span", { class: `ms-tok ${how}`, title: TOLD[how] }, how)));
  const bars = h("div", { class: "ms-costs", role: "img", "data-testid": "costs" });
  const sum = h("span", { class: "ms-muted", "data-testid": "cost-sum" });
  const price = h("div", { class: "ms-price" }, bars, h("div", { class: "ms-legend" }, h("span", { title: "microseconds, on a logarithmic scale from 0.1 to 10,000; a bar for each token" }, "mask time per token, µs:"), ...MASKS.map((mask, at) => key(`--mask-${at}`, mask, COME_BY[at])), sum));

  // -- the place -----------------------------------------------------------------------------------------------------
  const source = h("div", { class: "ms-first-source" }, toolbox, h("div", { "data-slot": "source" }));
  const next = h("div", { class: "ms-rows ms-next-rows", "data-testid": "next-rows" });
  const wanted = h("div", { class: "ms-rows", "data-testid": "wanted-rows" });
  const end = h("span", { class: "ms-end", "data-testid": "end" });
  const parses = button("ambiguous", "the rules derive this text in several ways: show the parse trees (Derivation)", "parses", () => reveal(view.root, "tree"));
  const reason = h("div", { class: "ms-why-line", role: "status", hidden: true, "data-testid": "why-line" });
  const why = button("why", "", "why", () => { reason.hidden = !reason.hidden; reason.scrollIntoView({ block: "nearest" }); });
  const branch = button("branch", "", "branch-here", () => ask("branch"));
  const place = h("div", { class: "ms-first-here" }, h("div", { class: "ms-cap" }, "Next", end, parses), next, h("div", { class: "ms-cap" }, "Wanted", why, branch), wanted, reason);
  // What Python objects to stands beside what is shown; else what was done here, until something else is.
  let shown: Node | string = "", told: unknown[] = [];
  const show = (node: Node | string) => { shown = node; tell(); };
  const tell = () => {
    const { message: wrong, note, back, look: beside, offer } = bar();
    const now = [wrong || shown || beside || note || "", wrong && offer, back && !wrong && !shown, view.offline()];
    if (now.every((one, k) => one === told[k])) return;
    told = now;
    const [said, offered, takes, disabled] = now;
    look.classList.toggle("ms-wrong", Boolean(wrong));
    look.replaceChildren(said, ...(offered ? [" ", h("button", { type: "button", title: "open it so", disabled, "data-testid": "offer", onclick: () => begin("offer") }, offered)] : []),
      ...(takes ? [" ", h("button", { type: "button", title: note, disabled, "data-testid": "take-back", onclick: () => send({ kind: "undo" }) }, "take it back")] : []));
    look.title = look.textContent || "";
  };
  // What is below the text, and the tabs that choose it: stage.ts.
  const tabs = h("div", { class: "ms-panes", role: "tablist", "data-testid": "tabs" });
  const hood = h("div", { class: "ms-panes ms-hood", role: "tablist", hidden: true, "data-testid": "hood-tabs" });
  view.root.tabIndex = 0;
  view.root.dataset.lmSuppressShortcuts = "true";
  const gone = h("div", { class: "ms-gone", role: "alert", "data-testid": "screen-gone", hidden: true }, "The kernel is gone: run the cell again. What is shown here stays until then; copy the text or the source if you need them.");
  view.root.append(gone, top, controls, h("div", { class: "ms-ran" }, tell_, h("div", { class: "ms-look" }, said, ended, look), busy, more, copyText, python),
    h("div", { class: "ms-player" }, play, modes, where), paper,
    h("div", { class: "ms-first-foot" }, tabs, legend, hood), price, h("div", { class: "ms-first-below" }, source, place), about, reading);

  // -- playing -------------------------------------------------------------------------------------------------------
  let playing = 0, went = 0, rests: number | null = null; // how far it has played; where it goes then (null: it stays at its end)
  function start(to: number | null = null) {
    if (view.root.querySelector("[data-testid=ablate-stop]:not(:disabled)")) { show("it plays when the measurement has ended: playing would disturb the times"); return; }
    [rests, went] = [to, to === null ? here().place : 0]; // what was opened begins at 0, whatever is still shown
    if (went >= text().tokens.length) goto(went = 0);
    tick(300);
  }
  function tick(wait: number) {
    clearTimeout(playing);
    playing = window.setTimeout(() => {
      const { tokens } = text(), at = here().place;
      if (host.pending || host.get("asleep")) { tick(60); return; } // out of sight it waits
      if (at === went && at < tokens.length && view.root.isConnected) {
        goto(went = at + 1);
        tick(pause(tokens, went));
        return;
      }
      if (at === went && rests != null && rests < at) goto(rests); // else somebody went elsewhere
      hold();
    }, wait);
    [play.textContent, play.title] = ["❚❚", "hold (space)"];
  }
  function hold() {
    clearTimeout(playing);
    playing = 0;
    [play.textContent, play.title] = ["↻", "replay the text (space)"];
  }

  // White space is seen, and takes the room that it takes in the box below.
  const marked = (shown: string) => shown.split(/(\n|\t| )/).filter(Boolean).map((piece) => (SIGNS[piece] ? h("span", { class: "ws", "data-sign": SIGNS[piece] }, piece) : piece));

  // -- drawing -------------------------------------------------------------------------------------------------------
  // A node for each token: those at the front that say what they said stay as they are, since a text goes on at its end.
  const nodes = (parent: HTMLElement, make: (token: Token, at: number) => HTMLElement) => {
    let known: string[] = [];
    return (tokens: Token[], behind: HTMLElement[] = []) => {
      const said = tokens.map((token) => JSON.stringify(token)), first = said.findIndex((one, at) => one !== known[at]), kept = first < 0 ? said.length : first;
      while (parent.childNodes.length > kept) parent.lastChild!.remove();
      parent.append(...tokens.slice(kept).map((token, k) => make(token, kept + k)), ...behind);
      known = said;
      return ([...parent.children] as HTMLElement[]).slice(0, tokens.length);
    };
  };
  const drawChips = nodes(copy, ([shown, how, , , told, sure], at) => h("span", { class: `ms-tok ${how}${sure === null ? "" : " leaf"}`, title: told, "data-at": at,
    style: sure !== null && `--doubt:${Math.round(100 * (1 - sure))}%` }, marked(shown)));
  const drawCosts = nodes(bars, ([, , mask, us, told], at) => h("span", { "data-at": at },
    h("i", { class: `mask-${MASKS.indexOf(mask as any)}`, title: told, style: `height:${Math.round(100 * height(us))}%` })));
  let chips: HTMLElement[] = [], columns: HTMLElement[] = [], written = "";
  function drawText() {
    const { tokens, parts, refused } = text();
    chips = drawChips(tokens, [...(refused ? [h("span", { class: "ms-tok refused", title: "the grammar refuses it" }, marked(refused))] : []), h("span", {}, "\u200b")]);
    columns = drawCosts(tokens);
    const count = counted(parts);
    modes.replaceChildren(...parts.map(([name, hue, length]) => h("span", { class: `ms-hue-${hue}`, title: name, style: `flex:${length} 1 0` }, h("span", {}, name))), position);
    modes.setAttribute("aria-valuemax", String(count));
    const { us, counts } = costs(tokens);
    put(sum, counts.some(Boolean) ? `in all ${counts.map((many, at) => `${number(many)} ${MASKS[at]}`).join(", ")}, in ${micros(us)}` : "");
    const now = tokens.map(([piece]) => piece).join("") + refused;
    if (now !== written && timer === 0 && box.value !== now) box.value = now;
    written = now;
    drawHere();
  }
  const follow = measured(() => {
    const at = chips[Math.min(here().place, chips.length - 1)];
    return at ? [at.offsetTop, at.offsetTop + at.offsetHeight, paper.scrollTop, paper.clientHeight] : null;
  }, ((seen: [number, number, number, number] | null) => {
    if (!seen) return;
    const [from, to, scrolled, tall] = seen;
    if (from < scrolled || to > scrolled + tall) paper.scrollTop = whole(Math.max(0, to - tall + 8));
  }) as () => void);
  const whole = (top: number) => LINE * Math.ceil((top - 4) / LINE); // no line is cut
  paper.addEventListener("scrollend", () => { const top = LINE * Math.round(paper.scrollTop / LINE); if (Math.abs(top - paper.scrollTop) > 1) paper.scrollTop = top; });
  // A row that is written, or whose tokens are listed below the others; each of them is written by a click, too.
  let listed: Listed | null = null;
  function choose({ text: written, token, group, chip }: Row) {
    if (token != null) return send({ kind: "token", id: token });
    if (!group) return send({ kind: "text", text: written });
    const mine: Listed = { where: here().where, group, chip: chip! };
    listed = listed?.group === group && listed.chip === chip ? null : mine;
    if (listed) view.ask({ type: "tokens", group, chip }, (reply: Listed) => { Object.assign(mine, reply); drawHere(); });
    drawHere();
  }
  const muted = (told: string) => h("span", { class: "ms-muted" }, told);
  const tokensOf = ({ tokens = [], more = 0, error }: Listed) => h("div", { class: "ms-chip-tokens", "data-testid": "chip-tokens" }, error && muted(error),
    tokens.map(({ id, glyph }) => h("button", { type: "button", "data-token": id, title: `write token ${id}`, onclick: () => send({ kind: "token", id }) }, h("code", {}, glyph || "∅"))),
    more > 0 && muted(`and ${number(more)} more tokens`));
  let numbered: unknown = null; // where it was asked how many parses there are
  function drawHere() {
    const { place: at, next: rows, wanted: refused, end: told, more, died, where: spot, whole, parses: many } = here(), { tokens } = text();
    if (whole && many == null && numbered !== model.get("here") && !view.offline()) {
      numbered = model.get("here");
      view.ask({ type: "parses" }, () => {});
    }
    parses.hidden = !many;
    parses.disabled = !view.root.querySelector("[data-testid=pane-tree]");
    put(parses, `ambiguous: ${many}`);
    if (listed?.where !== spot) listed = null;
    const open = (row: Row) => listed?.group === row.group && listed?.chip === row.chip;
    chips.forEach((one, k) => { one.classList.toggle("later", k > at); one.classList.toggle("now", k === at); });
    columns.forEach((one, k) => one.classList.toggle("now", k === at));
    position.style.left = `${Math.min(100, (100 * at) / counted(text().parts))}%`;
    modes.setAttribute("aria-valuenow", String(at));
    const share = (value: number) => h("span", { class: "ms-share" }, percent(value));
    const gauge = ({ before, after }: Row) => before == null ? [] : [share(before), ...(after == null ? [] : [muted("→"), share(after),
      h("i", { class: "ms-gauge" }, h("i", { style: `width:${100 * after}%` }))])];
    morph(next, ...rows.map((row) => h("button", { type: "button", class: `ms-may${row.taken ? " taken" : ""}`,
      disabled: view.offline() || !(row.text || row.group || row.token != null), "aria-expanded": row.group ? String(open(row)) : null,
      title: row.taken ? "the model took it" : row.group ? "show its tokens" : "write this", onclick: () => choose(row) }, h("code", {}, row.shown), gauge(row))),
      (more || !rows.length) && muted(more || "nothing: the text has ended"), listed && tokensOf(listed));
    next.classList.toggle("ms-chips", rows[0]?.before == null);
    branch.disabled = view.offline();
    wanted.replaceChildren(...refused.map((row) => h("div", { class: "ms-wanted" }, h("code", {}, row.shown), share(row.before ?? 0), h("span", { class: "ms-cross" }, "✗"),
      h("span", { class: "ms-keyword" }, code(row.keyword || row.why)))), ...(refused.length ? [] : [muted(here().note || told_(tokens, at))]));
    const [first] = refused;
    why.hidden = branch.hidden = !first;
    if (first) [why.title, branch.title] = [`why the grammar refuses ${first.shown}`, `let the model go on with ${first.shown}, free of the grammar; Ctrl+Z brings this text back`];
    reason.replaceChildren(...(died || first ? [code(died || `${first!.shown} is refused: ${first!.why}`)] : []));
    reason.classList.toggle("ms-died", Boolean(died));
    if (died || !first || had) reason.hidden = !died;
    had = Boolean(died);
    put(end, told);
    put(where, here().where);
    follow();
  }
  let had = false;
  const told_ = (tokens: Token[], at: number) => {
    const how = tokens[Math.min(at, tokens.length - 1)]?.[1] ?? "typed";
    return how === "refused" ? "the grammar refuses what is marked" : how === "typed" ? (writes ? "the model reads the prompt" : "no model wrote here yet") : at < tokens.length || here().next[0]?.before != null ? "nothing that the grammar refuses" : writes ? "the model writes" : "the run ends here";
  };

  // What Python last said of a field.  What a person has typed since stays until Python says something else of it, and also
  // then while it is being typed.
  const settled = new Map<any, string>();
  function settle(node: any, value: string) {
    const typed = node.value !== settled.get(node);
    if (value !== settled.get(node) && node.value !== value && !(typed && document.activeElement === node)) { node.value = value; node.scrollTop = node.scrollHeight; } // what is asked stands last
    settled.set(node, value);
  }
  let plays = 0, writes = false;
  function drawBar() {
    const now = bar();
    offer(gallery, [...(now.entry ? [] : [["", now.title || "your source"]]), ...(now.gallery || []), ...(now.recent || [])], now.entry || "");
    offer(tokenizer, (now.tokenizers || []).map((name: string) => [name, name]), now.tokenizer);
    offer(speaker, now.models || [], now.model);
    toolbox.hidden = !now.call_format;
    tools.parentElement!.hidden = !now.tool_choices;
    offer(tools, now.tool_choices || [], now.tool_choice);
    put(format, `${now.tool_choices ? "" : "calls "}in the format of ${now.call_format}`);
    for (const [node, value] of [[prompt, now.prompt], [seed, now.seed], [warmth, now.temperature], [limit, now.limit], [manner, now.chat === false ? "raw" : "chat"]] as const)
      settle(node, String(value ?? ""));
    if (document.activeElement !== constrained) constrained.checked = now.grammar !== false;
    const goes = view.offline() ? "" : now.busy || "", running = Boolean(goes);
    for (const node of [paste, gallery]) node.disabled = view.offline();
    for (const node of [run, step, share, tokenizer, speaker, reads, tools]) node.disabled = view.offline() || running;
    stop.disabled = !running;
    said.title = now.speaker || "";
    if (goes !== doing) {
      [doing, since] = [goes, Date.now()];
      clearInterval(clock);
      clock = goes ? window.setInterval(clocked, 1000) : 0;
    }
    if (goes) clocked(); else put(said, now.speaker || "");
    said.classList.toggle("ms-waits", running);
    gallery.title = gallery.selectedOptions[0]?.textContent || "";
    tell();
    const end = now.outcome;
    put(ended, end ? `${end.kind === "complete" ? "✓ " : ""}${end.told}` : "");
    ended.dataset.kind = end?.kind || "";
    ended.title = end?.told || "";
    tell_.hidden = !now.untold;
    put(tell_, `tell it the ${now.untold || "schema"}`);
    tell_.disabled = view.offline() || running;
    more.hidden = !end?.goes_on;
    more.disabled = view.offline() || running;
    python.disabled = view.offline() || !end;
    python.title = end ? "the Python that makes this run" : "when a run has ended: the Python that makes it";
    manner.title = "the prompt as a chat's turn, in the model's template, or as the beginning of a text";
    view.root.classList.toggle("ms-running", running);
    if (writes !== Boolean(now.running)) { writes = !writes; drawHere(); } // what is said of the end depends on it
    if (now.plays > plays && !view.offline()) { plays = now.plays; start(now.rests); }
  }

  // -- what a person does in it --------------------------------------------------------------------------------------
  let timer = 0;
  const type = () => { timer = 0; view.root.classList.remove("ms-typing"); model.send({ kind: "prefix", text: box.value }); };
  const flush = () => { if (timer) { clearTimeout(timer); type(); } };
  box.addEventListener("input", () => {
    hold();
    view.root.classList.add("ms-typing");
    clearTimeout(timer);
    timer = window.setTimeout(type, 120);
  });
  const takeBack = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(event.key.toLowerCase())) return;
    event.preventDefault(); // the browser knows nothing of edits that were not typed
    event.stopPropagation();
    flush();
    send({ kind: event.key.toLowerCase() === "y" || event.shiftKey ? "redo" : "undo" });
  };
  box.addEventListener("keydown", takeBack);
  box.addEventListener("keydown", hold);
  box.addEventListener("click", () => {
    hold();
    if (box.selectionStart === box.selectionEnd) goto(tokenAt(text().tokens, box.selectionStart));
  });
  box.addEventListener("pointermove", (event: PointerEvent) => {
    const under = document.elementsFromPoint(event.clientX, event.clientY).find((node) => node instanceof HTMLElement && copy.contains(node) && (node as HTMLElement).closest("[data-at]"));
    box.title = (under?.closest("[data-at]") as HTMLElement | null)?.title || "";
  });
  const scrub = (track: HTMLElement) => (event: PointerEvent) => {
    if (event.type === "pointermove" && !(event.buttons & 1)) return;
    hold();
    const { left, width } = track.getBoundingClientRect();
    goto(placeAt(track === modes ? counted(text().parts) : text().tokens.length, (event.clientX - left) / width));
  };
  for (const track of [modes, bars]) for (const kind of ["pointerdown", "pointermove"]) track.addEventListener(kind, scrub(track) as EventListener);
  view.listen(view.root, "click", (event: Event) => { if ((event.target as HTMLElement).closest("[data-testid=ablate-run]")) hold(); });
  // A list has no edits of its own, so Ctrl+Z is the screen's there.  An open dialog has its own keys: Escape closes it.
  view.listen(view.root, "keydown", (event: any) => { if (!event.target.closest(`:is(${FIELD}):not(select), dialog`)) takeBack(event); });
  view.keys(view.root, ({ target, shiftKey }: any) => {
    const field = target.closest(FIELD), by = shiftKey ? "byte" : "token", move = (to: any) => () => { hold(); model.send({ kind: "move", ...to }); };
    if (target.closest("dialog")) return {};
    return {
      ...(field || !sheet.hidden ? { Escape: () => { sheet.hidden = true; view.root.focus({ preventScroll: true }); } } : {}),
      ...(field ? {} : { ArrowLeft: move({ to: "back", by }), ArrowRight: move({ to: "forward", by }), Home: move({ to: "first" }), End: move({ to: "last" }),
        " ": () => (target.matches("button, input") ? false : playing ? hold() : start()) }),
    };
  });
  view.on("msg:custom", (sent: any) => {
    if (sent.save) show(keep(sent.save, sent.text, "text/html"));
    if (sent.copy) clip(sent.copy, sent.said, show);
    if (sent.reads) { put(read, sent.reads); reading.showModal(); }
  });
  const lost = () => {
    gone.hidden = !host?.gone;
    if (host?.gone) { hold(); put(busy, ""); } // nobody is waited for
  };
  host?.on("gone", lost);
  host?.on("waiting", () => put(busy, "waiting for the kernel …"));
  host?.on("answered", () => put(busy, ""));
  host?.on("refused", () => put(busy, host.gone ? "the kernel is gone" : "this needs Python, which a saved page has not"));
  host?.on("placed", () => { if (!host.pending) put(busy, ""); });
  view.draws(["offline"], () => { box.readOnly = view.offline(); lost(); drawBar(); drawHere(); });
  view.on("change:here", soon(drawHere));
  view.draws(["text"], drawText);
  view.draws(["bar"], drawBar);
  view.defer(() => { hold(); clearInterval(clock); });
});
