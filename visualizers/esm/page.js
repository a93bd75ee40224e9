// The widget model for a page without Python: plain state, change events, and traits linked between views.
// PACKED is deflated JSON in base64: [{module, state, link}] and {name: source}.  Read on: visualizers/standalone.py.
const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const unpack = (text) => new Response(new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
const { parts, modules } = await unpack("PACKED");

const revive = (value) => {
  if (Array.isArray(value)) return value.map(revive);
  if (value === null || typeof value !== "object") return value;
  if ("$bytes" in value) return new DataView(decode(value.$bytes).buffer);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revive(item)]));
};

const models = parts.map(({ state, link }) => {
  const values = revive(state);
  const handlers = new Map();
  const model = {
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const handler of [...(handlers.get(`change:${name}`) || [])]) handler(value);
      if (link.includes(name)) for (const other of models) if (other !== model && other.get(name) !== undefined) other.set(name, value);
    },
    on(event, handler) { handlers.set(event, [...(handlers.get(event) || []), handler]); },
    off(event, handler) { handlers.set(event, (handlers.get(event) || []).filter((kept) => kept !== handler)); },
    save_changes() {},
    send() {},
  };
  return model;
});
const loaded = {};
for (const [name, source] of Object.entries(modules))
  loaded[name] = (await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default;
parts.forEach(({ module }, index) => loaded[module].render({ model: models[index], el: document.getElementById(`part${index}`) }));
document.documentElement.dataset.ready = "true";
