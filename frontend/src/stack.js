// The call stack: crumbs from the root to what waits, and a row for each level with what it has read.
// Stacks share what they have in common; the one that is lit can be changed.
// Read on: visualizers/stack.py, workbench/panels/stack.py.
import { chosen, click, dotted, h, many, measured, morph, defineView, number, press, table, turner } from "./common.js";

const BEFORE = 16, AFTER = 26; // characters in front of a dot and behind it: the dot is always in sight
const INDENT = 84; // px of the innermost level: texts begin where one sees them, however deep the stack is

export default defineView("stack", "stack-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const crumbs = h("div", { class: "crumbs", "data-testid": "stack-crumbs" });
  const body = h("tbody", {});
  const scroll = h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "stack-rows" },
    table([["level", "what is read: its place in the source, where that is JSON, or the rule that was called"], ["#began at", "bytes read when the rule was called"],
      ["has read", "what was read in this rule before the next level began"], ["waits at", "the rule, with a dot where it waits"]], body, { "aria-label": "Call stack" }));
  view.root.append(head, crumbs, scroll);
  let drawn = -1;
  let step = 12;   // by how much a level is indented

  const lit = () => {
    const stacks = model.get("stacks") || [];
    return Math.min(Math.max(0, model.get("stack") || 0), Math.max(0, stacks.length - 1));
  };
  const choose = (level) => {
    const before = model.get("selection") || {};
    view.commit("selection", click(before, level, chosen(before, model.get("levels") || [])(level)));
  };
  const turn = (by) => {
    const count = (model.get("stacks") || []).length;
    if (count > 1) view.commit("stack", (lit() + by + count) % count);
  };

  function draw() {
    const about = model.get("about") || {}, levels = model.get("levels") || [], stacks = model.get("stacks") || [];
    const at = lit();
    morph(head, h("span", { class: "ms-title" }, "Call stack"), h("span", { class: "ms-mono" }, `after ${many(about.position ?? 0, "byte")}`), h("span", { class: "ms-grow" }),
      stacks.length > 1 && turner(["stack-back", "stack-on"], ["the stack before", "the next stack"], turn, false, h("span", { class: "ms-muted", "data-testid": "stack-count" },
        `stack ${at + 1} of ${number(stacks.length)}${about.total > stacks.length || !about.exact ? `; ${about.exact ? "" : "more than "}${number(about.total)} in all` : ""}`)));
    const stack = stacks[at] || [], on = new Set(stack), is = chosen(model.get("selection"), levels);
    morph(crumbs, trail(stack.map((place) => levels[place]), is));
    step = Math.min(12, INDENT / Math.max(1, ...levels.map((level) => level.depth)));
    morph(body, levels.map((level, place) => row(level, on.has(place), is(level))));
    if (about.position !== drawn) follow();
    drawn = about.position;
  }
  // The innermost level stays in sight.
  const follow = measured(() => {
    const last = [...body.querySelectorAll("tr.on")].pop();
    if (last) scroll.scrollTop = Math.max(0, last.offsetTop + last.offsetHeight - scroll.clientHeight + 24);
    scroll.scrollLeft = 0;
    crumbs.scrollTop = crumbs.scrollHeight;
  });

  // The names on the way into the source (or rules), each once: what has the place of the level around it is that level,
  // as a person sees it.  The last says what type of value is read there.
  function trail(levels, is) {
    const shown = [];
    // Levels of one place have one name in the line.
    const pressed = (level) => levels.some((one) => is(one) && (one === level || (one.pointer != null && one.pointer === level.pointer)));
    for (const level of levels) {
      const own = level.names ? (level.names.length || shown.length ? names(level) : ["#"]).map((text) => [h("span", { class: "key" }, text)])
        : !level.pointer || level.place ? [name(level)] : [];
      for (const parts of own) shown.push([level, parts]);
    }
    const last = levels[levels.length - 1];
    if (last && last.kind) shown.push([last, [last.kind]]);
    if (!shown.length && last) shown.push([last, name(last)]);
    return shown.flatMap(([level, parts], depth) => [...(depth ? [h("span", { class: "ms-muted" }, level.omitted ? `› ${number(level.omitted)} more ›` : "›")] : []),
      h("button", { type: "button", class: `crumb${level.predicted ? " predicted" : ""}`, "aria-pressed": String(pressed(level)), onclick: () => choose(level),
        title: `${level.pointer ? `${level.pointer}: ` : ""}rule ${level.rule}; ${level.predicted ? "called here, nothing of it has been read" : `began at byte ${number(level.begin)}`}` }, ...parts)]);
  }

  // The names on the way from the place of the level around to that of this one.
  const names = (level) => {
    const around = (level.parent >= 0 && (model.get("levels") || [])[level.parent].names) || [];
    return level.names.slice(around.every((name, k) => name === level.names[k]) ? around.length : 0);
  };

  // What a person wrote comes first: the place in the source by the names that the line above has, or its pointer, or the
  // key of the text around.  The engine's own rules are told where one points at a level that has a place.
  const name = (level) => level.names && level.names.length ? [h("span", { class: "key", title: `${level.pointer}: rule ${level.rule}` }, names(level).join(" › ") || level.names[level.names.length - 1])]
    : level.pointer ? [h("span", { class: "key", title: `rule ${level.rule}` }, level.place || level.pointer.split("/").pop())]
    : [level.label ? h("span", { class: "key" }, `${level.label}: `) : null, h("span", {}, level.name)];

  function row(level, on, selected) {
    const [whole, after] = level.dots[0] || [""];
    // The rule's name is in the first column already; what is near the dot matters.
    const start = whole.startsWith(`${level.name} ::=`) ? whole.slice(level.name.length + 5) : whole;
    const before = start.length > BEFORE && after !== undefined ? `…${start.slice(-BEFORE)}` : start;
    const behind = (after || "").length > AFTER ? `${after.slice(0, AFTER)}…` : after;
    const cell = h("td", { class: "name", style: `padding-left:${10 + level.depth * step}px` },
      level.omitted ? h("span", { class: "ms-muted" }, `+${number(level.omitted)} › `) : null,
      ...name(level),
      level.waits ? h("span", { class: "ms-badge active", title: "a byte can move this on" }, "reads next") : null);
    return h("tr", { class: on ? "on" : "off", "data-testid": "stack-level", "data-rule": level.rule, "data-pointer": level.pointer, tabindex: "0",
      "aria-selected": String(selected), onclick: () => choose(level) },
      cell, h("td", { class: "ms-num" }, number(level.begin)),
      h("td", { class: "read", title: level.text }, level.text || (level.predicted ? h("span", { class: "ms-muted" }, "nothing yet") : "")),
      h("td", { class: "rule", title: `${whole} ${after === undefined ? "" : `• ${after}`}` }, ...dotted([before, behind]), level.dots.length > 1 ? h("span", { class: "ms-muted", title: "other places that this item stands for" }, `  +${level.dots.length - 1}`) : null));
  }

  view.keys(body, (event) => ({ Enter: press(event), " ": press(event) }));
  view.draws(["about", "levels", "stacks", "stack", "selection"], draw);
});
