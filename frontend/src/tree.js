// The parse tree as indented rows: the newest part in view, open rules at the end, ambiguous nodes with a flip; or as a
// tree that Graphviz draws, in which a click flips what is ambiguous and chooses what is not.
// Rows whose parts are here fold in the browser; what is not here is asked of Python by the trait `wish`.
// Read on: visualizers/tree.py, workbench/panels/tree.py.
import { chosen, click, h, many, measured, morph, defineView, number, turner } from "./common.js";
import { drawInto, quote } from "./drawing";

const DRAWN = 200; // nodes of a picture

// The nodes that are shown, by their places, as DOT.
function treeDot(shown) {
  const there = new Set(shown.map(([, place]) => place)), parents = new Set(shown.map(([node]) => node.parent));
  const lines = shown.map(([node, place]) => {
    const leaf = !parents.has(place), said = [node.kind === "text" ? null : node.kind === "fold" ? `${node.name} folded` : node.name,
      node.readings ? `parse ${node.reading + 1} of ${node.readings}` : null, leaf && node.text ? node.text : null].filter(Boolean).join("\n");
    const kinds = ["node", `is-${node.kind}`, node.open ? "open" : "", node.readings ? "ambiguous" : ""].filter(Boolean).join(" ");
    return `n${place}[id=n${place} class=${quote(kinds)} label=${quote(said)}${node.kind === "text" ? " style=filled" : ""}]`
      + (there.has(node.parent) ? `n${node.parent}->n${place}` : "");
  });
  return `digraph{graph[nodesep=0.12 ranksep=0.22 ordering=out bgcolor=transparent]\nnode[shape=box style=rounded height=0.25 width=0.1 margin="0.07,0.03" fontname="Courier" fontsize=11]\nedge[arrowhead=none]\n${lines.join("\n")}}`;
}

