// The model cockpit: what the model wanted, what the grammar left of it, and what that cost, token by token.
// Read on: workbench/reports/cockpit.py (what the traits hold).
import { code, h, key, many, measured, morph, defineView, number, svg, tab as tabOf, table } from "./common.js";
import { grid, logarithmic, timeline } from "./token_charts.js";
import { HOWS, TOLD, micros, percent } from "./run";

const TABS = [["step", "This token"], ["run", "Mass, entropy"], ["time", "Time"]];
const LEFT = 52;
const FORCED = 1, GIVEN = 2, REFUSED = 4, WISH = 8;
const NOTED = [[FORCED, "", "the grammar left no choice"], [GIVEN, "given", "written by hand"], [WISH, "wish", "the model's favourite was refused"],
  [REFUSED, "refused", "the grammar refuses it"]]; // [flag, class, what is told]
const CLOCK_TINTS = ["--ms-rejected", "--ms-accent", "--mask-2", "--ms-accepted", "--ms-uncertain"];

// What the mask removed; never all of it where something was left, however little (1 − 1e-17 is 1).
const removed = (mass) => mass > 0 && mass <= 0.0005 ? ">99.9 %" : percent(1 - mass);
const bits = (value) => value == null ? "–" : `${value.toFixed(2)}`;

