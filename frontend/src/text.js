// The strip: the text read so far, its tokens on a ribbon, buttons to step, one line that says how it stands, and the
// tokens allowed next.  Its height does not change while one steps.
//
// Traits: `state`, what is to be seen at one place:
//   box                   the text for the box
//   read, half            how many steps are read; whether the next one is read in part
//   modes                 [[name, hue, length]]: in which mode the steps were read, from the first one on
//   rest                  what the grammar refused of the text typed, or ""
//   status                {kind: "ok" | "dead" | "end" | "stopped", text}
//   place                 one line: byte, step, how many tokens are allowed
//   vocabulary            whose tokens these are
//   next                  the bytes possible next, in words
//   candidates            [{id, text, stop}]; more: how many are not listed
//   can_back, can_forward whether there is anything to go to
//   can_undo, can_redo    whether an edit of the text can be taken back, or done again
//   kept                  [{text, title}]: continuations that edits dropped, the newest first
// `ribbon` {before, steps: [{text, id}], after}: the steps around the place, and how many are not shown on either side;
// `answer` {client, seq}: whose edit of the box was read last; `running`: whether a generation steps the text;
// `chosen` {id, text, ok, why} or null: the token chosen elsewhere.
// Messages: {kind: "prefix", text, client, seq}, {kind: "move", to, by}, {kind: "goto", index}, {kind: "token", id},
// {kind: "undo"}, {kind: "redo"}, {kind: "restore", number}, {kind: "stop"}.
// Undo is the session's: the browser's own knows nothing of tokens that were clicked and places that were gone to.
// Keys but those of undo belong to the whole desk: dock.js.
import { button, channel, code, fill, h, measured, defineView, number, put, soon } from "./common.js";
import { hints } from "./hints.js";

const WAIT_MS = 120;
const GLYPHS = /⟨0x[0-9A-F]+⟩|./gsu;
const KEPT = 3; // continuations that have a button of their own

