// What may come next, by meaning: groups of chips that type themselves, the members of the object that is being written,
// and the refused and uncertain tokens by reason.
// The tokens behind a chip or a row are asked of Python.  Read on: workbench/panels/next.py.
import { code, h, link, many, measured, morph, defineView, number, press, tab as tabOf, table } from "./common.js";

const TABS = [["next", "may come next"], ["members", "object"], ["refused", "refused", "tokens that the mask does not let through, by what refuses them"],
  ["uncertain", "uncertain", "tokens that run over the end of a rule, by what is left for its callers"]];
const STATES = [["done", "written"], ["here", "being written"], ["next", "may come next"], ["later", "may come later"], ["passed", "cannot come any more"]];
const HINTS = {
  keys: "names of members that may come now", values: "what a value may be", tags: "tags that may begin or end here",
  words: "words of the grammar", text: "characters of a text", closings: "what closes something", signs: "separators and other signs",
  "whole tokens": "tokens that the grammar names by id", "white space": "blanks, tabs, line ends", end: "the text may end here",
};
const CALLED = { closings: "closing", signs: "punctuation" };
const COUNTED = "allowed tokens of this meaning: each token is counted in one group, by what it writes after white space";
const NONE_OF_ITS_OWN = "no token begins with it: a separator or a sign comes first, and its tokens are counted there";
const FORCED = "the only text that may follow: the engine can write it without the model (find_jump_forward_string)";

const REST = 0.25; // seconds of the second search, when the first gave up (workbench/panels/next.py)

const muted = (...said) => h("span", { class: "ms-muted" }, ...said);
const num = (...said) => h("span", { class: "ms-num" }, ...said);
const note = (text, props = {}) => h("div", { class: "ms-note", ...props }, text);
const line = (name, chips, props = {}, ...behind) => h("div", { class: "line", ...props }, h("span", { class: "name" }, name), h("span", { class: "chips" }, ...chips), ...behind);
// A long path may be broken behind its signs.
const breakable = (text) => String(text).split(/(?<=[/.,:;_-])/).flatMap((part) => [part, h("wbr")]).slice(0, -1);

