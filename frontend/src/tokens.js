// The mask of one step and the token sets behind it: tabs by kind, search, and a table that only ever holds the rows in sight.
// Pages of 40 rows are asked of Python; without Python (`offline`) the first rows of each tab travel along.
// Read on: visualizers/live.py (TokenTable), visualizers/tokens.py (kinds and search).
import { channel, h, many, measured, defineView, number, offer, put } from "./common.js";
import { hints } from "./hints.js";

const ROW = 22, PAGE = 40, PATIENCE = 4000;
const MASK = ["all", "allowed", "refused"], SETS = ["accepted", "uncertain", "rejected", "stop"];
const TABS = [...MASK, ...SETS];
const MEANS = {
  all: "the whole vocabulary", allowed: "what the mask lets through, whatever the reason",
  refused: "what the mask does not let through: the rejected, and the uncertain that the callers refuse", accepted: "stays inside its rule, so it may come",
  uncertain: "runs over the end of its rule: the callers decide about the rest", rejected: "dies inside its rule; control tokens write no text", stop: "a stop token, which ends the text; or a token that the grammar names by its id",
};

const rounded = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 }).format;

export default defineView("tokens", "token-table", ({ view, model }) => {
  const python = channel(model, view);
  const offline = () => model.get("offline");
  const tabs = h("div", { class: "ms-tabs", role: "tablist", "aria-label": "kind of token" });
  const ofMask = h("span", { class: "of" }), ofSets = h("span", { class: "of" });
  const search = h("input", { type: "search", placeholder: "token: text or id  ( / )", "aria-label": "search tokens", "data-testid": "token-search", spellcheck: "false", autocomplete: "off" });
  const states = h("select", { "aria-label": "state", "data-testid": "token-state" });
  const groups = h("select", { "aria-label": "meaning", "data-testid": "token-group" });
  const body = h("div", { class: "ms-body", tabindex: "0", role: "grid", "aria-label": "tokens", "data-testid": "token-rows" });
  const spacer = h("div", { class: "ms-spacer", role: "rowgroup" });
  const note = h("div", { class: "ms-note", role: "status", "data-testid": "token-note" });
  body.append(spacer);
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Tokens"), tabs),
    h("div", { class: "ms-heads" }, h("span", { class: "ms-num" }, "id"), search, h("span", {}, "kind"), h("span", { class: "ms-filters" }, "why", groups, states)),
    body, note);

  let pages = new Map();   // page number -> rows
  let asked = new Set();
  let total = 0;
  let rows = new Map();    // row number -> element
  let timer = 0;
  let silent = false;

  // What is in sight of the rows, in pixels: kept, so that a step asks no layout.
  const sight = { top: 0, height: 0 };
  const look = () => { sight.top = body.scrollTop; sight.height = body.clientHeight; };

  // A new question (tab, query, state or step): forget everything, also replies still on their way.
  function restart(keep = false) {
    python.forget();
    pages = new Map();
    asked = new Set();
    silent = false;
    if (!keep && sight.top) body.scrollTop = sight.top = 0;
    if (offline()) {
      const found = (here() || []).filter(matches);
      for (let i = 0; i * PAGE < found.length; i++) pages.set(i, found.slice(i * PAGE, (i + 1) * PAGE));
      total = found.length;
    } else {
      const first = model.get("page") || {};
      const fits = first.tab === model.get("tab") && first.query === model.get("query") && (first.group || "") === (model.get("group") || "") && first.version === model.get("version");
      if (fits) {
        pages.set(0, first.rows);
        total = first.total;
      } else {
        total = total || 1;
        request(0);
      }
    }
    draw(true);
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

  function request(page) {
    if (asked.has(page) || offline()) return;
    asked.add(page);
    python.ask({ type: "page", tab: model.get("tab"), query: model.get("query"), group: model.get("group"), start: page * PAGE, count: PAGE }, (reply) => {
      silent = false;
      if (reply.error) {
        note.textContent = reply.error;
        note.classList.add("warn");
        return;
      }
      pages.set(page, reply.rows);
      total = reply.total;
      draw(true);
    });
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!python.pending) return;
      silent = true;
      tell();
    }, PATIENCE);
  }

  function draw(afresh) {
    spacer.style.height = `${total * ROW}px`;
    const first = Math.max(0, Math.floor(sight.top / ROW) - 2);
    const last = Math.min(total, Math.ceil((sight.top + sight.height) / ROW) + 2);
    for (const [index, node] of rows) if (index < first || index >= last) { node.remove(); rows.delete(index); }
    for (let index = first; index < last; index++) {
      const old = rows.get(index);
      if (old && !afresh) continue;
      const page = pages.get(Math.floor(index / PAGE));
      if (!page) request(Math.floor(index / PAGE));
      const row = page && page[index % PAGE], said = JSON.stringify(row);
      if (old && old.said === said) continue; // most rows of a step are those of the step before
      const node = row && old?.dataset.token ? old : h("div", { class: "ms-row", role: "row", style: `top:${index * ROW}px`, "data-row": index });
      dress(node, row);
      node.said = said;
      rows.set(index, node);
      if (!old) spacer.append(node); else if (old !== node) old.replaceWith(node);
    }
    tell();
  }

  // Makes `node` say `row`.  One that said another row keeps its cells, and those that say the same are not touched.
  function dress(node, row) {
    if (!row) return node.append(h("span", { class: "ms-num ms-muted" }, "…"));
    if (!node.firstChild) node.append(h("span", { class: "ms-num" }), h("span", { class: "glyph" }), h("span", {}, h("span")), h("span", { class: "why" }));
    const [id, glyph, kind, why] = node.children;
    node.className = `ms-row ${row.kind}`;
    node.dataset.testid = "token-row";
    node.dataset.token = row.id;
    node.setAttribute("aria-selected", String(row.id === model.get("selected_token")));
    if (offline()) node.title = row.hex;
    put(id, String(row.id));
    put(glyph, row.glyph || "∅");
    kind.firstChild.className = `ms-badge ${row.kind}`;
    put(kind.firstChild, row.kind);
    reason(why, row);
  }

  function reason(cell, row) {
    if (row.kind === "uncertain") {
      const rest = row.suffix === "" ? "nothing" : row.suffix;
      cell.replaceChildren(h("span", { class: row.allowed ? "yes" : "no" }, row.allowed ? "✓ taken" : "✗ refused"), ` · leaves ${row.rule}, rest `,
        h("span", { class: "rest" }, rest));
      cell.title = `leaves rule ${row.rule} after ${row.escape} bytes; what is left for its callers: ${rest}`;
      return;
    }
    put(cell, { accepted: "stays inside its rule", stop: "the text may end here" }[row.kind] || "cannot come here");
    if (row.kind === "rejected") cell.title = "it dies inside the rule that is being read; a control token writes no text, and comes only where the grammar names it";
    else cell.removeAttribute("title");
  }

  function tell() {
    note.classList.toggle("warn", silent);
    const counts = model.get("counts") || {};
    if (silent) note.textContent = "no answer from Python: only rows already here are shown";
    else if (offline()) {
      const held = here() || [...pages.values()].flat(), all = counts[model.get("tab")] || 0;
      note.textContent = all && !held.length ? `${many(all, "token")}, which are listed where Python runs`
        : `${number(total)} shown` + (held.length < all ? `; the first ${number(held.length)} of ${number(all)} are here, and only these are searched` : "");
    } else note.textContent = model.get("query") ? `${number(total)} match${total === 1 ? "es" : ""}` : many(total, "token");
    note.textContent += ` · mask allows ${number(counts.allowed || 0)} of ${number(counts.all || 0)}`;
    if (["accepted", "uncertain", "rejected"].includes(model.get("tab"))) note.textContent += " · this list is what the rule says, before its callers decide";
  }

  const heads = TABS.map((tab) => [tab, h("button", { type: "button", role: "tab", title: MEANS[tab], "data-testid": `tab-${tab}`, onclick: () => choose(tab) },
    tab, h("span", { class: "ms-num", "data-testid": `count-${tab}` }))]);
  // Two lines: what the mask says, which is about this place, and what the states say before their callers are asked.
  for (const [name, label] of [[MASK, ofMask], [SETS, ofSets]])
    tabs.append(h("div", { class: "line", role: "presentation" }, label, ...heads.filter(([tab]) => name.includes(tab)).map(([, made]) => made)));

  // No count is cut off: where the tabs were once wider than there is room, large counts are rounded.
  let tight = false;
  function count() {
    const counts = model.get("counts") || {};
    tabs.classList.toggle("ms-tight", tight);
    for (const [tab, made] of heads) {
      put(made.lastChild, (tight ? rounded : number)(counts[tab] || 0));
      made.title = `${number(counts[tab] || 0)}: ${MEANS[tab]}`;
    }
  }
  const fit = measured(() => tabs.scrollWidth > tabs.parentElement.clientWidth - 20, (over) => {
    if (!over || tight) return;
    tight = true;
    count();
  });

  function head() {
    const counts = model.get("counts") || {};
    for (const [tab, made] of heads) {
      made.hidden = tab === "stop" && !counts.stop && model.get("tab") !== "stop";
      made.setAttribute("aria-selected", String(tab === model.get("tab")));
    }
    const one = model.get("state") != null;
    put(ofMask, one ? "this state" : "mask");
    ofMask.title = one ? "what this state and its callers let through; the mask is what any of the states lets through" : "allowed and refused tokens together are the vocabulary";
    put(ofSets, one ? "token set" : "token sets");
    ofSets.title = "what an automaton state says of a token before its callers are asked: accepted, uncertain and rejected (and stop) together are the vocabulary";
    count();
    fit();
    // A state appears once for each iteration counter; the filter is by state.
    const list = [...new Map((model.get("states") || []).filter((entry) => entry.state >= 0).map((entry) => [entry.state, entry])).values()];
    offer(states, [["", list.length === 1 ? "1 state" : `${list.length} states`],
      ...list.map((entry) => [entry.state, `${entry.state} · ${entry.dot.length > 60 ? entry.dot.slice(0, 59) + "…" : entry.dot}`])]);
    states.value = model.get("state") ?? "";
    states.hidden = offline() || list.length < 2;
    const names = model.get("groups") || [];
    offer(groups, [["", "group"], ...names.map((name) => [name, name])]);
    groups.value = model.get("group") || "";
    groups.hidden = offline() || !names.length;
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
  view.listen(body, "scroll", () => { hint.hide(); look(); draw(false); });

  // Why, for the row on which the pointer rests or which the arrows have reached.
  const hint = hints(view, ({ id }, answer) => { if (!offline()) python.ask({ type: "hint", id }, (reply) => reply.hint && answer(reply.hint)); });
  const rest = (node) => { if (node?.dataset.token) hint.rest(node, { id: Number(node.dataset.token) }); else hint.hide(); };
  view.listen(body, "pointerover", (event) => rest(event.target.closest(".ms-row")));
  view.listen(body, "pointerleave", hint.hide);
  view.listen(body, "blur", hint.hide);
  view.listen(body, "click", (event) => {
    const node = event.target.closest(".ms-row[data-token]");
    if (node) select(Number(node.dataset.token));
  });

  function select(id) {
    view.commit("selected_token", id === model.get("selected_token") ? null : id);
  }

  function mark() {
    for (const node of rows.values()) if (node.dataset.token) node.setAttribute("aria-selected", String(Number(node.dataset.token) === model.get("selected_token")));
  }

  view.listen(view.root, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && event.target !== search) {
      search.focus();
      search.select();
    } else if (event.key === "Escape" && event.target === search) {
      search.value = "";
      view.commit("query", "");
      body.focus();
    } else if (event.target === search && event.key === "ArrowDown") body.focus();
    else if (event.key === "Escape" && hint.shown) hint.hide();
    else if (event.target === body && event.key === "Enter" && model.get("selected_token") != null) model.send({ kind: "token", id: model.get("selected_token") });
    else if (event.target === body && ["ArrowDown", "ArrowUp"].includes(event.key)) move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.target === search && event.key !== "Enter") { event.stopPropagation(); return; }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function move(by) {
    const current = [...rows].find(([, node]) => node.getAttribute("aria-selected") === "true");
    const index = current ? Math.min(total - 1, Math.max(0, current[0] + by)) : Math.ceil(body.scrollTop / ROW);
    if (index * ROW < body.scrollTop) body.scrollTop = index * ROW;
    if ((index + 1) * ROW > body.scrollTop + body.clientHeight) body.scrollTop = (index + 1) * ROW - body.clientHeight;
    draw(false);
    const node = rows.get(index);
    if (!node || !node.dataset.token) return;
    view.commit("selected_token", Number(node.dataset.token));
    rest(node);
  }

  // Several traits change in one step; answer once.
  let queued = null;
  const soon = (keep) => {
    if (queued === null) queueMicrotask(() => { const kept = queued; queued = null; hint.hide(); head(); restart(kept); });
    queued = keep && queued !== false;
  };
  for (const trait of ["tab", "query", "state", "group"]) view.on(`change:${trait}`, () => soon(false));
  for (const trait of ["version", "page", "counts", "states", "groups", "page_by_tab"]) view.on(`change:${trait}`, () => soon(true));
  view.on("change:selected_token", mark);
  view.sized(body, () => { look(); draw(false); tight = false; count(); fit(); });
  view.defer(() => { clearTimeout(timer); clearTimeout(delay); });
  head();
  restart();
});