export default defineView("text", "text-view", ({ view, model, host }) => {
  const client = Math.random().toString(36).slice(2);
  let seq = 0, timer = null;
  const python = channel(model, view);
  const send = (message) => model.send(message);
  const leads = new Map(); // where the buttons that step lead
  const step = (label, title, testid, message) => {
    const made = button(label, title, testid, () => send(message));
    leads.set(made, message);
    return made;
  };

  const place = h("span", { class: "ms-muted", "data-testid": "place" });
  const vocabulary = h("span", { class: "ms-muted mx-vocabulary", "data-testid": "vocabulary" });
  const controls = {
    first: step("⇤", "to the beginning (Home)", "first", { kind: "move", to: "first" }),
    backToken: step("◀ token", "back one token (←)", "back-token", { kind: "move", to: "back", by: "token" }),
    backByte: step("◁ byte", "back one byte (shift ←)", "back-byte", { kind: "move", to: "back", by: "byte" }),
    nextByte: step("byte ▷", "on one byte (shift →)", "forward-byte", { kind: "move", to: "forward", by: "byte" }),
    nextToken: step("token ▶", "on one token (→)", "forward-token", { kind: "move", to: "forward", by: "token" }),
    last: step("⇥", "to the end (End)", "last", { kind: "move", to: "last" }),
  };
  const change = (label, title, kind) => button(label, title, kind, () => edit({ kind }));
  const edits = { undo: change("↶", "take back the last edit of the text (ctrl Z)", "undo"), redo: change("↷", "do it again (ctrl shift Z)", "redo") };
  const stop = h("button", { type: "button", class: "mx-stop", title: "stop the generation", "data-testid": "stop", onclick: () => send({ kind: "stop" }) }, "■ stop");
  const box = h("textarea", { class: "mx-text mx-prefix", spellcheck: "false", rows: 3, autocapitalize: "off", autocomplete: "off",
    placeholder: "type a text, or click a token below", "aria-label": "text read so far", "data-testid": "prefix" });
  const ribbon = h("div", { class: "mx-ribbon", role: "list", "aria-label": "tokens read", "data-testid": "ribbon" });
  const status = h("div", { class: "mx-status", role: "status", "data-testid": "prefix-status" });
  const kept = h("div", { class: "mx-kept", role: "status", "data-testid": "kept" });
  const chosen = h("div", { class: "mx-chosen", "data-testid": "chosen" });
  const next = h("span", { class: "mx-next", "data-testid": "next-bytes" });
  const others = h("span", { class: "ms-muted mx-others", title: "allowed tokens that have no button here: the table has all" });
  const chips = h("div", { class: "mx-chips", "aria-label": "allowed tokens", "data-testid": "candidates" });
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-group" }, ...Object.values(controls)), h("span", { class: "ms-group" }, edits.undo, edits.redo), stop, place, vocabulary),
    h("div", { class: "mx-lines" }, box, ribbon),
    h("div", { class: "mx-line" }, status, kept, chosen),
    h("div", { class: "mx-line mx-offer" }, next, chips, others));

  // The box has the height that its style sheet or a person gives it: nothing below moves while one types or steps.
  let written = false; // by a step, not by hand: then the end is what one wants to see
  const fit = measured(() => {
    if (written) box.scrollTop = box.scrollHeight;
    written = false;
  });

  function flush() {
    timer = null;
    send({ kind: "prefix", text: box.value, client, seq });
  }
  view.listen(box, "input", () => {
    seq += 1;
    clearTimeout(timer);
    timer = setTimeout(flush, WAIT_MS);
  });

  // What was typed a moment ago is an edit too.
  function edit(message) {
    if (box.readOnly) return;
    if (timer !== null) { clearTimeout(timer); flush(); }
    send(message);
  }
  view.listen(box, "keydown", (event) => {
    const key = event.key.toLowerCase(), command = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (command && key === "z") edit({ kind: event.shiftKey ? "redo" : "undo" });
    else if (command && key === "y" && !event.shiftKey) edit({ kind: "redo" });
    else if (event.altKey && !command && key === "arrowup") { if (!kept.firstChild) return; edit({ kind: "restore", number: 0 }); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // From the browser's menus; heard before the host keeps it from JupyterLab (host.js).
  view.listen(window, "beforeinput", (event) => {
    if (event.target !== box || !["historyUndo", "historyRedo"].includes(event.inputType)) return;
    event.preventDefault();
    edit({ kind: event.inputType === "historyUndo" ? "undo" : "redo" });
  }, true);

  const offered = []; // the buttons of allowed tokens, kept from step to step
  const before = h("span", { class: "ms-muted" }), after = h("span", { class: "ms-muted" });
  const refused = h("span", { class: "mx-step mx-refused", role: "listitem", tabindex: "0" });
  const pieces = new Map(); // the ribbon's buttons by step: a step keeps its button while it is in the ribbon
  function drawRibbon(state) {
    const { before: first, steps, after: later } = model.get("ribbon");
    const modes = (state.modes || []).flatMap(([name, hue, length]) => Array(length).fill([name, hue]));
    for (const index of pieces.keys()) if (index <= first || index > first + steps.length) pieces.delete(index);
    const drawn = steps.map((one, at) => {
      const index = first + at + 1, [mode, hue] = modes[index - 1] || ["", ""];
      if (!pieces.has(index)) pieces.set(index, h("button", { type: "button", role: "listitem", "data-index": index,
        onclick: () => send({ kind: "goto", index }) }));
      const piece = pieces.get(index);
      const part = index <= state.read ? "read" : state.half && index === state.read + 1 ? "half" : "undone";
      const look = `mx-step mx-${part}${mode ? ` mx-mode ms-hue-${hue}` : ""}`;
      const title = `step ${index}: ${one.id === null ? "bytes" : `token ${one.id}`}${mode ? ` · ${mode}` : ""}`;
      if (piece.look !== look) piece.className = piece.look = look;
      if (piece.text !== one.text) piece.textContent = piece.text = one.text;
      if (piece.said !== title) piece.title = piece.said = title;
      return piece;
    });
    put(before, `… ${number(first)} before`);
    put(after, `${number(later)} more …`);
    if (refused.textContent !== (state.rest || "")) {
      hint.hide();
      refused.replaceChildren(...((state.rest || "").match(GLYPHS) || []).map((one, at) => h("span", { class: at ? null : "mx-fatal" }, one)));
    }
    fill(ribbon, [...(first ? [before] : []), ...drawn, ...(later ? [after] : []), ...(state.rest ? [refused] : [])]);
    mark = state.rest ? refused : drawn[state.read + Number(state.half) - first - 1];
    follow();
  }
  // Why it is refused, for the character on which the pointer rests; by the keyboard, for the first.
  const hint = hints(view, (_, answer) => { if (!model.get("offline")) python.ask({ type: "hint" }, (reply) => reply.hint && answer(reply.hint)); });
  const why = (one) => { if (one?.parentElement === refused) hint.rest(one, {}, one.previousSibling ? `${one.textContent} was not reached: the text dies before it` : ""); };
  view.listen(refused, "pointerover", (event) => why(event.target));
  view.listen(refused, "focus", () => why(refused.firstChild));
  for (const event of ["pointerleave", "blur"]) view.listen(refused, event, hint.hide);
  view.listen(refused, "keydown", (event) => {
    if (event.key !== "Escape" || !hint.shown) return;
    hint.hide();
    event.stopPropagation();
  });
  let mark = null; // the piece of the ribbon that stays in sight
  const follow = measured(() => { if (mark) ribbon.scrollTop = Math.max(0, mark.offsetTop + mark.offsetHeight - ribbon.clientHeight); });

  function drawCandidates(state) {
    state.candidates.forEach((candidate, at) => {
      if (at === offered.length) {
        const made = h("button", { type: "button" });
        made.addEventListener("click", () => send({ kind: "token", id: Number(made.dataset.token) }));
        chips.append(made);
        offered.push(made);
      }
      const chip = offered[at];
      put(chip, candidate.text);
      if (chip.dataset.token === String(candidate.id) && chip.className) return;
      chip.className = candidate.stop ? "mx-chip mx-end" : "mx-chip";
      chip.dataset.token = candidate.id;
      chip.title = `token ${candidate.id}`;
    });
    for (const chip of offered.splice(state.candidates.length)) chip.remove();
    more = Number(state.more.replaceAll(",", ""));
    put(others, more ? `+${number(more)} more` : "");
    room();
  }
  // A button that the line has no room for is in the next line, which nobody sees: it counts among the others.
  let more = 0;
  const room = measured(() => offered.map((chip) => chip.offsetTop > offered[0].offsetTop), (below) => {
    offered.forEach((chip, at) => { chip.style.visibility = below[at] ? "hidden" : ""; });
    const none = !others.textContent, rest = more + below.filter(Boolean).length;
    put(others, rest ? `+${number(rest)} more` : "");
    if (none && rest) room();   // now there is less room
  });
  view.sized(view.root, room);

  // A text that went on otherwise is one click away.
  let listed = "";
  function drawKept(state) {
    const list = state.kept || [], said = JSON.stringify(list);
    if (said === listed) return;
    listed = said;
    kept.replaceChildren(...(list.length ? [h("span", { class: "ms-muted" }, "before the edit:"), ...list.slice(0, KEPT).map((one, number) => h("button", {
      type: "button", "data-testid": "restore", onclick: () => edit({ kind: "restore", number }),
      title: `go back to how the text went on before an edit${number ? "" : " (alt ↑ in the text box, o elsewhere)"}:\n…${one.title}`,
    }, `↩ …${one.text}`))] : []));
  }

  function drawChosen() {
    const token = model.get("chosen");
    chosen.replaceChildren();
    if (!token) return;
    chosen.append(h("span", { class: "ms-muted" }, `token ${token.id}`), h("code", { class: "ms-mono" }, token.text));
    if (token.ok) chosen.append(h("button", { type: "button", "data-testid": "take", disabled: Boolean(model.get("offline")), onclick: () => send({ kind: "token", id: token.id }) }, "take it"));
    chosen.append(h("span", { class: token.ok ? "ms-muted mx-reason" : "mx-why mx-reason", title: token.why }, token.why),
      h("button", { type: "button", title: "let go of this token (Esc)", "aria-label": "let go of this token", "data-testid": "release", onclick: () => host.release() }, "×"));
  }

  function buttons() {
    const state = model.get("state"), running = Boolean(model.get("running"));
    const offline = Boolean(model.get("offline"));
    const dead = (name) => running || !model.can(leads.get(controls[name]));
    for (const name of ["first", "backToken", "backByte"]) controls[name].disabled = !state.can_back || dead(name);
    for (const name of ["nextByte", "nextToken", "last"]) controls[name].disabled = !state.can_forward || dead(name);
    edits.undo.disabled = !state.can_undo || running || offline;
    edits.redo.disabled = !state.can_redo || running || offline;
    // Without Python only places that were seen can be gone to, and no text is read.
    for (const [index, piece] of pieces) piece.disabled = !model.can({ kind: "goto", index });
    for (const one of [...offered, ...kept.querySelectorAll("button"), ...chosen.querySelectorAll("[data-testid=take]")]) one.disabled = offline;
    stop.hidden = !running;
    view.root.classList.toggle("mx-running", running);
    box.readOnly = running || offline;
  }

  // The caret goes where the texts differ last, as an editor's undo puts it.
  function rewrite(text) {
    const old = box.value, least = Math.min(old.length, text.length);
    let tail = 0;
    if (!old.startsWith(text) && !text.startsWith(old)) while (tail < least && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
    box.value = text;
    box.setSelectionRange(text.length - tail, text.length - tail);
    written = !tail;
    fit();
  }

  function draw() {
    const state = model.get("state"), answer = model.get("answer") || {};
    if (!state || !state.status || !(model.get("ribbon") || {}).steps) return;
    if (answer.client === client && answer.seq < seq) return; // an answer to an older edit
    if (timer === null && box.value !== state.box) rewrite(state.box);
    put(place, state.place);
    put(vocabulary, `vocabulary ${state.vocabulary}`);
    vocabulary.title = "the tokens that the text is cut into, and of which the mask allows some; a generation takes those of its model";
    status.replaceChildren(code(state.status.text.split("\n")[0] || " "));
    status.title = state.status.text;
    status.dataset.kind = state.status.kind;
    const { kind } = state.status;   // what is expected of a refused text its message says already
    put(next, kind === "stopped" ? "" : kind === "dead" ? "next" : `next ${state.next}`);
    next.title = next.textContent;
    drawRibbon(state);
    drawCandidates(state);
    drawKept(state);
    buttons();
  }

  // `state` and `answer` change together: draw once for both.
  const redraw = soon(draw);
  view.on("change:state", redraw);
  view.on("change:ribbon", redraw);
  view.on("change:answer", redraw);
  view.on("change:running", buttons);
  view.on("change:offline", buttons);
  view.on("change:chosen", drawChosen);
  view.on("change:selected_token", () => { if (model.get("selected_token") == null) chosen.replaceChildren(); });
  view.defer(() => { if (timer !== null) { clearTimeout(timer); flush(); } }); // the last keystrokes are not lost
  draw();
  drawChosen();
});
