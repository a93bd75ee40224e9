// What may come next, by meaning: groups of chips that type themselves, the members of the object that is being written,
// and the refused and uncertain tokens by reason.
// The tokens behind a chip or a row are asked of Python.  Read on: visualizers/next.py, workbench/panels/next.py.
import { again, channel, code, fill, h, many, measured, defineView, number, put, table } from "./common.js";

const TABS = [["next", "may come next"], ["members", "object"], ["refused", "refused", "tokens that the mask does not let through, by what refuses them"],
  ["uncertain", "uncertain", "tokens that run over the end of a rule, by what is left for its callers"]];
const STATES = [["done", "written"], ["here", "being written"], ["next", "may come next"], ["later", "may come later"], ["passed", "cannot come any more"]];
const HINTS = {
  keys: "names of members that may come now", values: "what a value may be", tags: "tags that may begin or end here",
  words: "words of the grammar", text: "characters of a text", closings: "what closes something", signs: "separators and other signs",
  "whole tokens": "tokens that the grammar names by id", "white space": "blanks, tabs, line ends", end: "the text may end here",
};
const CALLED = { closings: "closing", signs: "punctuation" };

const REST = 0.25; // seconds of the second search, when the first gave up (workbench/panels/next.py)

const COUNTED = "allowed tokens of this meaning: each token is counted in one group, by what it writes after white space";