export default defineView("tree", "tree-view", ({ view, model }) => {
  const head = h("div", { class: "ms-bar" });
  const rows = h("div", { class: "rows", role: "tree", "aria-label": "Parse tree", tabindex: "0", "data-testid": "tree-rows" });
  const scroll = h("div", { class: "ms-scroll" }, rows);
  const way = h("button", { type: "button", class: "way", "data-testid": "tree-picture", title: "draw it as a tree, or list it in rows", onclick: () => { pictured = !pictured; draw(); } }, "as a tree");
  view.root.append(head, scroll, way);
  let pictured = false;
  const closed = new Set(); // keys of nodes folded here
  let shown = -1;

  const wish = (part) => {
    const before = model.get("wish") || {};
    view.commit("wish", { ...before, ...part });
  };
  const listed = (name) => (model.get("wish") || {})[name] || [];
  const named = (node) => ({ rule: node.label, pointer: node.pointer });
  // A node that was clicked here is lit alone; what another panel chooses lights every node of the rule.
  let clicked = null;
  const lit = () => {
    const selection = model.get("selection") || {}, nodes = model.get("nodes") || [];
    const mine = clicked && selection.rule === clicked.rule && (selection.pointer ?? null) === clicked.pointer && nodes.some((node) => node.key === clicked.key);
    const is = chosen(selection, nodes.filter((node) => node.kind === "rule").map(named));
    return (node) => node.kind === "rule" && (mine ? node.key === clicked.key : is(named(node)));
  };
  const choose = (node) => {
    const was = Boolean(clicked) && lit()(node);
    clicked = was ? null : { key: node.key, rule: node.label, pointer: node.pointer ?? null };
    view.commit("selection", click(model.get("selection") || {}, named(node), was));
    draw();
  };

  function flip(node, by) {
    const readings = { ...((model.get("wish") || {}).readings || {}) };
    readings[node.key] = (node.reading + by + node.readings) % node.readings;
    wish({ readings });
  }

  function toggle(node, below) {
    if (node.kind === "fold" || node.folded) wish({ unfolded: [...listed("unfolded"), node.key], folded: listed("folded").filter((key) => key !== node.key) });
    else if (below) {
      if (!closed.delete(node.key)) closed.add(node.key);
      draw();
    }
  }

  function draw() {
    const about = model.get("about") || {}, nodes = model.get("nodes") || [];
    const offline = view.offline();
    // Number 0 is the finished tree if there is one; the trees with open rules are counted apart.
    const first = about.complete ? 1 : 0, open = (about.trees || 0) - first;
    const turn = (by) => wish({ tree: first + (Math.max(0, about.tree - first) + by + open) % open });
    const state = first && about.tree === 0 ? "complete" : "unfinished";
    const openCount = `${about.exact ? "" : "more than "}${number(open)}`;
    morph(head, h("span", { class: "ms-title" }, "Derivation"),
      h("span", { class: "ms-mono", "data-testid": "tree-position" }, `after ${many(about.position ?? 0, "byte")}`),
      h("span", { class: `ms-badge ${state === "complete" ? "accepted" : "active"}`, "data-testid": "tree-state",
        title: state === "complete" ? "a derivation of the whole text" : "a derivation in which rules have begun and not ended: they are open" }, state),
      about.readings ? h("span", { class: "ms-badge uncertain", title: "parses of the whole text: every choice at each of its ambiguous nodes, those of other trees included", "data-testid": "tree-readings" }, `${about.readings} of the text`) : null,
      about.apart === false && (about.readings || about.ambiguous) ? h("span", { class: "ms-muted", "data-testid": "tree-apart", title: "a rule of this grammar can be empty: parses that differ only in where such a rule stands are counted as one" }, "some parses that differ only in empty rules count as one") : null,
      about.ambiguous ? h("span", { class: "ms-badge uncertain", title: "in the tree that is shown; another parse of a node may have others below it", "data-testid": "tree-ambiguous" }, `${many(about.ambiguous, "ambiguous node")} in this tree`) : null,
      h("span", { class: "ms-grow" }),
      first && open ? h("button", { type: "button", disabled: offline, "data-testid": "tree-switch",
        title: "between the derivations of the whole text and those in which rules are still open, if the text goes on", onclick: () => wish({ tree: state === "complete" ? 1 : 0 }) },
      state === "complete" ? `if it goes on: ${openCount} partial tree${open === 1 ? "" : "s"}` : "complete") : null,
      state === "unfinished" && !first ? h("span", { class: "ms-muted", "data-testid": "tree-none" }, "no complete parse yet") : null,
      state === "unfinished" && open > 1 && turner(["tree-back", "tree-on"], ["the tree before", "the next tree"], turn, offline,
        h("span", { class: "ms-muted", title: "trees of a text that is not finished: one for each way in which rules can be open at its end" }, `partial tree ${about.tree - first + 1} of ${openCount}`)));
    way.hidden = offline;
    way.setAttribute("aria-pressed", String(pictured));
    const is = lit();
    const below = new Set(nodes.map((node) => node.parent));
    const hidden = new Set();
    const made = [], seen = [];
    nodes.forEach((node, place) => {
      if (hidden.has(node.parent) || (node.parent >= 0 && closed.has(nodes[node.parent].key))) hidden.add(place);
      else { seen.push([node, place]); if (!pictured) made.push(row(node, place, below.has(place), is, offline)); }
    });
    if (pictured) return picture(seen, is);
    morph(rows, made);
    if (about.position !== shown) follow();
    shown = about.position;
  }
  function picture(seen, is) {
    if (seen.length > DRAWN) { rows.replaceChildren(h("div", { class: "ms-empty" }, `${many(seen.length, "node")}: too many for a picture. Fold some rows.`)); return; }
    drawInto(view.root, rows, treeDot(seen), "parse tree", (graph) => {
      for (const [node, place] of seen) {
        const drawn = graph.querySelector(`#n${place}`);
        drawn.classList.toggle("chosen", is(node));
        drawn.onclick = () => node.readings ? flip(node, 1) : node.kind === "rule" && choose(node);
      }
    });
  }

  // The newest part comes into sight; of a whole text with several readings its top, where the first choice is.
  const follow = measured(() => {
    const about = model.get("about") || {};
    scroll.scrollTop = about.complete && about.tree === 0 && about.ambiguous ? 0 : scroll.scrollHeight;
  });

  function row(node, place, hasBelow, is, offline) {
    const more = node.folded || node.kind === "fold";
    const can = (hasBelow || (more && !offline)) && !node.leaf;
    const sign = !can ? "" : more || closed.has(node.key) ? "▸" : "▾";
    const label = node.kind === "text" ? null : node.kind === "fold" ? h("span", { class: "fold" }, `${node.label} folded`) :
      h("button", { type: "button", class: "label", onclick: () => choose(node) }, node.place ? h("span", { class: "key", title: node.pointer }, `${node.place} `) : null,
        h("span", { class: node.pointer ? "ms-muted" : "" }, node.name));
    const [before, after] = (node.open || [])[0] || [];
    const showText = node.kind !== "rule" || node.leaf || more || !hasBelow || closed.has(node.key);
    return h("div", { class: `row is-${node.kind}${node.open ? " open" : ""}`, role: "treeitem", "aria-level": node.depth + 1, "data-testid": "tree-node", "data-key": node.key,
      "data-pointer": node.pointer, "aria-selected": String(is(node)), "aria-expanded": can ? String(sign === "▾") : null, title: `bytes ${number(node.begin)} to ${number(node.end)}` },
      h("span", { class: "indent", style: `width:${node.depth * 14}px` }),
      h("button", { type: "button", class: "sign", tabindex: can ? "0" : "-1", "aria-label": can ? (sign === "▾" ? "fold" : "unfold") : null, disabled: !can, onclick: () => toggle(node, hasBelow) }, sign), label,
      showText && node.text ? h("span", { class: "text" }, node.text) : null,
      node.kind === "again" ? h("span", { class: "ms-badge uncertain", title: "over the same text, without end" }, "derives itself again") : null,
      node.levels ? h("span", { class: "ms-badge", title: "a recursive list: its elements are drawn side by side" }, `${number(node.levels)} levels drawn flat`) : null,
      node.readings > 0 && turner(["tree-flip", "tree-flip-on"], ["another parse of this node", "another parse of this node"], (by) => flip(node, by), offline,
        h("span", { class: "ms-badge uncertain", title: `${many(node.readings, "way")} to derive this node from its parts, whatever these are; a parse of the text chooses one at each node` }, `ambiguous: parse ${number(node.reading + 1)} of ${(model.get("about") || {}).apart === false ? "at least " : ""}${number(node.readings)}`)),
      node.open && after !== undefined ? h("span", { class: "dotted" }, h("span", { class: "dot" }, "•"), after) : null);
  }

  view.draws(["about", "nodes", "selection"], draw);
});
