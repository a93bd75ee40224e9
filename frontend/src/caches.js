// The cache observatory: how each mask was found, visits of parser states, memory, and who shares token sets with whom.
// Read on: visualizers/caches.py (what the traits hold).
import { bytes, h, many, mount, number, soon } from "./common.js";

const TABS = [["timeline", "Timeline"], ["last", "Last masks"], ["states", "Parser states"], ["memory", "Memory"], ["sharing", "Sharing"], ["counters", "Counters"]];
const LEFT = 76, LAST = 10, PLACE = 30; // masks in the table of the last ones, characters of their places
const RELATIONS = {
  made: "computed for this place", perfect: "found in the pool and used as it is",
  partial: "found in the pool, then filtered for what can follow",
};

const svg = (tag, props = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const WARM = "warm start: token sets that all JSON grammars need, made with the first compiler of the vocabulary";
const POOL = "the pool: token sets that all grammars on one vocabulary share, found again where automaton states are equal";
const FOLLOWED = "any caller: whatever goes on behind the rule; else verdicts are kept for callers that go on so";
const micros = (value) => value >= 1000 ? `${(value / 1000).toFixed(2)} ms` : `${value < 10 ? value.toFixed(2) : value.toFixed(1)} µs`;

function render({ model, el }) {
  const view = mount({ model, el }, "caches", "cache-view");
  const summary = h("span", { class: "ms-muted", "data-testid": "cache-summary" });
  const tabs = h("span", { class: "ms-group", role: "tablist" }, ...TABS.map(([name, label]) =>
    h("button", { type: "button", role: "tab", "data-testid": `cache-tab-${name}`, "data-tab": name, onclick: () => view.commit("tab", name) }, label)));
  const legend = h("div", { class: "legend", "aria-label": "how masks were found" });
  const page = h("div", { class: "page", tabindex: "0", "data-testid": "cache-page" });
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Caches"), h("span", { class: "ms-grow" }), tabs), legend, page);
  let WIDTH = 720, HEIGHT = 250;   // of a chart, in pixels
  const dock = el.closest(".ms-dock");
  function measure(beside) {   // in a dock a chart takes the height that is left, elsewhere its own
    WIDTH = Math.max(280, (page.clientWidth || 740) - 20);
    HEIGHT = dock ? Math.max(110, page.clientHeight - 12 - beside) : 250;
  }
  let move = () => {};   // marks the step one stands at, without drawing anew

  const go = (step) => model.get("offline") ? view.commit("index", step) : model.send({ kind: "goto", index: step });
  const kinds = () => (model.get("about") || {}).kinds || [];
  const where = (k) => model.get("visits").place[k] || ((model.get("states") || [])[model.get("visits").state[k]] || [])[4] || "";
  const said = (k) => kinds()[k].slice(3).filter(Boolean).join(", ");

  function detail(k) {
    const v = model.get("visits"), state = (model.get("states") || [])[v.state[k]] || [];
    const [, told] = kinds()[v.kind[k]], place = v.place[k] || state[4];
    const [dot, of] = [" · ", ` · mask of ${bytes(v.bytes[k])} · parser state ${state[0]}`];
    // In a dock there is room for two lines; the legend tells at each colour what it means, and so does what one points at.
    const tight = dock && WIDTH < 800;
    return [
      h("div", {}, h("i", { class: `key k${v.kind[k]}` }), h("b", {}, said(v.kind[k])), ` · after step ${number(v.step[k])}`,
        v.token[k] ? h("span", { class: "ms-mono" }, ` before ${v.token[k]}`) : "", ` · ${micros(v.us[k])}`, tight ? "" : of,
        v.made[k] ? ` · ${many(v.made[k], "token set")} computed` : "", v.pool[k] ? ` · ${number(v.pool[k])} from the pool` : ""),
      h("div", { class: "ms-muted", title: place ? `in ${place}\n${told}` : told }, ...(place ? ["in ", h("span", { class: "ms-mono" }, place.length > 2 * PLACE ? `…${place.slice(1 - 2 * PLACE)}` : place)] : []), tight ? place ? of : of.slice(3) : place ? dot : "", tight ? "" : told),
    ];
  }

  // A chart's frame: horizontal grid lines with labels, and a title for the axis.
  function axis(top, height, ticks, place, title) {
    return [
      ...ticks.flatMap(([value, label]) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: place(value), y2: place(value) }),
        svg("text", { x: LEFT - 6, y: place(value) + 4, "text-anchor": "end" }, label)]),
      svg("text", { x: LEFT + 4, y: top - 9 }, title),
    ];
  }

  const decades = (low, high) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) found.push(10 ** power);
    return found;
  };

  function timeline() {
    const v = model.get("visits") || {}, count = (v.us || []).length;
    if (!count) return empty();
    measure(42);
    const both = HEIGHT > 130, room = HEIGHT - (both ? 60 : 38), tall = both ? Math.round(0.7 * room) : room;
    const gap = (WIDTH - LEFT) / count, bar = Math.max(0.5, gap - (gap > 3 ? 1 : 0));
    const x = (k) => LEFT + k * gap;
    const chart = (values, top, height, title, label) => {
      const shown = values.map((value) => Math.max(value, 0.01));
      const ticks = decades(Math.min(...shown), Math.max(...shown));
      const [low, high] = [Math.log10(ticks[0]), Math.log10(ticks[ticks.length - 1])];
      const y = (value) => top + height - (height * (Math.log10(value) - low)) / Math.max(1, high - low);
      const every = Math.ceil(ticks.length / Math.max(2, height / 18)), some = ticks.filter((_, k) => k % every === 0);
      return [...axis(top, height, some.map((tick) => [tick, label(tick)]), y, title),
        ...shown.map((value, k) => svg("rect", { class: `k${v.kind[k]}`, x: x(k), width: bar, y: y(value), height: Math.max(1, top + height - y(value)) })),
        ...(title.startsWith("µs") ? shown.map((value, k) => v.kind[k] === 0 ? null
          : svg("circle", { class: `k${v.kind[k]}`, cx: x(k) + bar / 2, cy: y(value) - 4, r: Math.min(2.5, Math.max(1, gap / 2)) })).filter(Boolean) : [])];
    };
    const now = svg("rect", { class: "now", y: 12, height: HEIGHT - 28, width: Math.max(gap, 3) });
    const over = svg("rect", { class: "hover", y: 12, height: HEIGHT - 28, width: Math.max(gap, 3), visibility: "hidden" });
    const hit = svg("rect", { class: "hit", x: LEFT, y: 0, width: WIDTH - LEFT, height: HEIGHT - 5, "data-testid": "timeline-hit" });
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "data-testid": "timeline", "aria-label": `time and size of ${count} masks` }, now,
      ...chart(v.us, 22, tall, WIDTH < 460 ? "µs for the mask (log); ● first visit" : "µs to find or make the mask (log); ● first visit of the parser state", (t) => String(Number(t.toPrecision(2)))),
      ...(both ? chart(v.bytes, 44 + tall, room - tall, "bytes of the mask (log)", (t) => t < 1024 ? String(t) : `${t / 1000}k`) : []),
      svg("text", { x: LEFT, y: HEIGHT - 4 }, `after step ${number(v.step[0])}`),
      svg("text", { x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, `→ after step ${number(v.step[count - 1])}, in the order asked for`), over, hit);
    const line = h("div", { class: "detail", "data-testid": "cache-detail" });
    const at = (event) => {
      const box = picture.getBoundingClientRect();
      return Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - box.left) * WIDTH / box.width - LEFT) / gap)));
    };
    hit.addEventListener("pointermove", (event) => { const k = at(event); over.setAttribute("x", x(k)); over.setAttribute("visibility", "visible"); line.replaceChildren(...detail(k)); });
    hit.addEventListener("pointerleave", () => { over.setAttribute("visibility", "hidden"); move(); });
    hit.addEventListener("click", (event) => go(v.step[at(event)]));
    move = () => {
      const k = mineAt(model.get("step"));
      now.setAttribute("visibility", k < 0 ? "hidden" : "visible");
      if (k >= 0) now.setAttribute("x", x(k));
      line.replaceChildren(...(k < 0 ? [h("span", { class: "ms-muted" }, "Point at a mask; a click goes to its step.")] : detail(k)));
    };
    move();
    return [picture, line];
  }

  function states() {
    const found = model.get("states") || [], v = model.get("visits") || {};
    if (!found.length) return empty();
    const most = Math.max(...found.map(([, visits]) => visits));
    const heat = (visits) => most === 1 ? 0.15 : 0.1 + 0.6 * Math.log(visits) / Math.log(most);
    const cells = found.map(([id, visits, first, kind, where, us]) => {
      const cell = h("button", { type: "button", "data-testid": "state-cell", "data-set": id,
        title: `parser state ${id}: ${many(visits, "visit")}, first after step ${first} (${said(kind)}), ${micros(us)} in all\nin ${where || "the beginning"}`,
        onclick: () => go(first) }, h("b", {}, number(visits)), h("i", { class: `k${kind}` }));
      cell.style.setProperty("--heat", heat(visits));
      return cell;
    });
    const swatch = (visits) => { const one = h("span", { class: "swatch" }); one.style.background = `color-mix(in srgb, var(--ms-accent) ${100 * heat(visits)}%, transparent)`; return one; };
    move = () => {
      const k = mineAt(model.get("step"));
      cells.forEach((cell, i) => cell.classList.toggle("now", k >= 0 && v.state[k] === i));
    };
    move();
    return [h("div", { class: "ms-muted" }, "One cell for each interned Earley set (parser state), by first visit. The number and the shade are its visits",
      swatch(1), "1", swatch(most), number(most), "; the stripe is how its mask was come by first; framed: the current state."),
      h("div", { class: "cells", "data-testid": "state-cells" }, ...cells)];
  }

  function memory() {
    const held = model.get("held") || {}, count = (held.sets || []).length;
    if (!count) return empty();
    measure(50);   // what it says above the picture may take two lines
    const room = HEIGHT - 54, tall = Math.round(0.62 * room), low = 38 + tall, small = room - tall;
    const x = (k) => LEFT + (WIDTH - LEFT) * (count === 1 ? 1 : k / (count - 1));
    const parts = [["arena_bytes", "parser states", "--k2"], ["mask_bytes", "masks", "--k4"], ["token_set_bytes", "token sets", "--k1"]];
    const things = [["sets", "parser states made", "--k2"], ["masks", "with a mask", "--k4"], ["token_sets", "token sets", "--k1"]];
    const tops = [], totals = Array(count).fill(0);
    for (const [name] of parts) { held[name].forEach((value, k) => { totals[k] += value; }); tops.push([...totals]); }
    const high = Math.max(1, ...totals), most = Math.max(1, ...things.flatMap(([name]) => held[name]));
    const y = (value) => 18 + tall - (tall * value) / high, z = (value) => low + small - (small * value) / most;
    const path = (values, place) => values.map((value, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${place(value).toFixed(1)}`).join("");
    const areas = parts.map(([, , colour], i) => {
      const below = i ? tops[i - 1] : Array(count).fill(0);
      const area = svg("path", { d: `${path(tops[i], y)}${[...below].reverse().map((value, k) => `L${x(count - 1 - k).toFixed(1)} ${y(value).toFixed(1)}`).join("")}Z` });
      area.style.fill = `var(${colour})`; area.style.opacity = 0.6;
      return area;
    });
    const lines = things.map(([name, , colour]) => { const line = svg("path", { class: "line", d: path(held[name], z) }); line.style.stroke = `var(${colour})`; return line; });
    const now = svg("rect", { class: "now", y: 12, height: HEIGHT - 28, width: 4 });
    const key = (colour, text, title = "") => { const one = h("i", { class: "key" }); one.style.background = `var(${colour})`; return h("span", { title }, one, text); };
    const last = count - 1, pool = held.pool_bytes;
    const v = model.get("visits") || {};
    move = () => { const k = mineAt(model.get("step")); now.setAttribute("visibility", k < 0 ? "hidden" : "visible"); if (k >= 0) now.setAttribute("x", x(k) - 2); };
    move();
    return [
      h("div", { class: "legend" }, ...parts.map(([name, label, colour]) => key(colour, `${label}: ${bytes(held[name][last])}`, name === "token_set_bytes" ? "what other grammars hold as well counts in equal shares here; Sharing lists it in full" : "")),
        h("span", { title: "what all grammars of this compiler share; most of it is made with the first compiler of a vocabulary" }, `pool of all grammars: ${bytes(pool[last])}`,
          pool[last] - pool[0] ? ` (+${bytes(pool[last] - pool[0])})` : "")),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "data-testid": "memory", "aria-label": "bytes and numbers over the masks" }, now, ...areas,
        ...axis(18, tall, [[0, "0"], [high / 2, bytes(high / 2)], [high, bytes(high)]], y, "bytes held by this grammar's caches, at the last mask"),
        ...axis(low, small, [[0, "0"], [most, number(most)]], z, things.map(([name, label]) => `${label}: ${number(held[name][last])}`).join(" · ") ), ...lines,
        svg("text", { x: WIDTH, y: HEIGHT - 4, "text-anchor": "end" }, "masks in the order asked for →")),
    ];
  }

  function sharing() {
    const found = model.get("sharing") || {};
    if (!found.sets) return [h("div", { class: "ms-empty" }, "Nothing is known about what this grammar shares.")];
    const several = found.grammars.length > 1;
    const label = (grammar, part) => several ? `${part} · grammar ${grammar}` : part;
    const rows = found.sets.map((one) => {
      const [grammar, part] = one.uses[0];
      const made = one.origin === "a grammar" ? label(grammar, part) : one.origin;
      const seen = new Set();
      const chips = one.uses.filter(([g, p, , , relation]) => !seen.has(`${g} ${p} ${relation}`) && seen.add(`${g} ${p} ${relation}`)).map(([g, p, rule, state, relation, inside]) =>
        h("span", { class: `chip ${relation}`, title: `${RELATIONS[relation]}\nstate ${state} of ${rule}\ninside ${inside || p}` }, label(g, p)));
      return h("tr", { "data-testid": "shared-set", "data-parts": chips.length },
        h("td", { title: `${one.storage}; ${FOLLOWED}` }, h("span", { class: "ms-mono" }, one.rule), h("span", { class: "ms-muted" }, ` state ${number(one.uses[0][3])}, ${one.followed}`)),
        h("td", { class: "ms-num" }, bytes(one.bytes)), h("td", { title: one.origin === "warm start" ? WARM : "" }, made, one.us == null ? "" : h("span", { class: "ms-muted" }, ` in ${micros(one.us)}`)),
        h("td", { class: "uses" }, ...chips, one.more ? `and ${number(one.more)} more` : ""));
    });
    const pool = found.pool;
    const none = h("div", { class: "ms-empty", "data-testid": "shared-none" }, "No mask of this grammar has needed a token set yet: all were found, or walked.");
    return [
      h("div", { class: "ms-muted", "data-testid": "pool-line", title: POOL }, `Pool: ${many(pool.sets, "token set")}, ${bytes(pool.bytes)} of ${bytes(pool.budget)}; ${number(pool.hits)} found and used as they are, `
        + `${number(pool.partial)} found and then filtered, ${number(pool.misses)} not found; ${many(pool.evictions, "eviction")}; ${number(pool.idle)} not used by this grammar.`),
      several ? h("div", {}, ...found.grammars.map(([i, root, about, sets, made, got]) =>
        h("div", { class: "ms-muted" }, `grammar ${i}: `, h("span", { class: "ms-mono" }, about || root), ` · ${many(sets, "token set")}, ${number(made)} made, ${number(got)} found`))) : "",
      !rows.length ? none : h("table", { class: "ms-table" }, h("thead", {}, h("tr", {}, h("th", { title: "whose state the accepted, rejected and uncertain tokens are for" }, "token set of"),
        h("th", { class: "ms-num" }, "size"), h("th", { title: `${WARM}; unknown: a file, or a grammar that is gone` }, "made first by"),
        h("th", {}, "used by  (", h("span", { class: "chip made" }, "made"), h("span", { class: "chip perfect" }, "found"), h("span", { class: "chip partial" }, "found, then filtered"), ")"))), h("tbody", {}, ...rows)),
      found.hidden ? h("div", { class: "ms-note" }, `${many(found.hidden, "more token set")} not listed`) : "",
    ];
  }

  let before = {}, shown = {};   // counters of the step before, for what changed
  function counters() {
    const stats = model.get("stats") || {};
    if (stats.sets === undefined) return [h("div", { class: "ms-empty" }, "The engine's counters are not at hand.")];
    const line = ([, name, label, told, unit]) => {
      const format = unit === "bytes" ? bytes : number, change = stats[name] - (before[name] ?? stats[name]);
      return h("tr", {}, h("td", { title: `CacheStats.${name}` }, label), h("td", { class: "ms-num", "data-testid": `counter-${name}` }, format(stats[name])),
        h("td", { class: "ms-num", "data-testid": `delta-${name}` }, change ? `${change > 0 ? "+" : "−"}${format(Math.abs(change))}` : "·"), h("td", { class: "ms-muted" }, told));
    };
    return [h("table", { class: "ms-table" }, h("thead", {}, h("tr", {}, h("th", {}, "counter"), h("th", { class: "ms-num" }, "since compiled"),
      h("th", { class: "ms-num" }, "last change"), h("th", {}, "what it counts"))), ...[...new Set((model.get("counters") || []).map(([what]) => what))].map((what) =>
      h("tbody", {}, h("tr", {}, h("th", { colspan: 4 }, what)), ...model.get("counters").filter(([of]) => of === what).map(line))))];
  }

  const empty = () => [h("div", { class: "ms-empty" }, "No mask was asked for yet.")];

  // The last masks up to the step one stands at, or the slowest of the text: how each was come by, how long that took,
  // how large it is.  What the width has no room for is told where one points at a row.
  let slowest = false;
  const strategies = (k) => {
    const told = (model.get("about") || {}).strategies || {}, names = ((model.get("visits") || {}).strategies[k] || "").split(", ").filter(Boolean);
    return names.flatMap((name, n) => [n ? ", " : "", h("span", { title: `${name}: ${told[name] || ""}` }, name)]).filter((part) => part !== "");
  };
  const mineAt = (step) => { const v = model.get("visits") || {}; return (v.step || []).findLastIndex((at, k) => at === step && !v.other[k]); };
  function last() {
    const v = model.get("visits") || {}, count = (v.us || []).length;
    if (!count) return empty();
    const body = h("tbody", {}), most = dock ? Math.max(LAST, Math.floor((page.clientHeight - 42) / 22)) : LAST;
    move = () => {
      const here = mineAt(model.get("step")), end = here < 0 ? count : here + 1;
      const shown = slowest ? v.us.map((_, k) => k).sort((one, other) => v.us[other] - v.us[one]).slice(0, most)
        : Array.from({ length: Math.min(most, end) }, (_, n) => end - 1 - n);
      body.replaceChildren(...shown.map((k) => {
        const [, told, , word, by] = kinds()[v.kind[k]];
        const parts = `${v.made[k] > 1 ? ` (${number(v.made[k])})` : ""}${v.made[k] && v.pool[k] ? `; ${number(v.pool[k])} from the pool` : ""}`;
        const whole = `${word} ${told}${parts} · ${micros(v.us[k])} · ${bytes(v.bytes[k])}${where(k) ? `\nin ${where(k)}` : ""}`;
        return h("tr", { "data-testid": "last-mask", class: [k === here ? "now" : "", v.other[k] ? "other" : ""].join(" ").trim() || null, title: whole, tabindex: "0", onclick: () => v.other[k] || go(v.step[k]) },
          h("td", { class: "ms-num" }, number(v.step[k])), v.other[k] ? h("td", { class: "ms-muted", title: "asked for a text that was here before: an edit replaced it" }, "(other text)") : h("td", { class: "ms-mono" }, v.token[k] || ""),
          h("td", { class: "word", title: `${word} ${told}` }, h("i", { class: `key k${v.kind[k]}` }), word),
          h("td", { class: "by" }, `${by || "its pointer"}${parts}`),
          h("td", { class: "ways" }, ...strategies(k)),
          h("td", { class: "ms-num" }, micros(v.us[k])), h("td", { class: "ms-num size" }, bytes(v.bytes[k])), h("td", { class: "ms-mono where", title: where(k) }, where(k).length > 12 && where(k).includes("/") ? `…/${where(k).split("/").pop()}` : where(k)));
      }));
    };
    move();
    const order = (text, title, mine) => h("button", { type: "button", "aria-pressed": String(slowest === mine), title, "data-testid": `order-${text.split(" ").pop()}`,
      onclick: () => { slowest = mine; draw(); } }, slowest === mine ? `${text} ▾` : text);
    const width = dock ? page.clientWidth : 800;
    return [h("table", { class: `ms-table masks${width < 760 ? " narrow" : ""}${width < 600 ? " slim" : ""}`, "aria-label": slowest ? "slowest masks" : "last masks" }, h("thead", {}, h("tr", {}, h("th", { class: "ms-num" }, order("after step", `steps read before the mask was asked for; the last ${most} masks up to here, latest first`, false)),
      h("th", { title: "the token that was taken after this mask" }, "then"), h("th", { title: "found: by pointer; put together: from known token sets; made: something had to be walked or computed" }, "the mask was"), h("th", { class: "by", title: "where its parts were" }, "by"),
      h("th", { class: "ways", title: "which strategies made its parts, now or when they were made first; point at one to read what it does" }, "strategies"),
      h("th", { class: "ms-num" }, order("time", `the ${most} slowest masks of the text`, true)), h("th", { class: "ms-num size" }, "size"), h("th", { class: "where", title: "where in the source, or the rules under way" }, "in"))), body)];
  }

  const pages = { timeline, last, states, memory, sharing, counters };

  function draw() {
    const about = model.get("about") || {}, tab = pages[model.get("tab")] ? model.get("tab") : "timeline";
    const words = {};
    for (const [, , count, word] of kinds()) words[word] = (words[word] || 0) + count;
    summary.textContent = about.masks === undefined ? "" : `${many(about.masks, "mask")}: ${Object.entries(words).map(([word, count]) => `${number(count)} ${word}`).join(", ")} · ${many(about.states, "parser state")} visited · ${micros(about.nanoseconds / 1e3)} in all`
      + (about.hidden ? ` · the last ${number(about.masks - about.hidden)} are drawn` : "");
    legend.replaceChildren(summary, ...kinds().map(([kind, told, count], k) => h("span", { title: told, class: count ? "" : "none", "data-testid": `kind-${kind.replaceAll(" ", "-")}`, "data-count": count },
      h("i", { class: `key k${k}` }), `${said(k)} ${number(count)}`)));
    for (const button of tabs.children) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
    move = () => {};
    legend.hidden = tab !== "timeline" && tab !== "states";   // the table of the last masks says it in words
    page.replaceChildren(...pages[tab]().filter((part) => part !== ""));
  }

  const redraw = soon(draw);
  view.on("change:stats", () => {
    const stats = model.get("stats") || {};
    before = stats.mask_misses >= (shown.mask_misses ?? 0) ? shown : stats;
    shown = stats;
    redraw();
  });
  shown = before = model.get("stats") || {};
  for (const trait of ["about", "visits", "states", "held", "sharing", "tab"]) view.on(`change:${trait}`, redraw);
  view.on("change:step", () => move());
  let size = "";
  const resized = new ResizeObserver(() => {
    const now = `${page.clientWidth} ${dock ? page.clientHeight : 0}`;
    if (now !== size) { size = now; redraw(); }
  });
  resized.observe(page);
  view.defer(() => resized.disconnect());
  draw();
  return () => view.clean();
}

export default { render };
