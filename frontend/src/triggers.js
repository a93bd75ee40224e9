// Free text with tags: the tags that are open, the diagram of free text and its tags, the trie of what is watched for with its progress, and
// what would fire and what cannot come.  Failure links are drawn where they lead past the start, on demand.
// Read on: visualizers/triggers.py, workbench/panels/triggers.py.
import { h, many, measured, morph, defineView, number, svg, table } from "./common.js";
import { drawInto, quote } from "./drawing";

const DRAWN = 120; // nodes of the trie
const DOES = { tag: "then", stop: "ends free text", exclude: "cannot come" };

export default defineView("triggers", "trigger-view", ({ view, model, el }) => {
  const head = h("div", { class: "ms-bar" });
  const body = h("div", { class: "ms-scroll", tabindex: "0", "data-testid": "trigger-body" });
  view.root.append(head, body);
  const slot = el.closest(".ms-slot");   // there the screen says how far it is read
  let links = false, shown = !(model.get("diagram") || {}).dot;

  const choose = (rule) => view.select({ rule: (model.get("selection") || {}).rule === rule ? null : rule });

  function draw() {
    const about = model.get("about") || {};
    const stack = model.get("stack") || [];
    morph(head, h("span", { class: "ms-title" }, "Free text and tags"),
      h("span", { class: `ms-badge big ${hued()}`, "data-testid": "trigger-sentence", title: about.sentence }, about.sentence || "nothing read"),
      !slot && [h("span", { class: "ms-grow" }), h("span", { class: "ms-mono", "data-testid": "trigger-position" }, `after ${many(about.position ?? 0, "byte")}`)]);
    const drawn = diagram(about, stack), none = () => h("div", { class: "ms-empty" }, "This grammar has no free text in which tags could begin.");
    const parts = about.has_dispatch ? [tags(stack), drawn, ahead(), watched(about)] : drawn ? [drawn, ahead()] : [none()];
    body.replaceChildren(...parts.filter(Boolean));
  }

  const hued = () => `ms-hue-${(model.get("about") || {}).hue || "free"}`; // the colour of the mode at the end of the text

  // Tags that are open, outermost first.
  function tags(stack) {
    if (!stack.length) return null;
    return h("div", { class: "open-tags", "data-testid": "trigger-stack" }, h("span", { class: "ms-muted" }, "inside"),
      stack.flatMap((tag, depth) => [depth > 0 && h("span", { class: "ms-muted" }, "›"),
        h("button", { type: "button", class: depth === stack.length - 1 ? hued() : "", title: `its trigger began at byte ${number(tag.begin)}, its content at byte ${number(tag.content)}; rule ${tag.rule}`, onclick: () => choose(tag.rule) }, tag.name)]),
      h("span", { class: "ms-muted" }, stack[stack.length - 1].returns ? "when it ends, free text goes on" : "when it ends, free text is over"));
  }

  // Free text, the triggers that lead to tags, and the ways back: drawn once for a source, lit at each place.
  const hold = h("div", { class: "diagram", "data-testid": "trigger-diagram" }), trunk = h("div", { class: "picture" });
  function diagram(about, stack) {
    const { dot, svg: written, tags: known = [] } = model.get("diagram") || {};
    if (!dot) return null;
    const { ahead: some = [], ends = [] } = model.get("tags") || {}, patterns = model.get("patterns") || [];
    const open = stack.length ? stack[stack.length - 1] : null, same = (one, other) => one.pointer === other.pointer && one.name === other.name;
    const inside = ends.length ? known.findIndex((one) => same(one, ends[0])) : open ? known.findIndex((one) => one.rule === open.rule) : -1;
    drawInto(view.root, hold, dot, "free text and its tags", (graph) => {
      graph.querySelector("#free").classList.toggle("active", inside < 0 && (!!about.active || !about.has_dispatch));
      known.forEach((tag, k) => {
        const begun = some.find((one) => same(one, tag) && one.read) || patterns.find((one) => tag.rule === one.content && one.read && one.begun + one.rest === tag.begin);
        graph.querySelector(`#t${k}`).classList.toggle("active", k === inside);
        graph.querySelector(`#b${k}`).classList.toggle("active", !!begun);
        progress(graph.querySelector(`#b${k}`), begun ? tag.begin.length - begun.rest.length : 0);
      });
      sight();
    }, written);
    return hold;
  }
  // Where one is comes into sight.
  const sight = measured(() => {
    const node = hold.querySelector(".tag.active")?.getBoundingClientRect(), room = body.getBoundingClientRect();
    if (node && node.bottom > room.bottom) body.scrollTop += node.bottom - room.bottom + 8;
  });
  view.listen(hold, "click", (event) => {
    const node = event.target.closest(".tag:not(.free)"), tag = node && (model.get("diagram").tags || [])[Number(node.id.slice(1))];
    if (tag) tag.pointer ? place(tag.pointer) : choose(tag.rule);
  });
  // What is read of a trigger, over the lines on its arrow.
  function progress(arrow, read) {
    let left = read;
    for (const line of arrow.querySelectorAll("text")) {
      const text = line.textContent, cut = Math.max(0, Math.min(left, text.length));
      left -= text.length;
      line.replaceChildren(...(cut ? [svg("tspan", { class: "read" }, text.slice(0, cut)), text.slice(cut)] : [text]));
    }
  }

  // What the source knows: the tags that may still come with what is missing of each, and what ends the open ones.
  const place = (pointer) => view.select({ rule: null, pointer });
  function ahead() {
    const { ahead: some = [], ends = [] } = model.get("tags") || {};
    if (!some.length && !ends.length) return null;
    const begun = some.some((one) => one.read);
    return h("div", {},
      ...ends.map((one, at) => h("div", { class: "open-tags", "data-testid": "trigger-end" }, h("button", { type: "button", class: at === ends.length - 1 ? hued() : "", title: "show it in the source", onclick: () => place(one.pointer) }, one.name),
        h("span", { class: "ms-muted" }, "ends with"), ...one.ends.map((text) => h("code", { class: "ms-mono" }, text)),
        one.read ? h("span", { class: "ms-badge uncertain" }, `${many(one.read, "byte")} of it read`) : null)),
      some.length ? h("div", { class: "open-tags", "data-testid": "trigger-ahead" }, h("span", { class: "ms-muted" }, begun ? "may still come:" : "may come:"),
        ...some.map((one) => h("span", { "data-testid": "trigger-tag" }, h("button", { type: "button", title: "show it in the source", onclick: () => place(one.pointer) }, one.name),
          begun ? h("span", { class: "ms-mono ms-muted" }, ` ${one.rest} missing`) : null))) : null);
  }

  function watched(about) {
    const trie = model.get("trie") || [], patterns = model.get("patterns") || [];
    if (!trie.length) return h("div", { class: "ms-empty" }, "Outside free text nothing is watched for.");
    const state = about.active ? (about.free ? null : "a pattern is complete: free text is over") : "not now: inside a tag";
    const begun = patterns.filter((pattern) => about.active && pattern.read && !pattern.fired);
    const progress = begun.length === 1 ? h("span", { class: "ms-badge uncertain", "data-testid": "trigger-progress", title: begun[0].text }, `${begun[0].read} of ${begun[0].size} read`) : null;
    const trees = h("button", { type: "button", "aria-pressed": String(shown), "data-testid": "trigger-trie", title: "the trie of the patterns, with what is read of it", onclick: () => { shown = !shown; draw(); } }, "trie");
    const toggle = !shown ? null : h("button", { type: "button", "aria-pressed": String(links), "data-testid": "trigger-links",
      title: "where the automaton goes on when the next byte does not fit: the longest suffix that begins a pattern", onclick: () => { links = !links; draw(); } }, "failure links");
    return h("div", { class: about.active ? "watched" : "watched idle" },
      h("div", { class: "caption" }, h("b", {}, "Watched for"), h("span", { class: "ms-muted" }, `${many(about.patterns, "pattern")} in rule ${about.rule}`),
        progress, state ? h("span", { class: "ms-badge" }, state) : null, h("span", { class: "ms-grow" }), trees, toggle),
      about.otherwise ? h("div", { class: "caption ms-muted", "data-testid": "trigger-otherwise" }, about.otherwise) : "",
      shown ? picture(trie, patterns, about) : "", listed(patterns, about));
  }

  // The trie: a box for each byte, and behind each end what comes then.
  function picture(trie, patterns, about) {
    const seen = trie.slice(0, DRAWN), ends = Object.fromEntries(patterns.map((pattern) => [pattern.number, pattern]));
    const lines = seen.flatMap(([parent, text, , failure, pattern], id) => {
      const end = pattern == null ? null : ends[pattern], does = end && (end.kind === "tag" ? `→ ${end.content}` : DOES[end.kind]);
      return [`n${id}[id=n${id} class=${quote(`cell${end ? ` end ${end.kind}` : ""}`)} label=${quote(id ? text : "●")}]`,
        parent >= 0 ? `n${parent}->n${id}` : "", end ? `n${id}->w${id} w${id}[class=${quote(`does ${end.kind}`)} shape=plaintext label=${quote(does)}]` : "",
        links && failure && failure < DRAWN ? `n${id}->n${failure}[class=failure constraint=false style=dashed]` : ""];
    });
    drawInto(view.root, trunk, `digraph{graph[rankdir=LR nodesep=0.06 ranksep=0.1 bgcolor=transparent]\nnode[shape=box style=rounded width=0.26 height=0.26 margin="0.05,0.02" fontname="Courier" fontsize=11]\nedge[arrowsize=0.4]\n${lines.join("\n")}}`, "trie of the patterns", (graph) => seen.forEach(([, , , , , lit], id) => {
      const cell = graph.querySelector(`#n${id}`);
      cell.classList.toggle("lit", !!lit);
      cell.classList.toggle("here", id === about.node && about.active);
    }));
    const hidden = Math.max(about.omitted, 0) + trie.length - seen.length, arcs = seen.some(([, , , failure]) => failure);
    return h("div", {}, trunk, links && !arcs ? h("div", { class: "ms-muted" }, "every failure link leads back to the start") : null,
      hidden ? h("div", { class: "ms-muted" }, `${number(hidden)} more nodes are not drawn`) : null);
  }

  // What each pattern lacks, and what it does then.
  function listed(patterns, about) {
    const rows = patterns.map((pattern) => {
      const last = pattern.read != null && pattern.size - pattern.read === 1;
      const what = pattern.fired ? (pattern.kind === "tag" ? "has fired" : "complete")
        : pattern.read == null ? "cannot come here"
          : pattern.kind === "exclude" ? (last ? `${pattern.rest} cannot come next` : "refused when complete")
            : last ? `fires on the next byte, ${pattern.rest}` : `fires after ${pattern.rest}`;
      const tone = pattern.read == null || (pattern.kind === "exclude" && last) ? "rejected" : pattern.fired || pattern.read ? "uncertain" : "";
      return h("tr", { "data-testid": "trigger-pattern", "data-kind": pattern.kind },
        h("td", { class: "word" }, h("b", {}, pattern.begun), pattern.rest || pattern.fired ? pattern.rest : pattern.text),
        h("td", {}, h("span", { class: `ms-badge ${{ tag: "active", stop: "uncertain", exclude: "rejected" }[pattern.kind]}` }, pattern.kind)),
        h("td", {}, pattern.kind === "tag" ? h("button", { type: "button", onclick: () => choose(pattern.content) }, pattern.content) : DOES[pattern.kind]),
        h("td", { class: "ms-num" }, pattern.read == null ? "–" : `${pattern.read} of ${pattern.size}`),
        h("td", {}, about.active ? h("span", { class: `ms-badge ${tone}` }, what) : h("span", { class: "ms-muted" }, "not watched for now")));
    });
    const more = about.patterns - patterns.length;
    return h("div", {}, table(["pattern", "kind", ["then", "what comes behind it"], "#read", "now"], rows, { "aria-label": "Patterns" }), more > 0 ? h("div", { class: "ms-note" }, `${number(more)} more patterns`) : null);
  }

  view.draws(["about", "stack", "trie", "patterns", "tags", "diagram"], draw);
});
