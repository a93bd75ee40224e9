// The widget's model for a page without Python: plain state and change events under the same host script.
// PACKED is deflated JSON in base64: {parts, modules, styles, arranger, arrangement, place, places}.
// Read on: visualizers/standalone.py, visualizers/esm/host.js.
const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const unpack = (text) => new Response(new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
const revive = (value) => {
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== "object") return value;
  if ("$bytes" in value) return new DataView(decode(value.$bytes).buffer);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revive(item)]));
};
const packed = revive(await unpack("PACKED"));

const linked = ["index", "selected_token", "selection"];
const values = { modules: packed.modules, styles: "", arranger: packed.arranger || "", panels: packed.panels || [], troubles: {}, arrangement: packed.arrangement || {}, place: packed.place || {}, ack: [], mark: "" };
values.parts = packed.parts.map((part, index) => {
  const name = part.name || `view${index}`;
  for (const [trait, value] of Object.entries(part.state)) {
    const full = `${linked.includes(trait) ? "shared" : name}__${trait}`;
    if (!(full in values)) values[full] = value;
  }
  return { name, module: part.module, title: part.title || name, traits: Object.keys(part.state), placed: part.placed || [], given: part.given || [], follows: part.follows || [] };
});

const handlers = new Map();
const pageModel = {
  get: (name) => values[name],
  set(name, value) {
    if (values[name] === value) return;
    values[name] = value;
    for (const handler of [...(handlers.get(`change:${name}`) || [])]) handler(pageModel, value);
  },
  on(event, handler) { handlers.set(event, [...(handlers.get(event) || []), handler]); },
  off(event, handler) { handlers.set(event, (handlers.get(event) || []).filter((kept) => kept !== handler)); },
  save_changes() {},
  send() {},
};
await hostScript.render({ model: pageModel, el: document.getElementById("host"), places: packed.places });
document.documentElement.dataset.ready = "true";