export default defineView("next", "next-view", ({ view, model }) => {
  const python = channel(model, view);
  const tabs = h("div", { class: "ms-tabs", role: "tablist", "aria-label": "what to list" });
  const about = h("span", { class: "ms-muted", "data-testid": "next-about" });
  const body = h("div", { class: "ms-scroll", "data-testid": "next-body" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "What next"), tabs, h("span", { class: "ms-grow" }), about), body);
  let open = null; // the chip or row whose tokens are shown: "group/number"
  let at = "";     // the chip that has the keyboard
  let drawn = "";
  let asked = null;

  let scrolled = 0; // how far down one has scrolled this tab
  view.listen(body, "scroll", () => { scrolled = body.scrollTop; });
  const back = measured(() => { body.scrollTop = scrolled; });

  const tabOf = again(([name, title, told, count, chosen]) => h("button", {
    type: "button", role: "tab", title: told, "aria-selected": String(chosen), "data-testid": `next-tab-${name}`,
    onclick: () => view.commit("tab", name) }, title, count == null ? null : h("span", { class: "ms-num" }, number(count))));

  function head() {
    const tab = model.get("tab");
    const uncertain = model.get("uncertain") || {}, outlook = model.get("outlook") || {};
    const counts = { refused: outlook.size == null ? undefined : outlook.size - outlook.allowed, uncertain: uncertain.total };
    const listed = TABS.filter(([name]) => name !== "members" || model.get("json") !== false || tab === name);
    fill(tabs, tabOf(listed.map(([name, title, told]) => [name, title, told || "", counts[name], name === tab])));
    put(about, outlook.size ? `${number(outlook.allowed)} of ${many(outlook.size, "token")} allowed` : "");
  }

  function draw() {
    head();
    const tab = model.get("tab");
    const state = tab === "next" ? model.get("outlook") : model.get(tab);
    if (drawn !== tab) scrolled = 0;
    drawn = tab;
    const kept = body.contains(document.activeElement) ? at : "";
    fill(body, tab === "next" ? groups(state || {}) : tab === "members" ? objects(state || {}) : tab === "refused" ? refusals(state || {}) : callers(state || {}));
    if (scrolled) back();
    const first = body.querySelector(".chip");
    const held = kept && body.querySelector(`[data-at="${CSS.escape(kept)}"]`);
    for (const chip of body.querySelectorAll('.chip[tabindex="0"]')) if (chip !== (held || first)) chip.tabIndex = -1;
    if (first) (held || first).tabIndex = 0;
    if (kept) (held || first)?.focus({ preventScroll: true });
  }

  // The shortest way to the end of the text: looked for when asked, and from then on at each place.
  let endAsked = false, endAt = null, endFound = null;
  function toTheEnd(state) {
    if (!state.allowed || !state.groups || model.get("offline")) return [];   // nothing follows a text that has ended
    const line = (...parts) => h("div", { class: "line", "data-testid": "next-end" }, h("span", { class: "name" }, "shortest end"), h("span", { class: "chips" }, ...parts));
    if (!endAsked) return [line(h("button", { type: "button", "data-testid": "next-end-ask", title: "the fewest bytes after which the text may end", onclick: () => { endAsked = true; draw(); } }, "show it"))];
    if (endAt !== state.position) {
      endAt = state.position;
      endFound = null;
      python.ask({ type: "end" }, (reply) => { endFound = reply; draw(); });
    }
    if (!endFound) return [line(h("span", { class: "ms-muted" }, "looking …"))];
    const { end, bytes, note } = endFound;
    return [line(...(end == null ? [h("span", { class: "ms-muted", "data-testid": "next-end-note" }, note || "none was found")] : bytes === 0 ? [h("span", { class: "ms-muted" }, "the text may end here")]
      : [h("button", { type: "button", class: "chip whole", "data-at": "shortest/0", "data-testid": "next-end-chip", title: "type it", onclick: () => take("shortest", 0) }, end), h("span", { class: "ms-muted" }, many(bytes, "byte"))]))];
  }

  const forced = chip("forced", 0);
  function groups(state) {
    const rows = [];
    if (state.note) rows.push(h("div", { class: "ms-empty" }, state.note));
    rows.push(...headOf((model.get("objects") || []).slice(0, 1)));
    if (state.forced) rows.push(h("div", { class: "line forced", "data-testid": "next-forced", title: "what must follow, whatever comes behind it: bytes that the engine can jump over (find_jump_forward_string)" }, h("span", { class: "name" }, "no choice"),
      h("span", { class: "chips" }, dress(forced, { label: state.forced, lead: "", then: "", types: true, tokens: 0, kind: "forced" }))));
    if (state.unforced) rows.push(h("div", { class: "line" }, h("span", { class: "name" }, "no choice"), h("span", { class: "chips ms-muted", "data-testid": "next-unforced" }, state.unforced)));
    if ((state.groups || []).length) rows.push(h("div", { class: "line head ms-muted" }, h("span", { class: "name" }, "meaning"), h("span", { class: "chips" }),
      h("span", { class: "ms-num", title: "allowed tokens of each meaning; each token is counted once" }, "tokens")));
    const lines = meanings(state.groups || []);
    for (const [at, group] of (state.groups || []).entries()) {
      const shown = group.chips.findIndex((_, k) => open === `${group.name}/${k}`);
      rows.push(lines[at]);
      if (shown >= 0) rows.push(tokens({ type: "tokens", group: group.name, chip: shown }, `tokens that may begin ${group.chips[shown].label}`));
    }
    const searching = !state.complete && state.groups && state.seconds < REST && !model.get("offline");
    if (searching) {
      rows.push(h("div", { class: "ms-note", role: "status" }, "still searching …"));
      if (asked !== state) python.ask({ type: "more" }, () => {});
      asked = state;
    } else if (!state.complete && state.groups) rows.push(h("div", { class: "ms-note warn" }, "the search ran out of time: there may be more than is listed"));
    if (state.uncounted && !searching) rows.push(h("div", { class: "ms-note", "data-testid": "next-uncounted" }, `${many(state.uncounted, "more allowed token")} of no group above`));
    rows.push(...toTheEnd(state));
    return rows;
  }

  // One line for each meaning, of chips: the k-th chip of a meaning is one node, whatever it says.
  const chipsOf = again(() => [], (name) => name);
  const lineOf = again((name) => h("div", { class: "line", "data-testid": "next-group", "data-group": name, title: HINTS[name] || "" },
    h("span", { class: "name" }, CALLED[name] || name), h("span", { class: "chips" }),
    h("span", { class: "ms-num", title: COUNTED })), (name) => name);
  function meanings(groups) {
    const names = groups.map((group) => group.name), lines = lineOf(names), drawn = chipsOf(names);
    groups.forEach((group, at) => {
      const [, chips, count] = lines[at].children;
      const more = group.more ? [h("span", { class: "ms-muted" }, `and ${number(group.more)} more`)] : [];
      fill(chips, [...group.chips.map((one, k) => dress(drawn[at][k] ??= chip(group.name, k), one)), ...more]);
      put(count, group.tokens ? number(group.tokens) : "–");
      count.title = group.tokens ? COUNTED : "no token of its own: what leads to it (a separator, a sign) is a token of another meaning here, and it may come behind that";
    });
    return lines;
  }

  function chip(group, k) {
    const node = h("button", { type: "button", tabindex: "-1", "data-at": `${group}/${k}`, "data-testid": "next-chip" },
      h("span", { class: "lead" }), h("span", { class: "what" }), h("span", { class: "then" }));
    node.addEventListener("click", (event) => (event.shiftKey || !node.one.types ? expand(node.dataset.at) : take(group, k)));
    return node;
  }
  function dress(node, one) {
    const look = `chip ${one.kind}${one.types ? "" : " content"}`;
    const told = one.kind === "forced" ? "" : `${one.types ? "type it" : "show its tokens"} · ${many(one.tokens, "token")} may begin it · shift+Enter lists them`;
    const expanded = String(open === node.dataset.at);
    node.one = one;
    node.disabled = Boolean(model.get("offline")); // nobody types it, and nobody lists its tokens
    if (node.className !== look) node.className = look;
    if (node.title !== told) node.title = told;
    if (node.getAttribute("aria-expanded") !== expanded) node.setAttribute("aria-expanded", expanded);
    put(node.children[0], one.lead);
    put(node.children[1], one.label);
    put(node.children[2], one.then);
    return node;
  }

  const link = (text, part) => h("button", { type: "button", class: "link ms-mono", "data-testid": "next-source", title: "show it in the source", onclick: (event) => {
    event.stopPropagation();
    view.select(part);
  } }, ...breakable(text));
  // A long path may be broken behind its signs.
  const breakable = (text) => String(text).split(/(?<=[/.,:;_-])/).flatMap((part) => [part, h("wbr")]).slice(0, -1);

  // The objects that are being written, the innermost first: a line on each, and its members by what has become of them.
  const closes = (one) => h("span", { class: `ms-badge ${one.closes ? "accepted" : "uncertain"}`, "data-testid": "next-closes" },
    one.closes ? "may close now" : `may not close now${/ (is|are) required$/.test(one.blocked) ? "" : `: ${one.blocked}`}`); // those required stand beside
  const headOf = again((one) => h("div", { class: "line object", "data-testid": "next-object" }, h("span", { class: "name" }, "object"),
    h("span", { class: "chips" }, link(one.label, { pointer: one.pointer }), h("span", {}, one.counts), closes(one)),
    h("button", { type: "button", title: "its members one by one", onclick: () => view.commit("tab", "members") }, "members")));
  const membersOf = again((one) => h("div", { "data-testid": "next-members" },
    h("div", { class: "line object" }, h("span", { class: "name" }, "object"), h("span", { class: "chips" }, link(one.label, { pointer: one.pointer }), closes(one),
      h("span", { "data-testid": "next-missing" }, one.missing.length ? `still required: ${one.missing.join(", ")}` : "no more required"))),
    ...STATES.map(([name, said]) => [said, one.members.filter((member) => member[1] === name)]).filter(([, some]) => some.length).map(([said, some]) =>
      h("div", { class: "line", "data-state": some[0][1] }, h("span", { class: "name" }, said), h("span", { class: "chips" },
        ...some.map(([text, state, required, pointer, why]) => h("button", { type: "button", class: `chip member ${state}`, tabindex: "-1", "data-at": `member/${one.label}/${text}`,
          "data-testid": "next-member", title: [required ? "required" : "not required", why, "click: show it in the source"].filter(Boolean).join("; "), onclick: () => view.select({ pointer }) },
        text, required ? h("b", { class: "star" }, "*") : ""))), h("span", { class: "ms-num" }, number(some.length)))),
    h("div", { class: "ms-note" }, `* required; members come in ${one.ordered ? "the schema's" : "any"} order; ${one.others ? `others: ${one.others}` : "no other names"}`
      + (one.more ? `; ${many(one.more, "more member")} not listed` : ""))));
  const objects = (state) => (state.objects || []).length ? membersOf(state.objects)
    : [h("div", { class: "ms-empty" }, (model.get("objects") || []).length ? "looking …" : "No object of a schema is being written here.")];

  function take(group, k) {
    if (model.get("offline")) return;
    model.send({ kind: "take", group, chip: k, position: (model.get("outlook") || {}).position });
  }

  function expand(place) {
    if (place.startsWith("forced/")) return;
    open = open === place ? null : place;
    at = place;
    draw();
  }

  // The tokens behind something, asked of Python; each selects itself.
  function tokens(question, title) {
    const list = h("div", { class: "tokens", "data-testid": "next-tokens" }, h("span", { class: "ms-muted" }, `${title}: `));
    if (model.get("offline")) {
      list.append("they are listed where Python runs");
      return list;
    }
    python.ask(question, (reply) => {
      if (reply.error) { list.append(h("span", { class: "warn" }, reply.error)); return; }
      for (const token of reply.tokens) list.append(h("button", { type: "button", class: "token", "data-token": token.id, title: `token ${token.id}`,
        onclick: () => view.select({ token: token.id }) }, token.glyph || "∅"));
      if (reply.more) list.append(h("span", { class: "ms-muted" }, ` and ${number(reply.more)} more`));
      if (!reply.tokens.length) list.append("none of the vocabulary");
    });
    return list;
  }

  function refusals(state) {
    const { size, allowed } = model.get("outlook") || {};
    if (!state.rows) return [h("div", { class: "ms-empty" }, !model.get("offline") ? "looking …"
      : `${size == null ? "" : `${number(size - allowed)} of ${many(size, "token")} refused; `}what refuses them is told where Python runs`)];
    if (!state.reasoned && asked !== state && !model.get("offline")) {
      asked = state;
      python.ask({ type: "reasons" }, () => {});
    }
    const out = [opened(["#tokens", "after reading", "this cannot come", "expected", "reason"], state.rows, (row, k) => [
      h("td", { class: "ms-num" }, bar(row.count / state.total), number(row.count)),
      h("td", { class: "ms-mono" }, row.read || h("span", { class: "ms-muted" }, "nothing")),
      h("td", { class: "ms-mono no" }, row.fatal), h("td", { class: "ms-mono yes" }, row.expected), reason(row)], "refusal")];
    if (state.more) out.push(h("div", { class: "ms-note" }, `and ${many(state.more, "token")} in smaller groups`));
    if (state.control) out.push(h("div", { class: "ms-note", "data-testid": "next-control" }, `and ${many(state.control, "control token")}, which write no text`));
    if (state.sum) out.push(h("div", { class: "ms-note", "data-testid": "next-sum" }, state.sum));
    if (state.unsettled) out.push(h("div", { class: "ms-note warn" }, `${many(state.unsettled, "token")} not followed to the end: out of time`));
    return out;
  }

  function reason(row) {
    const cell = h("td", { class: "by" });
    const where = (one) => one.pointer ? [" ", link(one.pointer, { pointer: one.pointer })] : one.rule ? [h("span", { class: "ms-muted" }, " in rule "), link(one.rule, { rule: one.rule })] : [];
    for (const one of row.reasons || []) cell.append(h("div", {}, code(one.label), ...where(one)));
    if (!(row.reasons || []).length) for (const rule of row.rules || []) cell.append(link(rule, { rule }), " ");
    return cell;
  }

  function callers(state) {
    if (!state.rows) return [h("div", { class: "ms-empty" }, model.get("offline") ? "they are listed where Python runs" : "looking …")];
    const out = [h("div", { class: "ms-empty" }, state.total
      ? "These tokens run over the end of a rule, so the rule alone cannot tell: the rules that called it decide about the rest."
      : "No token runs over the end of its rule here: every one is decided by the rule alone.")];
    if (state.rows.length) out.push(opened(["rule left", "the rest begins with", "decided by", "#taken", "#refused"], state.rows, (row) => [
      h("td", { class: "ms-mono", title: /\{\d*,\d*\}/.test(row.rule) ? "the repetition that a rule counts: a rule of its own for the engine" : null }, row.rule), h("td", { class: "ms-mono" }, row.rest),
      h("td", { class: "decided", "data-testid": "next-decided" }, ...(row.callers || []).flatMap(([name, verb], k) => [k ? ", " : "", h("span", { class: "ms-mono" }, name), " ",
        h("span", { class: verb === "refuses" ? "no" : "yes", title: verb === "takes some" ? "it takes the rests of some of these tokens" : null }, verb)])), h("td", { class: "ms-num yes" }, number(row.taken)),
      h("td", { class: "ms-num no" }, number(row.refused))], "caller"));
    return out;
  }

  const bar = (share) => h("i", { class: "bar", style: `width:${(100 * Math.sqrt(share)).toFixed(1)}%` });

  function opened(heads, rows, cells, name) {
    const lines = [];
    rows.forEach((row, k) => {
      const place = `${name}/${k}`;
      const line = h("tr", { tabindex: "0", "data-testid": `next-${name}`, "aria-expanded": String(open === place) }, ...cells(row, k));
      line.addEventListener("click", () => expand(place));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target === line) { expand(place); event.preventDefault(); event.stopPropagation(); } });
      lines.push(line);
      if (open === place) lines.push(h("tr", {}, h("td", { colspan: heads.length }, tokens({ type: name, row: k }, "tokens"))));
    });
    return table(heads, lines);
  }

  // Arrows walk the chips (up and down by lines), Enter types one, with shift it lists its tokens.
  function walk(event) {
    const chips = [...body.querySelectorAll(".chip")];
    const here = chips.indexOf(event.target.closest(".chip"));
    if (here < 0) return false;
    let next = here;
    if (event.key === "ArrowRight") next = here + 1;
    else if (event.key === "ArrowLeft") next = here - 1;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = chips.length - 1;
    else {
      const box = chips[here].getBoundingClientRect(), down = event.key === "ArrowDown";
      const off = (node) => node.getBoundingClientRect();
      const lines = chips.map((node, k) => [k, off(node)]).filter(([, b]) => (down ? b.top > box.bottom - 2 : b.bottom < box.top + 2));
      lines.sort(([, a], [, b]) => (down ? a.top - b.top : b.top - a.top) || Math.abs(a.left - box.left) - Math.abs(b.left - box.left));
      next = lines.length ? lines[0][0] : here;
    }
    const node = chips[Math.min(chips.length - 1, Math.max(0, next))];
    chips[here].tabIndex = -1;
    node.tabIndex = 0;
    node.focus();
    return true;
  }
  view.listen(body, "focusin", (event) => { const node = event.target.closest(".chip"); if (node) at = node.dataset.at; });
  view.listen(body, "keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key) && !event.shiftKey) {
      if (!walk(event)) return;
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  view.on("change:outlook", () => { open = null; endAt = null; python.forget(); });
  view.draws(["outlook", "objects", "members", "refused", "uncertain", "tab", "offline"], draw);
});
