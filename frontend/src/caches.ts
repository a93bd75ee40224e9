// The caches as one picture: over the masks of a text the time of each, the visits of its parser state, and the bytes held;
// beside it how masks were come by, and which parts of the grammars share which token sets.
// Read on: visualizers/caches.py (what the traits hold).
import { bytes, h, key, many, defineView, number, put, svg, table } from "./common.js";
import { grid, logarithmic, timeline } from "./token_charts.js";
import { MASKS, micros } from "./run";

interface Visits { step: number[]; word: number[]; by: string[]; us: number[]; bytes: number[]; made: number[]; pool: number[]; state: number[]; times: number[];
  strategies: string[][]; token: string[]; other: boolean[]; place: string[]; held: [string, number[]][]; pooled: number[] }
type Way = [word: string, by: string, told: string, count: number, median: number, total: number];
interface Sharing { said: string; parts: string[]; more_parts: number; more_sets: number; grammars: string[]; pool: string;
  sets: [name: string, bytes: number, us: number | null, told: string, relations: string[], others: number][] }

const LEFT = 66, COST = 84, HEAT = 12, HELD = 52, SLOWEST = 3;
const SHORT: Record<string, string> = { made: "made", perfect: "found", partial: "filtered" };

export default defineView("caches", "cache-view", ({ view, model }: any) => {
  const head = h("div", { class: "ms-head", "data-testid": "cache-summary", title: "of a text, a mask before each of its tokens and one behind the last" });
  const chart = h("div", { class: "chart" });
  const detail = h("div", { class: "detail", role: "status", "data-testid": "cache-detail" });
  const slowest = h("div", { class: "slowest" });
  const ways = h("div", {}), shared = h("div", { class: "shared" }), counted = h("div", {});
  const counters = h("details", { "data-testid": "counters", ontoggle: () => drawCounters() }, h("summary", {}, "the engine's counters"), counted);
  const page = h("div", { class: "page", tabindex: "0", "data-testid": "cache-page" }, h("div", { class: "left" }, chart, detail, slowest), h("div", { class: "right" }, ways, counters), shared);
  view.root.append(head, page);
  const visits = (): Visits | null => (model.get("visits")?.us?.length ? model.get("visits") : null);
  const mine = (v: Visits, step: number) => v.step.findLastIndex((at, k) => at === step && !v.other[k]);
  const go = (step: number) => view.offline() && model.get("steps")?.length ? view.commit("index", step) : model.send({ kind: "goto", index: step });
  const swatch = (word: number) => key(`--mask-${word}`);

  // -- the picture -----------------------------------------------------------------------------------------------------
  let mark = () => {};
  function drawChart() {
    const v = visits();
    mark = () => {};
    slowest.replaceChildren();
    if (!v) { chart.replaceChildren(h("div", { class: "ms-empty" }, "No mask was asked for yet.")); detail.replaceChildren(); return; }
    const count = v.us.length, wide = Math.max(260, (chart.clientWidth || 640) - 2), gap = Math.min(40, (wide - LEFT) / count), right = LEFT + gap * count;
    const bar = Math.max(0.5, gap - (gap > 3 ? 1 : 0)), most = Math.max(...v.times), x = (k: number) => LEFT + k * gap;
    const heatAt = COST + 20, heldAt = heatAt + HEAT + 14, end = heldAt + HELD;
    const { place, powers } = logarithmic(v.us, 0.01, 8 + COST, COST);
    const high = Math.max(1, ...v.us.map((_, k) => v.held.reduce((sum, [, values]) => sum + values[k], 0))), y = (value: number) => end - (HELD * value) / high;
    let below = Array(count).fill(0);
    const areas = v.held.map(([name, values], n) => {
      const above = below.map((value, k) => value + values[k]);
      const corners = (line: number[]) => line.flatMap((value, k) => [[x(k), y(value)], [x(k) + gap, y(value)]]);
      const points = [...corners(above), ...corners(below).reverse()].map((corner) => corner.map((one) => one.toFixed(1)).join(","));
      below = above;
      return svg("polygon", { style: `fill:var(--held-${n})`, points: points.join(" ") }, svg("title", {}, `${name}: ${bytes(values[count - 1])}`));
    });
    const rect = (k: number, name: string, top: number, height: number, props = {}) => svg("rect", { class: name, x: x(k), width: bar, y: top, height, ...props });
    const label = (at: number, text: string) => svg("text", { x: LEFT - 6, y: at, "text-anchor": "end" }, text);
    const made = timeline({ wide, left: LEFT, gap, count, high: end, foot: 16, testid: "timeline", label: model.get("head"), go: (k: number) => go(v.step[k]), point: (k: number) => (k < 0 ? mark() : tell(v, k)) }, [
      ...grid(powers.map((power) => [10 ** power, power < 0 ? `${10 ** power} µs` : micros(10 ** power).replace(".0", "")]), place, LEFT, right),
      ...v.us.map((us, k) => { const top = Math.min(place(us), 8 + COST - 1.5); return rect(k, `mask-${v.word[k]}${v.other[k] ? " other" : ""}`, top, 8 + COST - top); }),
      label(heatAt + 10, "visits"),
      ...v.times.map((times, k) => rect(k, "heat", heatAt, HEAT, { "data-times": times, "fill-opacity": (most === 1 ? 0.1 : 0.1 + (0.9 * Math.log(times)) / Math.log(most)).toFixed(2) })),
      label(heldAt + 8, bytes(high)), ...grid([[0, "0"]], y, LEFT, right), ...areas,
      svg("text", { x: LEFT, y: end + 13 }, `after step ${number(v.step[0])}`), count > 6 && svg("text", { x: right, y: end + 13, "text-anchor": "end" }, `after step ${number(v.step[count - 1])}`)]);
    mark = () => {
      const k = mine(v, model.get("step"));
      made.mark(k);
      if (k >= 0) tell(v, k); else detail.replaceChildren(h("span", { class: "ms-muted" }, "Point at a mask; a click goes to its step."));
    };
    chart.replaceChildren(made.picture, h("div", { class: "ms-legend" }, h("span", { class: "ms-muted" }, "held:"),
      v.held.map(([name, values], n) => key(`--held-${n}`, `${name} ${bytes(values[count - 1])}`, name === "token sets" ? "what others hold as well counts in equal shares here" : "")),
      h("span", { class: "ms-muted", title: "what all grammars of this compiler share; most of it is made with the first compiler of a vocabulary" }, `beside them the cross-grammar cache, ${bytes(v.pooled[count - 1])}`)));
    const order = v.us.map((_, k) => k).filter((k) => !v.other[k]).sort((one, two) => v.us[two] - v.us[one]).slice(0, SLOWEST);
    slowest.replaceChildren(h("span", { class: "ms-muted" }, "slowest:"), ...order.map((k) => h("button", { type: "button", "data-testid": "slowest", title: `go to step ${v.step[k]}`, onclick: () => go(v.step[k]) }, swatch(v.word[k]), `${micros(v.us[k])} after step ${number(v.step[k])}`)));
    mark();
  }

  function tell(v: Visits, k: number) {
    const parts = `${v.made[k] > 1 ? ` (${number(v.made[k])})` : ""}${v.made[k] && v.pool[k] ? `, ${number(v.pool[k])} from the cross-grammar cache` : ""}`;
    detail.replaceChildren(h("div", {}, swatch(v.word[k]), h("b", {}, MASKS[v.word[k]]), v.by[k] ? ` by ${v.by[k]}${parts}` : "", ` in ${micros(v.us[k])}, after step ${number(v.step[k])}`,
      ...(v.other[k] ? [h("span", { class: "ms-muted" }, " of a text that an edit replaced")] : v.token[k] ? [" before ", h("code", { class: "ms-mono" }, v.token[k])] : []), ` · mask of ${bytes(v.bytes[k])}`),
    h("div", { class: "ms-muted", title: `parser state ${v.state[k]}` }, `this parser state was visited ${v.times[k] === 1 ? "once" : `${number(v.times[k])} times`}`,
      ...v.strategies[k].flatMap((name, n) => [n ? ", " : " · ", h("span", { class: "way", title: `${name}: ${(model.get("strategies") || {})[name] || ""}` }, name)]), v.place[k] ? ` · in ${v.place[k]}` : ""));
  }

  // -- beside it -------------------------------------------------------------------------------------------------------
  const num = (text: string, title = "") => h("td", { class: "ms-num", title }, text);
  function drawWays() {
    const rows: Way[] = model.get("ways") || [], all = rows.reduce((sum, [, , , , , total]) => sum + total, 0);
    ways.replaceChildren(...(rows.length ? [table(["the mask was", "#masks", ["#median", "microseconds, half of the masks took less"], h("th", { class: "share", title: "of the time of all masks" }, "time")],
      rows.map(([word, by, told, count, median, total]) => {
        const gauge = h("i", { class: `gauge mask-${MASKS.indexOf(word as any)}`, title: `${micros(total)} in all`, style: `width:${Math.max(2, (100 * total) / (all || 1))}%` });
        return h("tr", { title: told, "data-testid": "way", "data-word": word, "data-by": by, "data-count": count }, h("td", {}, swatch(MASKS.indexOf(word as any)), word, by ? h("span", { class: "ms-muted" }, `, ${by}`) : ""), num(number(count)), num(micros(median)), h("td", { class: "share" }, gauge));
      }))] : []));
  }

  function drawSharing() {
    const found: Partial<Sharing> = model.get("sharing") || {}, { parts = [], sets = [] } = found;
    shared.replaceChildren(...(found.said ? [h("div", { class: "ms-cap", title: [found.pool, ...(found.grammars || [])].join("\n"), "data-testid": "shared" }, "What is shared"), h("div", { class: "ms-muted" }, found.said),
      ...(sets.length ? [table([["token set of", "whose state the accepted, rejected and uncertain tokens are for"], "#size", ...parts.map((part) => h("th", { class: "part", title: part }, part))],
        sets.map(([name, size, us, told, relations, others]) => h("tr", { "data-testid": "shared-set", title: us == null ? told : `${told} in ${micros(us)}` }, h("td", { class: "ms-mono" }, name), num(bytes(size)),
          ...relations.map((relation) => h("td", { class: `use ${relation.split(" ")[0]}`, title: relation }, SHORT[relation.split(" ")[0]] || "")), ...(others ? [h("td", { class: "ms-muted" }, `+${number(others)}`)] : []))))] : []),
      ...(found.more_sets ? [h("div", { class: "ms-muted" }, `${many(found.more_sets, "more token set")} not listed`)] : [])] : []));
  }

  let before: any = {}, last: any = {}; // counters of the step before, for what changed
  function drawCounters() {
    const stats = model.get("stats") || {};
    counters.hidden = stats.sets === undefined;
    if (!counters.open || counters.hidden) return;
    counted.replaceChildren(table(["counter", "#since compiled", "#last change"], (model.get("counters") || []).map(([what, name, label, told, unit]: string[]) => {
        const format = unit === "bytes" ? bytes : number, change = stats[name] - (before[name] ?? stats[name]);
        return h("tr", { title: `${told}: CacheStats.${name}` }, h("td", {}, h("span", { class: "ms-muted" }, `${what}: `), label), h("td", { class: "ms-num", "data-testid": `counter-${name}` }, format(stats[name])),
          h("td", { class: "ms-num", "data-testid": `delta-${name}` }, change ? `${change > 0 ? "+" : "−"}${format(Math.abs(change))}` : "·"));
      })));
  }

  last = before = model.get("stats") || {};
  view.on("change:stats", () => {
    const stats = model.get("stats") || {};
    before = stats.mask_misses >= (last.mask_misses ?? 0) ? last : stats;
    last = stats;
    drawCounters();
  });
  view.on("change:step", () => mark());
  view.draws(["head"], () => put(head, model.get("head") || ""));
  const redraw = view.draws(["visits"], drawChart);
  view.draws(["ways"], drawWays);
  view.draws(["sharing"], drawSharing);
  drawCounters();
  let size = 0;
  view.sized(chart, () => { if (chart.clientWidth !== size) { size = chart.clientWidth; redraw(); } });
});
