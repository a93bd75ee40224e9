// The mask, one pixel a token id, in rows of 512 (fewer for a small vocabulary).  Two bits a token arrive as bit masks: allowed, and uncertain.
// Read on: visualizers/live.py (MaskMap).
import { channel, h, defineView, number, onTheme } from "./common.js";

// The same rule as visualizers/png.py.
const columns = (size) => Math.min(512, Math.max(8, 8 * Math.ceil(Math.floor(Math.sqrt(4 * size)) / 8)));
const KINDS = ["rejected", "accepted", "refused", "uncertain"];
const LABELS = { rejected: "rejected", accepted: "allowed", refused: "uncertain, refused", uncertain: "uncertain, taken" };

export default defineView("mask", "mask-map", ({ view, model }) => {
  const python = channel(model, view);
  const swatches = {};
  const legend = h("span", { class: "ms-group" });
  for (const kind of ["accepted", "uncertain", "refused", "rejected"]) {
    swatches[kind] = h("i", { class: kind });
    legend.append(h("span", { class: "ms-key" }, swatches[kind], LABELS[kind]));
  }
  legend.style.gap = "8px";
  const count = h("span", { class: "ms-mono", "data-testid": "mask-count" });
  const canvas = h("canvas", { tabindex: "0", "data-testid": "mask-canvas", role: "img" });
  const note = h("div", { class: "ms-note ms-mono", role: "status", "data-testid": "mask-note" });
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Mask"), count, h("span", { class: "ms-grow" }), legend),
    h("div", { class: "ms-frame" }, canvas), note);

  const bit = (data, id) => (data && (id >> 3) < data.byteLength ? (data.getUint8(id >> 3) >> (id & 7)) & 1 : 0);
  const kind = (id) => KINDS[bit(model.get("mask"), id) + 2 * bit(model.get("uncertain"), id)];
  const rgb = (node) => getComputedStyle(node).backgroundColor;

  // The style sheet knows the colours; a 1-pixel canvas turns whatever notation it computes to into bytes.
  function palette() {
    const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    return Object.fromEntries(KINDS.map((name) => {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = rgb(swatches[name]);
      pixel.fillRect(0, 0, 1, 1);
      return [name, [...pixel.getImageData(0, 0, 1, 1).data]];
    }));
  }

  // The colours are known once the view is in the page and in sight; until then there is nothing to draw with.
  const attached = () => canvas.isConnected && canvas.getClientRects().length > 0;
  let painted = null; // what the canvas shows: traits and colours
  let allowed = 0;

  function draw() {
    const size = model.get("size"), mask = model.get("mask"), uncertain = model.get("uncertain");
    if (!attached()) return;
    const colours = palette();
    const now = [size, mask, uncertain, ...KINDS.map((name) => colours[name].join())];
    if (!painted || now.some((value, k) => value !== painted[k])) {
      painted = now;
      paint(size, mask, uncertain, colours);
    }
    count.textContent = `${number(allowed)} of ${number(size)} allowed`;
    canvas.setAttribute("aria-label", `token mask, ${count.textContent}`);
    tell(model.get("selected_token"));
  }

  function paint(size, mask, uncertain, colours) {
    const width = columns(size), height = Math.max(1, Math.ceil(size / width));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const words = new Uint32Array(image.data.buffer);
    const table = new Uint32Array(KINDS.map((name) => new Uint32Array(new Uint8ClampedArray(colours[name]).buffer)[0]));
    const bytes = (data) => (data ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(0));
    const yes = bytes(mask), unsure = bytes(uncertain);
    allowed = 0;
    for (let id = 0; id < size; id++) {
      const bit = (yes[id >> 3] >> (id & 7)) & 1;
      allowed += bit;
      words[id] = table[bit + 2 * ((unsure[id >> 3] >> (id & 7)) & 1)];
    }
    context.putImageData(image, 0, 0);
  }

  let shown = null;
  let delay = 0;
  function tell(id) {
    if (id == null || id < 0 || id >= model.get("size")) {
      shown = null;
      note.textContent = "point at a pixel; click selects its token";
      return;
    }
    const text = `${id} · ${LABELS[kind(id)]}`;
    if (shown !== id) note.textContent = text;
    shown = id;
    if (model.get("offline")) return;
    clearTimeout(delay);
    delay = setTimeout(() => {
      python.forget();
      python.ask({ type: "token", id }, (reply) => {
        if (shown === id && reply.row) note.textContent = `${text} · ${reply.row.glyph || "∅"}`;
      });
    }, 40);
  }

  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * canvas.width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * canvas.height);
    return y * canvas.width + x;
  };
  const select = (id) => {
    if (id >= 0 && id < model.get("size")) view.commit("selected_token", id === model.get("selected_token") ? null : id);
  };
  view.listen(canvas, "pointermove", (event) => tell(under(event)));
  view.listen(canvas, "pointerleave", () => tell(model.get("selected_token")));
  view.listen(canvas, "click", (event) => select(under(event)));
  // Up and down walk the vocabulary; left and right are left to the page, where they step.
  view.listen(canvas, "keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: canvas.width, PageUp: -canvas.width }[event.key];
    if (by === undefined) return;
    const id = Math.min(model.get("size") - 1, Math.max(0, (model.get("selected_token") ?? -by) + by));
    if (id !== model.get("selected_token")) select(id);
    event.preventDefault();
    event.stopPropagation();
  });
  view.on("change:selected_token", () => tell(model.get("selected_token")));
  onTheme(view, () => requestAnimationFrame(draw));
  view.sized(canvas.parentElement, draw); // also tells when the view comes into the page, or into sight
  view.defer(() => clearTimeout(delay));
  view.draws(["mask", "uncertain", "size"], draw);
});
