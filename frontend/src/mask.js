// The mask, one pixel a token id: a picture that Python makes (visualizers/png.py), in rows of `columns` ids.
// Read on: visualizers/live_tokens.py (MaskMap).
import { h, key, morph, defineView, number, put } from "./common.js";

const LABELS = { accepted: "allowed", uncertain: "uncertain, taken", refused: "uncertain, refused", rejected: "rejected" };

export default defineView("mask", "mask-map", ({ view, model }) => {
  const legend = h("span", { class: "ms-group" }, ...Object.entries(LABELS).map(([kind, label]) => key(`--${kind}`, label)));
  const count = h("span", { class: "ms-mono", "data-testid": "mask-count" });
  const picture = h("img", { tabindex: "0", "data-testid": "mask-picture" });
  const few = h("div", { class: "few", "data-testid": "mask-few" });
  const note = h("div", { class: "ms-note ms-mono", role: "status", "data-testid": "mask-note" });
  view.root.append(
    h("div", { class: "ms-bar" }, h("span", { class: "ms-title" }, "Mask"), count, h("span", { class: "ms-grow" }), legend),
    few, h("div", { class: "ms-frame" }, picture), note);
  const about = () => ({ size: 0, allowed: 0, columns: 8, ...model.get("about") });

  function draw() {
    const { size, allowed } = about();
    if (picture.src !== model.get("picture")) picture.src = model.get("picture");
    put(count, `${number(allowed)} of ${number(size)} allowed`);
    picture.alt = `token mask, ${count.textContent}`;
    few.hidden = !about().few?.length;
    morph(few, (about().few || []).map(([id, glyph]) => h("button", { type: "button", "data-token": id, "aria-pressed": String(id === view.token()), title: `token ${id}`, onclick: () => select(id) }, glyph || "∅")));
    tell(view.token());
  }

  let shown = null, delay = 0;
  function tell(id) {
    clearTimeout(delay);
    const known = id != null && id >= 0 && id < about().size;
    shown = known ? id : null;
    put(note, known ? `${id}` : "point at a pixel to read its token; a click chooses it");
    if (!known || view.offline()) return;
    delay = setTimeout(() => {
      view.forget();
      view.ask({ type: "token", id }, ({ row }) => {
        if (shown === id && row) put(note, `${id} · ${LABELS[row.kind === "uncertain" && !row.allowed ? "refused" : row.allowed && row.kind !== "uncertain" ? "accepted" : row.kind]} · ${row.glyph || "∅"}`);
      });
    }, 40);
  }

  const under = (event) => {
    const box = picture.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width * picture.naturalWidth, (event.clientY - box.top) / box.height * picture.naturalHeight];
    return Math.floor(y) * about().columns + Math.floor(x);
  };
  const select = (id) => { if (id >= 0 && id < about().size) view.pick(id); };
  view.listen(picture, "pointermove", (event) => tell(under(event)));
  view.listen(picture, "pointerleave", () => tell(view.token()));
  view.listen(picture, "click", (event) => select(under(event)));
  // Up and down walk the vocabulary; left and right are left to the page, where they step.
  view.keys(picture, () => {
    const { size, columns } = about(), chosen = view.token();
    const walk = (by) => () => {
      const id = Math.min(size - 1, Math.max(0, (chosen ?? -by) + by));
      if (id !== chosen) select(id);
    };
    return { ArrowDown: walk(1), ArrowUp: walk(-1), PageDown: walk(columns), PageUp: walk(-columns) };
  });
  view.on("change:selection", draw);
  view.defer(() => clearTimeout(delay));
  view.draws(["picture", "about"], draw);
});