export default defineView("next", "next-view", ({ view, model }) => {
  const tabs = h("div", { class: "ms-tabs", role: "tablist", "aria-label": "what to list" });
  const about = h("span", { class: "ms-muted", "data-testid": "next-about" });
  const body = h("div", { class: "ms-scroll", "data-testid": "next-body" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "What next"), tabs, h("span", { class: "ms-grow" }), about), body);
  let open = null;  // the chip or row whose tokens are shown: "group/name"
  let found = null; // those tokens, once Python has told them
  let at = "";      // the chip that has the keyboard
  let drawn = "";
  let asked = null;
  let scrolled = 0; // how far down one has scrolled this tab
  view.listen(body, "scroll", () => { scrolled = body.scrollTop; });
  const back = measured(() => { body.scrollTop = scrolled; });

  function draw() {
    const tab = model.get("tab"), uncertain = model.get("uncertain") || {}, outlook = model.get("outlook") || {};
    const counts = { refused: outlook.size && outlook.size - outlook.allowed, uncertain: uncertain.total };
    morph(tabs, TABS.filter(([name]) => name !== "members" || model.get("json") !== false || tab === name).map(([name, title, told]) =>
      tabOf(`next-tab-${name}`, told, name === tab, () => view.commit("tab", name), title, counts[name] != null && num(number(counts[name])))));
    morph(about, outlook.size ? `${number(outlook.allowed)} of ${many(outlook.size, "token")} allowed` : "");
    if (drawn !== tab) scrolled = 0;
    drawn = tab;
    const kept = body.contains(document.activeElement) ? at : "";
    morph(body, { next: groups, members: objects, refused: refusals, uncertain: callers }[tab]((tab === "next" ? outlook : model.get(tab)) || {}));
    if (scrolled) back();
    const held = (kept && body.querySelector(`[data-at="${CSS.escape(kept)}"]`)) || body.querySelector(".chip");
    if (held) held.tabIndex = 0;
    if (kept) held?.focus({ preventScroll: true });
  }

  // The shortest way to the end of the text: looked for when asked, and from then on at each place.
  let endAsked = false, endAt = null, endFound = null;
  function toTheEnd(state) {
    if (!state.allowed || !state.groups || view.offline()) return null;   // nothing follows a text that has ended
    const said = (...parts) => line("shortest end", parts, { "data-testid": "next-end" });
    if (!endAsked) return said(h("button", { type: "button", "data-testid": "next-end-ask", title: "the fewest bytes after which the text may end", onclick: () => { endAsked = true; draw(); } }, "show it"));
    if (endAt !== state.position) {
      endAt = state.position;
      endFound = null;
      view.ask({ type: "end" }, (reply) => { endFound = reply; draw(); });
    }
    if (!endFound) return said(muted("looking …"));
    const { end, bytes, note } = endFound;
    if (end == null) return said(h("span", { class: "ms-muted", "data-testid": "next-end-note" }, note || "none was found"));
    if (bytes === 0) return said(muted("the text may end here"));
    return said(h("button", { type: "button", class: "chip whole", "data-at": "shortest/0", "data-testid": "next-end-chip", title: "type it", onclick: () => take("shortest", "") }, end), muted(many(bytes, "byte")));
  }

  function groups(state) {
    const listed = state.groups || [], searching = !state.complete && state.groups && state.seconds < REST && !view.offline();
    if (searching && asked !== state) {
      asked = state;
      view.ask({ type: "more" }, () => {});
    }
    return [
      state.note && h("div", { class: "ms-empty" }, state.note),
      (model.get("objects") || []).slice(0, 1).map(headOf),
      state.forced && line("forced", [typed({ name: "", label: state.forced, lead: "", then: "", types: true, tokens: 0, kind: "forced" }, "forced")], { class: "line forced", "data-testid": "next-forced", title: FORCED }),
      state.unforced && line("forced", [h("span", { class: "ms-muted", "data-testid": "next-unforced" }, state.unforced)]),
      listed.length > 0 && line("meaning", [], { class: "line head ms-muted" }, h("span", { class: "ms-num", title: "allowed tokens of each meaning; each token is counted once" }, "tokens")),
      listed.flatMap(({ name, chips, more, tokens: count }) => {
        const shown = chips.find((one) => open === `${name}/${one.name}`);
        return [line(CALLED[name] || name, [...chips.map((one) => typed(one, name)), more ? muted(`and ${number(more)} more`) : null],
          { "data-testid": "next-group", "data-group": name, title: HINTS[name] || "" }, h("span", { class: "ms-num", title: count ? COUNTED : NONE_OF_ITS_OWN }, count ? number(count) : "–")),
          shown && tokens({ type: "tokens", group: name, chip: shown.name }, `tokens that may begin ${shown.label}`)];
      }),
      searching ? note("still searching …", { role: "status" })
        : !state.complete && state.groups && note("the search ran out of time: there may be more than is listed", { class: "ms-note warn" }),
      state.uncounted > 0 && !searching && note(`${many(state.uncounted, "more allowed token")} of no group above`, { "data-testid": "next-uncounted" }),
      toTheEnd(state)].flat();
  }

  function typed(one, group) {
    const place = `${group}/${one.name}`;
    return h("button", { type: "button", class: `chip ${one.kind}${one.types ? "" : " content"}`, tabindex: "-1", "data-at": place, "data-testid": "next-chip", "aria-expanded": String(open === place),
      disabled: view.offline(), // nobody types it, and nobody lists its tokens
      title: one.kind === "forced" ? "" : `${one.types ? "type it" : "show its tokens"} · ${many(one.tokens, "token")} may begin it · shift+Enter lists them`,
      onclick: (event) => (event.shiftKey || !one.types ? expand(place) : take(group, one.name)) },
    h("span", { class: "lead" }, one.lead), h("span", { class: "what" }, one.label), h("span", { class: "then" }, one.then));
  }

  const source = (text, part) => link(view, breakable(text), part, "next-source");
  // The objects that are being written, the innermost first: a line on each, and its members by what has become of them.
  const closes = (one) => h("span", { class: `ms-badge ${one.closes ? "accepted" : "uncertain"}`, "data-testid": "next-closes" },
    one.closes ? "may close now" : `may not close now${/ (is|are) required$/.test(one.blocked) ? "" : `: ${one.blocked}`}`); // those required stand beside
  const headOf = (one) => line("object", [source(one.label, { pointer: one.pointer }), h("span", {}, one.counts), closes(one)], { class: "line object", "data-testid": "next-object" },
    h("button", { type: "button", title: "its members one by one", onclick: () => view.commit("tab", "members") }, "members"));
  const memberOf = (one) => ([text, state, required, pointer, why]) => h("button", { type: "button", class: `chip member ${state}`, tabindex: "-1", "data-at": `member/${one.label}/${text}`,
    "data-testid": "next-member", title: [required ? "required" : "not required", why, "click: show it in the source"].filter(Boolean).join("; "), onclick: () => view.select({ pointer }) },
  text, required && h("b", { class: "star" }, "*"));
  const membersOf = (one) => h("div", { "data-testid": "next-members" },
    line("object", [source(one.label, { pointer: one.pointer }), closes(one),
      h("span", { "data-testid": "next-missing" }, one.missing.length ? `still required: ${one.missing.join(", ")}` : "no more required")], { class: "line object" }),
    STATES.map(([name, said]) => [said, one.members.filter((member) => member[1] === name)]).filter(([, some]) => some.length).map(([said, some]) =>
      line(said, some.map(memberOf(one)), { "data-state": some[0][1] }, num(number(some.length)))),
    note(`* required; members come in ${one.ordered ? "the schema's" : "any"} order; ${one.others ? `others: ${one.others}` : "no other names"}${one.more ? `; ${many(one.more, "more member")} not listed` : ""}`));
  const objects = (state) => (state.objects || []).length ? state.objects.map(membersOf)
    : h("div", { class: "ms-empty" }, (model.get("objects") || []).length ? "looking …" : "No object of a schema is being written here.");

  function take(group, chip) {
    if (!view.offline()) model.send({ kind: "take", group, chip, position: (model.get("outlook") || {}).position });
  }

  function expand(place) {
    if (place.startsWith("forced/")) return;
    open = open === place ? null : place;
    found = null;
    at = place;
    draw();
  }

  // The tokens behind something, asked of Python; each selects itself.
  function tokens(question, title) {
    const place = open;
    if (!found && !view.offline()) {
      found = {};
      view.ask(question, (reply) => { if (open === place) { found = reply; draw(); } });
    }
    const { error, tokens: list, more } = found || {};
    return h("div", { class: "tokens", "data-testid": "next-tokens" }, muted(`${title}: `), view.offline() && "they are listed where Python runs", error && h("span", { class: "warn" }, error),
      (list || []).map((token) => h("button", { type: "button", class: "token", "data-token": token.id, title: `token ${token.id}`, onclick: () => view.select({ token: token.id }) }, token.glyph || "∅")),
      more ? muted(` and ${number(more)} more`) : null, list && !list.length && "none of the vocabulary");
  }

  function refusals(state) {
    const { size, allowed } = model.get("outlook") || {};
    if (!state.rows) return h("div", { class: "ms-empty" }, !view.offline() ? "looking …"
      : `${size == null ? "" : `${number(size - allowed)} of ${many(size, "token")} refused; `}what refuses them is told where Python runs`);
    if (!state.reasoned && asked !== state && !view.offline()) {
      asked = state;
      view.ask({ type: "reasons" }, () => {});
    }
    return [opened(["#tokens", "after reading", "this cannot come", "expected", "reason"], state.rows, (row) => [
      h("td", { class: "ms-num" }, h("i", { class: "bar", style: `width:${(100 * Math.sqrt(row.count / state.total)).toFixed(1)}%` }), number(row.count)),
      h("td", { class: "ms-mono" }, row.read || muted("nothing")),
      h("td", { class: "ms-mono no" }, row.fatal), h("td", { class: "ms-mono yes" }, row.expected), h("td", { class: "by" }, reasons(row))], "refusal"),
    state.more > 0 && note(`and ${many(state.more, "token")} in smaller groups`),
    state.control > 0 && note(`and ${many(state.control, "control token")}, which write no text`, { "data-testid": "next-control" }),
    state.sum && note(state.sum, { "data-testid": "next-sum" }),
    state.unsettled > 0 && note(`${many(state.unsettled, "token")} not followed to the end: out of time`, { class: "ms-note warn" })];
  }

  function reasons({ reasons: known = [], rules = [] }) {
    const where = (one) => one.pointer ? [" ", source(one.pointer, { pointer: one.pointer })] : one.rule && [muted(" in rule "), source(one.rule, { rule: one.rule })];
    return known.length ? known.map((one) => h("div", {}, code(one.label), where(one))) : rules.flatMap((rule) => [source(rule, { rule }), " "]);
  }

  function callers(state) {
    if (!state.rows) return h("div", { class: "ms-empty" }, view.offline() ? "they are listed where Python runs" : "looking …");
    const decided = ([name, verb], k) => [k ? ", " : null, h("span", { class: "ms-mono" }, name), " ",
      h("span", { class: verb === "refuses" ? "no" : "yes", title: verb === "takes some" ? "it takes the rests of some of these tokens" : null }, verb)];
    return [h("div", { class: "ms-empty" }, state.total
      ? "These tokens run over the end of a rule, so the rule alone cannot tell: the rules that called it decide about the rest."
      : "No token runs over the end of its rule here: every one is decided by the rule alone."),
    state.rows.length > 0 && opened(["rule left", "the rest begins with", "decided by", "#taken", "#refused"], state.rows, (row) => [
      h("td", { class: "ms-mono", title: /\{\d*,\d*\}/.test(row.rule) ? "the repetition that a rule counts: a rule of its own for the engine" : null }, row.rule), h("td", { class: "ms-mono" }, row.rest),
      h("td", { class: "decided", "data-testid": "next-decided" }, (row.callers || []).flatMap(decided)),
      h("td", { class: "ms-num yes" }, number(row.taken)), h("td", { class: "ms-num no" }, number(row.refused))], "caller")];
  }

  function opened(heads, rows, cells, name) {
    return table(heads, rows.flatMap((row, k) => {
      const place = `${name}/${k}`;
      return [h("tr", { tabindex: "0", "data-testid": `next-${name}`, "aria-expanded": String(open === place), onclick: () => expand(place) }, ...cells(row)),
        open === place ? h("tr", {}, h("td", { colspan: heads.length }, tokens({ type: name, row: k }, "tokens"))) : null].filter(Boolean);
    }));
  }

  // Arrows walk the chips, up and down by lines; Enter opens a row.
  const walk = (to) => () => {
    const chips = [...body.querySelectorAll(".chip")], here = chips.indexOf(document.activeElement);
    if (here < 0) return false;
    const node = chips[Math.min(chips.length - 1, Math.max(0, to(here, chips)))];
    chips[here].tabIndex = -1;
    node.tabIndex = 0;
    return node.focus();
  };
  const beside = (down) => (here, chips) => {
    const boxes = chips.map((node) => node.getBoundingClientRect()), box = boxes[here], far = (one) => (down ? one.top - box.top : box.top - one.top);
    const others = boxes.filter((one) => (down ? one.top > box.bottom - 2 : one.bottom < box.top + 2));
    others.sort((one, other) => far(one) - far(other) || Math.abs(one.left - box.left) - Math.abs(other.left - box.left));
    return others.length ? boxes.indexOf(others[0]) : here;
  };
  view.listen(body, "focusin", ({ target }) => { at = target.closest(".chip")?.dataset.at ?? at; });
  view.keys(body, (event) => ({
    Enter: press(event),
    ...(event.shiftKey ? {} : { ArrowRight: walk((here) => here + 1), ArrowLeft: walk((here) => here - 1), ArrowDown: walk(beside(true)), ArrowUp: walk(beside(false)), Home: walk(() => 0), End: walk((_, chips) => chips.length) }),
  }));

  view.on("change:outlook", () => { open = found = endAt = null; view.forget(); });
  view.draws(["outlook", "objects", "members", "refused", "uncertain", "tab", "offline"], draw);
});
