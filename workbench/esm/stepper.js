// The stepper: the text read so far, its tokens on a ribbon, buttons and keys to step, and the tokens allowed next.
//
// Trait `state` (Python to browser), all plain data:
//   box, client, seq      the text for the box, and whose edit it answers
//   ribbon                [{index, text, id, part}] with part "read", "half" or "undone"; before / after: steps not shown
//   rest                  what the grammar refused of the text typed, or ""
//   status                {kind: "ok" | "dead" | "end" | "stopped", text}
//   place                 one line: byte, step, how many tokens are allowed
//   next                  the bytes possible next, in words
//   candidates            [{id, text, stop}]; more: how many are not listed
//   selected              {id, text, ok, why} or null: the token chosen in the token table
//   running               whether a generation is stepping the session
// Messages (browser to Python): {kind: "prefix", text, client, seq}, {kind: "move", to, by}, {kind: "goto", index},
// {kind: "token", id}, {kind: "stop"}.
//
// Keys, anywhere in the explorer but in a text field: left / right step by token, with shift by byte; Home / End; "/"
// searches the tokens; Escape leaves a text field.  In the prefix box the same with alt held.

const WAIT_MS = 120;

function element(tag, className, parent, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
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

  el.replaceChildren();
  const panel = element("div", "ms-view mx-stepper", el);
  const head = element("div", "ms-bar", panel);
  element("span", "ms-title", head, "Text");
  const place = element("span", "ms-muted", head);
  place.dataset.testid = "place";
  element("span", "ms-grow", head);
  const buttons = element("span", "ms-group", head);
  const body = element("div", "mx-body", panel);

  const box = element("textarea", "mx-text mx-prefix", body);
  Object.assign(box, { spellcheck: false, rows: 1, autocapitalize: "off", autocomplete: "off" });
  box.placeholder = "type a text, or click a token below";
  box.setAttribute("aria-label", "text read so far");
  box.dataset.testid = "prefix";
  const ribbon = element("div", "mx-ribbon", body);
  ribbon.setAttribute("role", "list");
  ribbon.setAttribute("aria-label", "tokens read");
  ribbon.dataset.testid = "ribbon";
  const status = element("div", "mx-message", body);
  status.setAttribute("role", "status");
  status.dataset.testid = "prefix-status";
  const nextLine = element("div", "mx-next", body);
  const chips = element("div", "mx-chips", body);
  chips.setAttribute("aria-label", "allowed tokens");
  chips.dataset.testid = "candidates";
  const chosen = element("div", "mx-chosen", body);
  chosen.dataset.testid = "chosen";

  function button(label, title, testid, message, className) {
    const made = element("button", className || "", buttons, label);
    made.type = "button";
    made.title = title;
    made.setAttribute("aria-label", title);
    made.dataset.testid = testid;
    made.addEventListener("click", () => model.send(message));
    return made;
  }
  const controls = {
    first: button("⇤", "to the beginning (Home)", "first", { kind: "move", to: "first" }),
    backToken: button("◀ token", "back one token (←)", "back-token", { kind: "move", to: "back", by: "token" }),
    backByte: button("◁ byte", "back one byte (shift ←)", "back-byte", { kind: "move", to: "back", by: "byte" }),
    nextByte: button("byte ▷", "on one byte (shift →)", "forward-byte", { kind: "move", to: "forward", by: "byte" }),
    nextToken: button("token ▶", "on one token (→)", "forward-token", { kind: "move", to: "forward", by: "token" }),
    last: button("⇥", "to the end (End)", "last", { kind: "move", to: "last" }),
  };
  const stop = button("■ stop", "stop the generation", "stop", { kind: "stop" }, "mx-stop");

  function fit() {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 160)}px`;
  }

  function typed() {
    seq += 1;
    fit();
    clearTimeout(timer);
    timer = setTimeout(send, WAIT_MS);
  }

  function send() {
    timer = null;
    model.send({ kind: "prefix", text: box.value, client, seq });
  }

  function drawRibbon(state) {
    const pieces = [];
    if (state.before) pieces.push(element("span", "ms-muted", null, `… ${state.before} before`));
    for (const step of state.ribbon) {
      const piece = element("button", `mx-step mx-${step.part}`, null, step.text);
      piece.type = "button";
      piece.setAttribute("role", "listitem");
      piece.title = `step ${step.index}: ${step.id === null ? "bytes" : `token ${step.id}`}`;
      piece.addEventListener("click", () => model.send({ kind: "goto", index: step.index }));
      pieces.push(piece);
    }
    if (state.after) pieces.push(element("span", "ms-muted", null, `${state.after} more …`));
    if (state.rest) {
      const rest = element("span", "mx-step mx-refused", null, state.rest);
      rest.title = "refused by the grammar";
      pieces.push(rest);
    }
    ribbon.replaceChildren(...pieces);
    ribbon.hidden = pieces.length === 0;
  }

  function drawCandidates(state) {
    const pieces = state.candidates.map((candidate) => {
      const piece = element("button", candidate.stop ? "mx-chip mx-end" : "mx-chip", null, candidate.text);
      piece.type = "button";
      piece.title = `token ${candidate.id}`;
      piece.dataset.token = candidate.id;
      piece.addEventListener("click", () => model.send({ kind: "token", id: candidate.id }));
      return piece;
    });
    if (state.more) pieces.push(element("span", "ms-muted", null, `and ${state.more} more in the table`));
    chips.replaceChildren(...pieces);
  }

  function drawChosen(state) {
    chosen.replaceChildren();
    chosen.hidden = !state.selected;
    if (!state.selected) return;
    element("span", "ms-muted", chosen, `token ${state.selected.id}`);
    element("code", "ms-mono", chosen, state.selected.text);
    element("span", state.selected.ok ? "ms-muted" : "mx-why", chosen, state.selected.why);
    if (state.selected.ok) {
      const take = element("button", "", chosen, "take it");
      take.type = "button";
      take.dataset.testid = "take";
      take.addEventListener("click", () => model.send({ kind: "token", id: state.selected.id }));
    }
  }

  function update() {
    const state = model.get("state");
    if (state.client === client && state.seq < seq) return; // an answer to an older edit
    if (timer === null && box.value !== state.box) box.value = state.box;
    fit();
    place.textContent = state.place;
    say(status, state.status.text);
    status.dataset.kind = state.status.kind;
    status.hidden = !state.status.text;
    nextLine.hidden = state.status.kind === "dead" || state.status.kind === "stopped"; // the message says it already
    nextLine.replaceChildren();
    element("span", "ms-muted", nextLine, "next ");
    element("span", "ms-mono", nextLine, state.next);
    drawRibbon(state);
    drawCandidates(state);
    drawChosen(state);
    const [back, forward] = [state.can_back, state.can_forward];
    for (const name of ["first", "backToken", "backByte"]) controls[name].disabled = !back || state.running;
    for (const name of ["nextByte", "nextToken", "last"]) controls[name].disabled = !forward || state.running;
    stop.hidden = !state.running;
    panel.classList.toggle("mx-running", state.running);
    box.readOnly = state.running;
  }

  function move(event) {
    const by = event.shiftKey ? "byte" : "token";
    const moves = {
      ArrowLeft: { to: "back", by },
      ArrowRight: { to: "forward", by },
      Home: { to: "first" },
      End: { to: "last" },
    };
    return moves[event.key];
  }

  function pressed(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || model.get("state").running) return;
    const field = event.target.closest("input, textarea, select, [contenteditable=true]");
    if (field && event.key === "Escape") {
      field.blur();
      root.focus({ preventScroll: true });
      return;
    }
    if (field && !(field === box && event.altKey)) return;
    if (!field && event.altKey) return;
    if (event.key === "/" && !field) {
      const search = root.querySelector('[data-testid="token-search"]');
      if (search) {
        event.preventDefault();
        search.focus();
      }
      return;
    }
    const message = move(event);
    if (!message) return;
    event.preventDefault();
    event.stopPropagation();
    model.send({ kind: "move", ...message });
  }

  // The whole explorer listens to the keys; it only exists once this view has been attached.
  let root = panel;
  const attach = requestAnimationFrame(() => {
    root = el.closest(".mx-explorer") || panel;
    root.tabIndex = root.tabIndex < 0 ? 0 : root.tabIndex;
    root.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves its own keys alone in here
    root.addEventListener("keydown", pressed);
    fit();
  });
  box.addEventListener("input", typed);
  model.on("change:state", update);
  update();
  return () => {
    cancelAnimationFrame(attach);
    if (timer !== null) send();
    clearTimeout(timer);
    root.removeEventListener("keydown", pressed);
    model.off("change:state", update);
    panel.remove();
  };
}

export default { render };
