// The page of a server: what runs, and of one request the text, the frontier and the last mask; and a request of its own.
// Texts are set as text, never as markup.  Read on: workbench/serving/watching.py (what comes), frontier.js.
import frontier from "./frontier.js";
import { ask } from "./ask";
import { bytes, h, keys, many, morph, number, press, table } from "./common.js";
import { plain } from "./still";

const list = h("tbody", { onkeydown: keys((event) => ({ Enter: press(event) })) });
const facts = h("div", { class: "ms-bar", "data-testid": "service-facts" });
const told = h("div", {}), items = h("div", {});
document.getElementById("service").append(
  h("div", { class: "ms-view ms-service" }, facts, ask(document.querySelector("h1").textContent),
    h("div", { class: "columns" },
      h("div", { class: "list" }, table(["#no.", "request", "must be", "#tokens", ""], list, { "aria-label": "Requests" })),
      h("div", { class: "one" }, told, items))));

// The frontier's own view, over a model of plain values.
const model = plain({ about: {}, items: [], steps: [], index: 0, selected_item: null });
frontier.render({ model, el: items });

let chosen = null; // the number of a request
let follows = true; // until somebody chooses one: the newest that runs
let stream = null;

const muted = (text) => h("span", { class: "ms-muted" }, text);
const td = (text, name) => h("td", { class: name }, text);

function connect() {
  stream?.close();
  stream = new EventSource(chosen === null ? "/watch" : `/watch?request=${chosen}`);
  stream.onmessage = (event) => draw(JSON.parse(event.data));
  stream.onerror = () => morph(facts, h("span", { class: "ms-badge rejected" }, "the server does not answer"));
}

function choose(which) {
  if (which === chosen) return;
  chosen = which;
  connect();
}

function draw({ service, requests, shown }) {
  morph(facts, h("span", { class: `ms-badge ${service.status === "ok" ? "accepted" : "rejected"}` }, service.status),
    h("span", {}, `${number(service.running)} of ${many(service.rows, "row")} busy`),
    muted(`${many(service.requests, "request")} here, ${number(service.answered)} answered`), h("span", { class: "ms-grow" }),
    muted(`${many(service.steps, "step")} · grammars ${bytes(service.grammar_bytes)} · keys and values ${bytes(service.cache_bytes)}`));
  morph(list, requests.map(line));
  const runs = requests.some((request) => request.number === chosen && request.running);
  const next = requests.find((request) => request.running) || requests[0];
  if (follows && !runs && next && next.number !== chosen && (next.running || chosen === null)) return choose(next.number);
  one(shown);
}

const state = (request, props = {}) => h("span", { class: `ms-badge ${TINTS[request.state] || "accepted"}`, ...props }, request.state.replaceAll("_", " "));
const TINTS = { running: "active", waiting: "uncertain", reading: "uncertain", error: "rejected", gone: "rejected", length: "uncertain" };

function line(request) {
  return h("tr", { "aria-selected": String(request.number === chosen), tabindex: "0", class: request.running ? "" : "over", "data-testid": "request",
    onclick: () => { follows = false; choose(request.number); } },
  td(number(request.number), "ms-num"), td(request.title || "…", "what"), td(request.kind.replaceAll("_", " ")), td(number(request.tokens), "ms-num"), td(state(request)));
}

function one(request) {
  const text = () => told.querySelector(".text"), before = text(), below = !before || before.scrollHeight - before.scrollTop - before.clientHeight < 8;
  const pre = (name, said) => h("pre", { class: name, tabindex: "0", "data-testid": `shown-${name}` }, said);
  const wrote = request && (request.state !== "error" || request.tokens > 0);
  morph(told, request ? [
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title", "data-testid": "shown-title" }, `Request ${number(request.number)}`), state(request, { "data-testid": "shown-state" })),
    request.prompt && pre("prompt", request.prompt), wrote && pre("text", request.text), wrote && h("div", { class: "mask", "data-testid": "shown-mask" }, seen(request)),
    request.trouble && h("div", { class: "ms-note warn", "data-testid": "shown-trouble" }, request.trouble)]
    : h("div", { class: "ms-empty" }, "Nothing is chosen: send a request, and choose it in the list."));
  if (below && text()) text().scrollTop = text().scrollHeight;
  items.hidden = !request?.frontier;
  for (const trait of ["about", "items"]) if (request?.frontier) model.set(trait, request.frontier[trait]);
}

function seen({ sight, running, tokens }) {
  if (!sight) return [muted(running ? "the next mask has not been looked at yet" : "nobody looked on while it was written")];
  return [h("b", { "data-testid": "shown-allowed" }, number(sight.allowed)),
    h("span", {}, `${sight.allowed === 1 ? "token" : "tokens"} may come next${running ? "" : `, after ${many(sight.tokens, "token")} of ${number(tokens)}`}`),
    muted(`(${(100 * sight.share).toPrecision(2)} % of the vocabulary)`),
    sight.strategy && h("span", { class: "ms-badge active", title: sight.how }, sight.strategy), sight.strategy && muted(`${sight.how}, ${number(Math.round(sight.microseconds))} µs`)];
}

one(null);
connect();
