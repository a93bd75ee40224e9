// The mask of one step and the token sets behind it: tabs by kind, search, and a table that only ever holds the rows in sight.
// Pages of 40 rows are asked of Python; without Python (`offline`) the first rows of each tab travel along.
// Read on: visualizers/live_tokens.py (TokenTable), visualizers/tokens.py (kinds and search).
import { h, many, morph, defineView, number, offer, tab as tabOf } from "./common.js";
import { hints } from "./hints.js";

const ROW = 22, PAGE = 40;
const MASK = ["all", "allowed", "refused"], SETS = ["accepted", "uncertain", "rejected", "stop"];
const MEANS = {
  all: "the whole vocabulary", allowed: "what the mask lets through, whatever the reason",
  refused: "what the mask does not let through: the rejected, and the uncertain that the callers refuse", accepted: "stays inside the rule that is being read, so it may come",
  uncertain: "runs over the end of its rule: the rules that called it decide about the rest", rejected: "cannot be read in its rule; control tokens write no text", stop: "a stop token, which ends the text; or a token that the grammar names by its id",
};

export default defineView("tokens", "token-table", ({ view, model }) => {
  const tabs = h("div", { class: "ms-tabs", role: "tablist", "aria-label": "kind of token" });
  const search = h("input", { type: "search", placeholder: "token: text or id  ( / )", "aria-label": "search tokens", "data-testid": "token-search", spellcheck: "false", autocomplete: "off" });
  const states = h("select", { "aria-label": "state", "data-testid": "token-state" });
  const groups = h("select", { "aria-label": "meaning", "data-testid": "token-group" });
  const body = h("div", { class: "ms-body", tabindex: "0", role: "grid", "aria-label": "tokens", "data-testid": "token-rows" });
  const spacer = h("div", { class: "ms-spacer", role: "rowgroup" });
  const note = h("div", { class: "ms-note", role: "status", "data-testid": "token-note" });
  body.append(spacer);
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Tokens"), tabs),
    h("div", { class: "ms-filters" }, search, groups, states),
    body, note);

  const rows = new Map();   // row number -> row
  const asked = new Set();  // first rows of pages
  let total = 0;

  // What is in sight of the rows, in pixels: kept, so that a step asks no layout.
  const sight = { top: 0, height: 0 };
  const look = () => { sight.top = body.scrollTop; sight.height = body.clientHeight; };

  // A new question (tab, query, state or step): forget everything, also replies still on their way.
  function restart(keep = false) {
    view.forget();
    rows.clear();
    asked.clear();
    note.classList.remove("warn");
    if (!keep && sight.top) body.scrollTop = sight.top = 0;
    const first = model.get("page") || {}, found = view.offline() && (here() || []).filter(matches);
    const fits = ["tab", "query", "group", "version"].every((trait) => (first[trait] || "") === (model.get(trait) || ""));
    if (found) return take(0, found, found.length);
    if (fits) return take(0, first.rows, first.total);
    total = total || 1;
    draw();
  }
  function take(start, some, all) {
    some.forEach((row, k) => rows.set(start + k, row));
    total = all;
    draw();
  }

  // Without Python: the rows of the tab that are on this page, or that Python sent last; undefined where there are none.
  function here() {
    const page = model.get("page") || {}, tab = model.get("tab");
    return (model.get("page_by_tab") || {})[tab] || (page.tab === tab && !page.query && !page.group ? page.rows : undefined);
  }

  // The same rule as visualizers/tokens.py: spaces mean ␣, capitals make it exact, a number also finds an id.
  function matches(row) {
    const query = model.get("query") || "";
    if (!query) return true;
    const wanted = query.replaceAll(" ", "␣");
    const text = wanted === wanted.toLowerCase() ? row.glyph.toLowerCase() : row.glyph;
    return text.includes(wanted) || (/^[0-9]{1,11}$/.test(query) && row.id === Number(query));
  }

  function request(start) {
    if (asked.has(start) || view.offline()) return;
    asked.add(start);
    view.ask({ type: "page", tab: model.get("tab"), query: model.get("query"), group: model.get("group"), start, count: PAGE }, (reply) => {
      note.classList.toggle("warn", Boolean(reply.error));
      if (reply.error) note.textContent = reply.error; else take(start, reply.rows, reply.total);
    });
  }

  function draw() {
    spacer.style.height = `${total * ROW}px`;
    const first = Math.max(0, Math.floor(sight.top / ROW) - 2), last = Math.min(total, Math.ceil((sight.top + sight.height) / ROW) + 2);
    morph(spacer, Array.from({ length: Math.max(0, last - first) }, (_, k) => line(first + k)));
    tell();
  }

  function line(index) {
    const row = rows.get(index), place = { role: "row", style: `top:${index * ROW}px`, "data-row": index };
    if (!row) {
      request(index - (index % PAGE));
      return h("div", { class: "ms-row", ...place }, h("span", { class: "ms-num ms-muted" }, "…"));
    }
    const [why, told] = reason(row);
    return h("div", { class: `ms-row ${row.kind}`, ...place, "data-testid": "token-row", "data-token": row.id, "aria-selected": String(row.id === view.token()), title: view.offline() && row.hex,
      onclick: () => view.pick(row.id) },
    h("span", { class: "ms-num" }, row.id), h("span", { class: `glyph ${row.kind}` }, row.glyph || "∅"), h("span", {}, h("span", { class: `ms-badge ${row.kind}` }, row.kind)), h("span", { class: "why", title: told }, why));
  }

  function reason(row) {
    if (row.kind === "accepted") return ["stays inside its rule"];
    if (row.kind === "stop") return ["the text may end here"];
    if (row.kind !== "uncertain") return ["cannot come here", "the rule that is being read refuses one of its bytes; a control token writes no text, and comes only where the grammar names it"];
    const rest = row.suffix === "" ? "nothing" : row.suffix;
    return [[h("span", { class: row.allowed ? "yes" : "no" }, row.allowed ? "✓ taken" : "✗ refused"), ` · leaves ${row.rule}, rest `, h("span", { class: "rest" }, rest)],
      `leaves rule ${row.rule} after ${row.escape} bytes; what is left for its callers: ${rest}`];
  }

  function tell() {
    const counts = model.get("counts") || {};
    if (view.offline()) {
      const held = here() || [...rows.values()], all = counts[model.get("tab")] || 0;
      note.textContent = all && !held.length ? `${many(all, "token")}, which are listed where Python runs`
        : `${number(total)} shown` + (held.length < all ? `; the first ${number(held.length)} of ${number(all)} are here, and only these are searched` : "");
    } else note.textContent = model.get("query") ? `${number(total)} match${total === 1 ? "es" : ""}` : many(total, "token");
    note.textContent += ` · mask allows ${number(counts.allowed || 0)} of ${number(counts.all || 0)}`;
    if (["accepted", "uncertain", "rejected"].includes(model.get("tab"))) note.textContent += " · this list is what the rule says, before its callers decide";
  }

  // Two lines: what the mask says, which is about this place, and what the states say before their callers are asked.
  function head() {
    const counts = model.get("counts") || {}, one = model.get("state") != null, chosen = model.get("tab");
    const tab = (name) => tabOf(`tab-${name}`, `${number(counts[name] || 0)}: ${MEANS[name]}`, name === chosen, () => choose(name), name, h("span", { class: "ms-num", "data-testid": `count-${name}` }, number(counts[name] || 0)));
    const line = (of, title, names) => h("div", { class: "line", role: "presentation" }, h("span", { class: "of", title }, of), names.filter((name) => name !== "stop" || counts.stop || chosen === "stop").map(tab));
    morph(tabs, line(one ? "this state" : "mask", one ? "what this state and its callers let through; the mask is what any of the states lets through" : "allowed and refused tokens together are the vocabulary", MASK),
      line(one ? "token set" : "token sets", "what an automaton state says of a token before its callers are asked: accepted, uncertain and rejected (and stop) together are the vocabulary", SETS));
    // A state appears once for each iteration counter; the filter is by state.
    const list = [...new Map((model.get("states") || []).filter((entry) => entry.state >= 0).map((entry) => [entry.state, entry])).values()];
    offer(states, [["", `any of ${many(list.length, "state")}`],
      ...list.map((entry) => [entry.state, `${entry.state} · ${entry.dot.length > 60 ? entry.dot.slice(0, 59) + "…" : entry.dot}`])]);
    states.value = model.get("state") ?? "";
    states.hidden = view.offline() || list.length < 2;
    const names = model.get("groups") || [];
    offer(groups, [["", "any meaning"], ...names.map((name) => [name, name])]);
    groups.value = model.get("group") || "";
    groups.hidden = view.offline() || !names.length;
    if (document.activeElement !== search) search.value = model.get("query") || "";
  }

  let delay = 0;
  function choose(tab) {
    clearTimeout(delay);
    model.set("query", search.value); // what was typed a moment ago is not lost
    view.commit("tab", tab);
  }
  view.listen(search, "input", () => {
    clearTimeout(delay);
    delay = setTimeout(() => view.commit("query", search.value), 60);
  });
  view.listen(states, "change", () => view.commit("state", states.value === "" ? null : Number(states.value)));
  view.listen(groups, "change", () => view.commit("group", groups.value));
  view.listen(body, "scroll", () => { hint.hide(); look(); draw(); });

  // Why, for the row on which the pointer rests or which the arrows have reached.
  const hint = hints(view, ({ id }, answer) => { if (!view.offline()) view.ask({ type: "hint", id }, (reply) => reply.hint && answer(reply.hint)); });
  const rest = (node) => { if (node?.dataset.token) hint.rest(node, { id: Number(node.dataset.token) }); else hint.hide(); };
  view.listen(body, "pointerover", (event) => rest(event.target.closest(".ms-row")));
  view.listen(body, "pointerleave", hint.hide);
  view.listen(body, "blur", hint.hide);

  const clear = () => {
    search.value = "";
    view.commit("query", "");
    body.focus();
  };
  view.keys(view.root, ({ target }) => ({
    "/": () => { if (target === search) return false; search.focus(); return search.select(); },
    ...(target === search ? { Escape: clear, ArrowDown: () => body.focus() } : { Escape: () => hint.shown && hint.hide() }),
    ...(target === body && { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => view.token() !== null && model.send({ kind: "token", id: view.token() }) }),
  }));

  function move(by) {
    const current = Number(spacer.querySelector('[aria-selected="true"]')?.dataset.row ?? NaN);
    const index = isNaN(current) ? Math.ceil(body.scrollTop / ROW) : Math.min(total - 1, Math.max(0, current + by));
    if (index * ROW < body.scrollTop) body.scrollTop = index * ROW;
    if ((index + 1) * ROW > body.scrollTop + body.clientHeight) body.scrollTop = (index + 1) * ROW - body.clientHeight;
    look();
    if (!rows.has(index)) return draw();
    view.select({ token: rows.get(index).id });
    rest(spacer.querySelector(`[data-row="${index}"]`));
  }

  // Several traits change in one step; answer once.
  let queued = null;
  const soon = (keep) => {
    if (queued === null) queueMicrotask(() => { const kept = queued; queued = null; hint.hide(); head(); restart(kept); });
    queued = keep && queued !== false;
  };
  for (const trait of ["tab", "query", "state", "group"]) view.on(`change:${trait}`, () => soon(false));
  for (const trait of ["version", "page", "counts", "states", "groups", "page_by_tab"]) view.on(`change:${trait}`, () => soon(true));
  view.on("change:selection", draw);
  view.sized(body, () => { look(); draw(); });
  view.defer(() => clearTimeout(delay));
  head();
  restart();
});
