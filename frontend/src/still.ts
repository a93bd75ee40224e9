// The widget's model for a page without Python: plain state, and events when it changes.
// Read on: page.ts, host.js (what asks it), visualizers/standalone.py (what `packed` holds).

import { LINKED, emitter } from "./common.js";

export function still(packed: any) {
  const values: Record<string, any> = { arranger: packed.arranger || "", panels: packed.panels || [], troubles: {}, place: packed.place || {}, ack: [], mark: "" };
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
  const { on, off, emit } = emitter();
  const model = {
    get: (name: string) => values[name],
    set(name: string, value: unknown) {
      if (values[name] === value) return;
      values[name] = value;
      emit(`change:${name}`, model, value);
    },
    on, off, save_changes() {}, send() {},
  };
  return model;
}