export default defineView("cockpit", "cockpit-view", ({ view, model, el }) => {
  const summary = h("span", { class: "ms-muted", "data-testid": "cockpit-summary" });
  const tabs = h("span", { class: "ms-group", role: "tablist" });
  const stop = h("button", { type: "button", "data-testid": "cockpit-stop", title: "end the generation before the next token", onclick: () => model.send({ kind: "stop" }) }, "■ stop");
  const apart = h("div", { class: "ms-note warn apart", role: "status", "data-testid": "cockpit-apart" });
  const strips = h("div", { class: "strips", "data-testid": "cockpit-strips" });
  const page = h("div", { class: "page", tabindex: "0", "data-testid": "cockpit-page" });
  const side = (source) => model.send({ kind: "beside", source });
  const other = h("textarea", { rows: 1, spellcheck: "false", "data-testid": "other-source", "aria-label": "another source", placeholder: "another schema, tools or a grammar" });
  const under = h("button", { type: "button", "data-testid": "beside-other", title: "write with the same prompt and seed under this source, and show it below", onclick: () => side(other.value) }, "also under this source");
  const beside = h("button", { type: "button", "data-testid": "beside", title: "write with the same prompt and seed, and show it below", onclick: () => side("") }, "also without the grammar");
  const message = h("div", { class: "ms-note warn", role: "status", "data-testid": "cockpit-message" });
  const foot = h("div", { class: "again" }, beside, other, under);
  view.root.append(h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Model"), summary, h("span", { class: "ms-grow" }), stop, tabs), apart, strips, page, foot, message);

  // Tokens are numbered as the line of tokens numbers them: step k is the token that was taken as the k-th, and who
  // stands behind it (`place` is k) sees it in detail; at the beginning the first one.  `data-step` counts from 0.
  const first = () => (model.get("runs") || [])[0];
  const at = () => { const run = first(); return run ? Math.max(0, Math.min(model.get("place"), run.from + run.text.length) - 1) : 0; };
  const goto = (step) => (model.get("steps") || []).length ? view.commit("index", step + 1) : model.send({ kind: "goto", index: step + 1 });
  // The first token of the run that is not in the present text, and what lies beyond it.
  const parting = () => (model.get("about") || {}).apart ?? null;
  const beyond = (step) => parting() !== null && step >= parting() + ((model.get("about") || {}).cut ? 0 : 1);
  // What the grammar did to the model, in the screen's words.
  const how = (run, k) => !run.constrained || run.flags[k] & FORCED ? "forced" : run.flags[k] & WISH ? "overruled" : run.mass[k] < 0.9 ? "pushed" : "agreed";
  const tint = (run, k) => run.flags[k] & REFUSED ? "--ms-bad" : `--${how(run, k)}`;

  let chips = []; // of the first run
  function token(run, k, present) {
    const step = run.from + k, noted = NOTED.filter(([flag]) => run.flags[k] & flag), lost = present && beyond(step);
    return h("button", { type: "button", role: "listitem", "data-step": step, tabindex: "-1", style: `--tint:var(${tint(run, k)})`, class: noted.map(([, name]) => name).join(" "), disabled: lost,
      title: [`step ${step + 1}: p${run.constrained ? " before the mask" : ""} = ${percent(run.p[k])}${run.constrained ? `, the mask removed ${removed(run.mass[k])}` : ""}`,
        ...noted.map(([, , told]) => told), lost && "not in the present text"].filter(Boolean).join("; "),
      onclick: () => goto(step) }, run.text[k]);
  }
  function drawStrips() {
    const runs = model.get("runs") || [];
    const fork = () => h("span", { class: "fork", title: "from here on it differs from the first run", "data-testid": "fork" }, "≠");
    strips.replaceChildren(...runs.map((run, r) => h("div", { class: "strip", role: "list", "data-testid": "cockpit-strip", "aria-label": `tokens of ${run.name}` },
      h("span", { class: "name", title: run.about }, run.name, run.verdict && ` (${run.verdict})`), run.from > 0 && h("span", { class: "ms-muted" }, `… ${number(run.from)} before `),
      run.text.map((_, k) => [run.parts === run.from + k && fork(), token(run, k, r === 0)]))));
    chips = [...strips.querySelectorAll(".strip:first-child button")];
    strips.hidden = tabs.hidden = !runs.length;
  }
  // What would be here.
  function nothing() {
    const { call } = model.get("about") || {}, told = (...text) => h("p", {}, ...text);
    return [h("div", { class: "ms-empty nothing", "data-testid": "cockpit-nothing" }, !call || view.offline() ? told("No generation is shown.") : [
      told(h("b", {}, "Press ▶ Run above."), " No model has run here yet, and a recorded run keeps no more than the screen shows of it."),
      told("Then each token that the model writes stands here: what the model wanted, what the mask left of that, how much the mask took away, and what both cost. " +
        "A click writes the same prompt without the grammar, or under another source, and shows where the two part."),
      told("In a cell: ", code(`\`${call}\``))])];
  }

  function stepPage() {
    const run = first(), k = at();
    const detail = (model.get("details") || [])[k] || model.get("detail") || {};
    if (!run.text.length || (detail.step !== undefined && detail.step !== k)) return [h("div", { class: "ms-empty" }, "No token was drawn by the model here.")];
    const i = k - run.from;
    if (i < 0) return [h("div", { class: "ms-empty" }, "This token is before those that are shown.")];
    const vocab = (model.get("about") || {}).vocab;
    const fact = (name, value, title, testid) => h("span", { title }, `${name} `, h("b", testid ? { "data-testid": testid } : {}, value));
    const facts = h("div", { class: "facts" },
      h("span", { "data-testid": "cockpit-step" }, `${model.get("place") ? "" : "next, "}step ${number(k + 1)} `, h("b", {}, run.text[i])),
      h("span", { class: "ms-muted", "data-testid": "cockpit-mask", title: "the mask that this token was drawn from: the one that the screen and the caches show after the step before" }, `by the mask after step ${number(k)}`),
      fact("removed by the mask", removed(run.mass[i]), "probability that the model gave to refused tokens (1 − feasible mass)", "mass-removed"),
      fact("entropy, bits", `${bits(run.entropy[i])} → ${bits(run.masked[i])}`, "of the model's distribution, and of what the mask leaves of it", "entropy"),
      fact("allowed", `${number(detail.allowed ?? 0)} of ${number(vocab)}`, "tokens that the mask allows from which this token was drawn", "allowed-count"),
      ...run.us[i].map((value, c) => { const [name, told] = model.get("about").clocks[c]; return fact(name, micros(value), told + (name === "mask" && detail.kind ? ` (${detail.kind})` : "")); }));
    const most = Math.max(0.0001, ...(detail.options || []).flatMap(([, , before, after]) => [before, after]));
    const share = (kind, value) => [h("span", { class: "share" }, percent(value)), h("i", { class: `bar ${kind}`, style: `width:${Math.max(0, (36 * value) / most)}px` })];
    const rows = (detail.options || []).map(([id, text, before, after, allowed, why]) =>
      h("tr", { class: `${allowed ? "" : "refused "}${id === detail.id ? "drawn" : ""}`, "data-testid": "option", "data-token": id, "data-allowed": String(allowed) },
        h("td", { class: "ms-mono", title: `token ${id}` }, text, id === detail.id ? " ◂" : ""),
        h("td", { class: "value" }, ...share("before", before)), h("td", { class: "value" }, ...(allowed ? share("after", after) : [h("span", { class: "share" }, "–")])),
        h("td", { class: "why", title: why }, allowed ? (id === detail.id ? h("span", { class: "ms-badge active" }, run.flags[i] & GIVEN ? "written by hand" : "drawn") : "") : h("span", {}, h("span", { class: "ms-badge rejected" }, "refused"), " ", why))));
    return [facts, rows.length ? table(["token (◂ taken)", ["before the mask", "the model's own probability"], ["after the mask", "after it, rescaled to 1; before temperature, top-k and top-p"], ""], rows, { "data-testid": "options" })
      : h("div", { class: "ms-empty" }, "This generation was not recorded in detail (record=False).")];
  }

  let move = () => {};
  let right = 720;
  const slot = el.closest(".ms-slot");
  const titled = (title, top, ticks, place) => [...grid(ticks, place, LEFT, right), svg("text", { x: LEFT + 4, y: top - 5 }, title)];
  function chart(own, draw, legend, testid) {
    const run = first(), count = run ? run.text.length : 0;
    if (!count) return [h("div", { class: "ms-empty" }, "No token was drawn yet.")];
    right = Math.max(280, (page.clientWidth || 740) - 20);
    const keys = h("div", { class: "facts keys" }, legend);
    page.replaceChildren(keys);
    const high = (slot ? Math.max(90, page.clientHeight - 10 - keys.offsetHeight) : own) - 16;   // beside the source what the legend leaves
    const gap = (right - LEFT) / count;
    const made = timeline({ wide: right, left: LEFT, gap, count, high, foot: 16, testid, label: `${count} tokens`, go: (k) => goto(run.from + k) }, [...draw(run, gap, (k) => LEFT + k * gap, high),
      svg("text", { x: right, y: high + 13, "text-anchor": "end" }, `step ${number(run.from + 1)} to ${number(run.from + count)} →`)]);
    move = () => made.mark(at() - run.from);
    move();
    return [keys, made.picture];
  }
  const line = (values, x, gap, y, colour) => {
    const path = values.map((value, k) => value == null ? "" : `${k && values[k - 1] != null ? "L" : "M"}${(x(k) + gap / 2).toFixed(1)} ${y(value).toFixed(1)}`);
    return svg("path", { class: "line", d: path.join(""), style: `stroke:var(${colour})` });
  };

  function runPage() {
    return chart(236, (run, gap, x, high) => {
      const tall = Math.round(0.52 * (high - 38)), low = 38 + tall, small = high - low, wide = Math.max(0.5, gap - (gap > 3 ? 1 : 0));
      const y = (share) => 18 + tall - tall * share, most = Math.max(1, ...run.entropy.concat(run.masked).filter((value) => value != null)), z = (value) => low + small - (small * value) / most;
      return [...titled("probability that the mask removed", 18, [[0, "0 %"], ...(tall > 50 ? [[0.5, "50 %"]] : []), [1, "100 %"]], y),
        ...run.mass.map((mass, k) => svg("rect", { x: x(k), width: wide, y: y(1 - mass), height: Math.max(0.5, y(0) - y(1 - mass)), style: `fill:var(${tint(run, k)})` })),
        ...titled("entropy, bits", low, [[0, "0"], [most, most.toFixed(1)]], z), line(run.entropy, x, gap, z, "--ms-rejected"), line(run.masked, x, gap, z, "--ms-accepted")];
    }, [...HOWS.map((name) => key(`--${name}`, name, TOLD[name])), h("span", { class: "ms-muted" }, "entropy"), key("--ms-rejected", "before the mask"), key("--ms-accepted", "after it")], "mass-chart");
  }

  function timePage() {
    const clocks = (model.get("about") || {}).clocks || [], us = first()?.us || [];
    return chart(210, (run, gap, x, high) => {
      const { place, powers } = logarithmic([1, 10, ...us.flat().filter((value) => value > 0)], 0, high - 2, high - 20);
      const ticks = powers.map((power) => 10 ** power).map((value) => [value, value >= 1000 ? `${value / 1000} ms` : `${Number(value.toPrecision(1))} µs`]);
      return [...titled("time of each token (log)", 18, ticks, place), ...clocks.map((clock, c) => line(us.map((times) => times[c] > 0 ? times[c] : null), x, gap, place, CLOCK_TINTS[c]))];
    }, clocks.map(([name, told], c) => {
      const total = us.reduce((sum, times) => sum + times[c], 0);
      return key(CLOCK_TINTS[c], `${name} ${micros(total)}`, `${told}: ${micros(total)} in all`);
    }), "time-chart");
  }

  const pages = { step: stepPage, run: runPage, time: timePage };
  function drawPage() {
    const tab = pages[model.get("tab")] ? model.get("tab") : "step";
    morph(tabs, TABS.map(([name, label]) => tabOf(`cockpit-tab-${name}`, null, name === tab, () => view.commit("tab", name), label)));
    move = () => {};
    page.replaceChildren(...(first() ? pages[tab]() : nothing()));
    moved();
  }

  let rows = 0;
  const reveal = measured(() => {   // the place where the newest run parts from the first
    const fork = [...strips.querySelectorAll(".fork")].pop();
    if (fork) strips.scrollLeft = Math.max(0, fork.offsetLeft - strips.clientWidth / 2);
  });
  let shownStep = -1, here = null;
  const follow = measured(() => {   // scrolls the strips alone, never the page around them
    const left = here.offsetLeft, name = here.parentElement.firstChild.offsetWidth;   // it stays in sight, over what is scrolled
    if (left < strips.scrollLeft + name || left + here.offsetWidth > strips.scrollLeft + strips.clientWidth) strips.scrollLeft = Math.max(0, left - strips.clientWidth / 2);
  });
  function moved() {
    const run = first(), k = at();
    chips.forEach((chip) => chip.classList.toggle("now", Number(chip.dataset.step) === k));
    here = run && chips[k - run.from];
    if (here && k !== shownStep) follow();
    shownStep = k;
    move();
  }

  let drawn = null;   // what the strips were drawn from: of a saved page every place has its own `about`, mostly the same
  function draw() {
    const about = model.get("about") || {}, run = first();
    const now = JSON.stringify([model.get("runs"), about.apart, about.cut]);
    if (now !== drawn) { drawn = now; drawStrips(); }
    const forced = run ? run.flags.filter((flags) => flags & FORCED).length : 0, wishes = run ? run.flags.filter((flags) => flags & WISH).length : 0;
    const shorter = run && parting() !== null && about.cut; // a stop string, which belongs to no text, or an edit
    summary.textContent = run ? many(run.from + run.text.length, "token") + (shorter ? `, ${number(parting())} of them in the text` : "") + (run.constrained ? ` · ${number(wishes)} overruled • · ${number(forced)} forced` : " · without a grammar") : "";
    summary.title = run && run.constrained ? `at ${number(wishes)} tokens the model's favourite was refused (•), at ${number(forced)} the grammar left no choice` : "";
    stop.hidden = !about.running;
    foot.hidden = !about.again || view.offline();
    beside.disabled = under.disabled = Boolean(about.running);
    beside.textContent = run && !run.constrained ? "also under the grammar" : "also without the grammar";
    apart.hidden = parting() === null;
    apart.textContent = apart.hidden ? "" : about.cut ? `The present text ends after step ${number(parting())} of this run.`
      : `This run is not the present text: they differ from step ${number(parting() + 1)} on.`;
    message.textContent = about.message || "";
    message.hidden = !about.message;
    drawPage();
    const count = (model.get("runs") || []).length;
    if (count > Math.max(1, rows)) reveal();
    rows = count;
  }

  let size = "";
  view.sized(page, () => {
    const now = `${page.clientWidth} ${slot ? page.clientHeight : 0}`;
    if (now !== size) { size = now; if (here) follow(); if (model.get("tab") !== "step") drawPage(); }
  });
  for (const trait of ["tab", "detail", "details"]) view.on(`change:${trait}`, drawPage);
  view.on("change:place", () => { if ((pages[model.get("tab")] || stepPage) === stepPage) drawPage(); else moved(); });
  view.draws(["about", "runs"], draw);
});
