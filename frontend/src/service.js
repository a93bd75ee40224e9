// The page of a server: what runs, and of one request the text, the frontier and the last mask; and a request of its own.
// Texts are set as text, never as markup.  Read on: workbench/serving/watching.py (what comes), frontier.js.
import frontier from "./frontier.js";
import { ask } from "./ask";
import { bytes, h, many, number, put, table } from "./common.js";
import { plain } from "./still";

const place = document.getElementById("service");
const list = h("tbody", {});
const facts = h("div", { class: "ms-bar", "data-testid": "service-facts" });
const title = h("span", { class: "ms-title", "data-testid": "shown-title" });
const badge = h("span", { class: "ms-badge", "data-testid": "shown-state" });
const prompt = h("pre", { class: "prompt", "data-testid": "shown-prompt" });
const text = h("pre", { class: "text", tabindex: "0", "data-testid": "shown-text" });
const mask = h("div", { class: "mask", "data-testid": "shown-mask" });
const trouble = h("div", { class: "ms-note warn", "data-testid": "shown-trouble" });
const items = h("div", {});
const nothing = h("div", { class: "ms-empty" }, "Nothing is chosen: send a request, and choose it in the list.");
const shown = h("div", { class: "shown", hidden: true },
  h("div", { class: "ms-bar" }, title, badge), prompt, text, mask, trouble, items);
place.append(
  h("div", { class: "ms-view ms-service" }, facts, ask(document.querySelector("h1").textContent),
    h("div", { class: "columns" },
      h("div", { class: "list" }, table(["#no.", "request", "must be", "#tokens", ""], list, { "aria-label": "Requests" })),
      h("div", { class: "one" }, nothing, shown))));

// The frontier's own view, over a model of plain values.
const model = plain({ about: {}, items: [], steps: [], index: 0, selected_item: null });
frontier.render({ model, el: items });

let chosen = null; // the number of a request
let follows = true; // until somebody chooses one: the newest that runs
let stream = null;
let drawn = "";

function connect() {
  stream?.close();
  stream = new EventSource(chosen === null ? "/watch" : `/watch?request=${chosen}`);
  stream.onmessage = (event) => draw(JSON.parse(event.data));
  stream.onerror = () => facts.replaceChildren(h("span", { class: "ms-badge rejected" }, "the server does not answer"));
}

function pick(request) {
  follows = false;
  choose(request.number);
}

function choose(which) {
  if (which === chosen) return;
  chosen = which;
  drawn = "";
  connect();
}

function draw(view) {
  const { service } = view;
  facts.replaceChildren(
    h("span", { class: `ms-badge ${service.status === "ok" ? "accepted" : "rejected"}` }, service.status),
    h("span", {}, `${number(service.running)} of ${many(service.rows, "row")} busy`),
    h("span", { class: "ms-muted" }, `${many(service.requests, "request")} here, ${number(service.answered)} answered`),
    h("span", { class: "ms-grow" }),
    h("span", { class: "ms-muted" }, `${many(service.steps, "step")} · grammars ${bytes(service.grammar_bytes)} · keys and values ${bytes(service.cache_bytes)}`));
  const said = JSON.stringify([view.requests, chosen]);
  if (said !== drawn) {
    drawn = said;
    list.replaceChildren(...view.requests.map(line));
  }
  const runs = view.requests.some((request) => request.number === chosen && request.running);
  const next = view.requests.find((request) => request.running) || view.requests[0];
  if (follows && !runs && next && next.number !== chosen && (next.running || chosen === null)) return choose(next.number);
  one(view.shown);
}

function line(request) {
  return h("tr", {
    "aria-selected": String(request.number === chosen), tabindex: "0", class: request.running ? "" : "over", "data-testid": "request",
    onclick: () => pick(request), onkeydown: (event) => { if (event.key === "Enter") pick(request); },
  },
    h("td", { class: "ms-num" }, number(request.number)), h("td", { class: "what" }, request.title || "…"),
    h("td", {}, request.kind.replaceAll("_", " ")), h("td", { class: "ms-num" }, number(request.tokens)),
    h("td", {}, h("span", { class: `ms-badge ${tint(request)}` }, request.state.replaceAll("_", " "))));
}

const tint = (request) => ({ running: "active", waiting: "uncertain", reading: "uncertain", error: "rejected", gone: "rejected", length: "uncertain" })[request.state] || "accepted";

function one(request) {
  nothing.hidden = Boolean(request);
  shown.hidden = !request;
  if (!request) return;
  put(title, `Request ${number(request.number)}`);
  put(badge, request.state.replaceAll("_", " "));
  badge.className = `ms-badge ${tint(request)}`;
  put(prompt, request.prompt);
  prompt.hidden = !request.prompt;
  const below = text.scrollHeight - text.scrollTop - text.clientHeight < 8;
  put(text, request.text);
  if (below) text.scrollTop = text.scrollHeight;
  mask.replaceChildren(...seen(request));
  text.hidden = mask.hidden = request.state === "error" && !request.tokens;
  put(trouble, request.trouble);
  trouble.hidden = !request.trouble;
  items.hidden = !request.frontier;
  if (request.frontier) {
    model.set("about", request.frontier.about);
    model.set("items", request.frontier.items);
  }
}

function seen({ sight, running, tokens }) {
  if (!sight) return [h("span", { class: "ms-muted" }, running ? "the next mask has not been looked at yet" : "nobody looked on while it was written")];
  const strategy = sight.strategy
    ? [h("span", { class: "ms-badge active", title: sight.how }, sight.strategy), h("span", { class: "ms-muted" }, `${sight.how}, ${number(Math.round(sight.microseconds))} µs`)]
    : [];
  const when = running ? "" : `, after ${many(sight.tokens, "token")} of ${number(tokens)}`;
  return [h("b", { "data-testid": "shown-allowed" }, number(sight.allowed)), h("span", {}, `${sight.allowed === 1 ? "token" : "tokens"} may come next${when}`),
    h("span", { class: "ms-muted" }, `(${(100 * sight.share).toPrecision(2)} % of the vocabulary)`), ...strategy];
}

connect();
