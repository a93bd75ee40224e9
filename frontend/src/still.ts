// The widget's model for a page without Python: plain state, and events when it changes.
// Read on: page.ts, host.js (what asks it), visualizers/standalone.py (what `packed` holds).

const LINKED = ["index", "selected_token", "selection"];
type Handler = (model: unknown, value: unknown) => void;

export function still(packed: any) {
  const values: Record<string, any> = {
    arranger: packed.arranger || "",
    panels: packed.panels || [],
    troubles: {},
    place: packed.place || {},
    ack: [],
    mark: "",
  };
  values.parts = packed.parts.map((part: any, index: number) => {
    const name = part.name || `view${index}`;
    for (const [trait, value] of Object.entries(part.state)) {
      const full = `${LINKED.includes(trait) ? "shared" : name}__${trait}`;
      if (!(full in values)) values[full] = value;
    }
    const { module, title, placed, given, follows } = part;
    return { name, module, title: title || name, traits: Object.keys(part.state), placed: placed || [], given: given || [], follows: follows || [] };
  });
  return plain(values);
}

// A model of plain values.
export function plain(values: Record<string, any>) {
  const handlers = new Map<string, Handler[]>();
  const model = {
    get: (name: string) => values[name],
    set(name: string, value: unknown) {
      if (values[name] === value) return;
      values[name] = value;
      for (const handler of [...(handlers.get(`change:${name}`) || [])]) handler(model, value);
    },
    on(event: string, handler: Handler) { handlers.set(event, [...(handlers.get(event) || []), handler]); },
    off(event: string, handler: Handler) { handlers.set(event, (handlers.get(event) || []).filter((kept) => kept !== handler)); },
    save_changes() {},
    send() {},
  };
  return model;
}
