// The source where there is no CodeMirror: a text area over a copy of its text that carries the marks; without a kernel
// the copy alone.  Small and honest: no colours of syntax, no line numbers, no folding.
// Read on: source.js (the view), codemirror.js (the same with CodeMirror).
import { h } from "./common.js";

// The marks of a text as a tree of lines; `ranges` are [{ from, to, css, line, title }].
export function markedLines(text, ranges) {
  const lines = [];
  let start = 0;
  for (const line of text.split("\n")) {
    const end = start + line.length;
    const inside = ranges.filter((range) => range.css && range.from < end + 1 && range.to > start);
    const cuts = [...new Set([start, end, ...inside.flatMap((range) => [range.from, range.to])])]
      .filter((cut) => cut >= start && cut <= end).sort((a, b) => a - b);
    const pieces = [];
    for (let index = 0; index + 1 < cuts.length; index += 1) {
      const [from, to] = [cuts[index], cuts[index + 1]];
      const over = inside.filter((range) => range.from <= from && range.to >= to);
      const piece = text.slice(from, to);
      pieces.push(over.length
        ? h("span", { class: over.map((range) => range.css).join(" "), "data-label": over.map((range) => range.title).filter(Boolean).join("; ") }, piece)
        : piece);
    }
    const css = [...new Set(ranges.filter((range) => range.line && range.from <= end && range.to > start).map((range) => range.line))];
    lines.push(h("div", { class: ["ms-source-line", ...css].join(" ") }, ...pieces, line ? null : "\u200b"));
    start = end + 1;
  }
  return lines;
}

export function plainEditor(parent, { label, testid, on }) {
  const copy = h("pre", { class: "ms-source-copy", "aria-hidden": "true" });
  const area = h("textarea", { class: "ms-source-area", spellcheck: "false", wrap: "off", autocapitalize: "off", autocomplete: "off",
    "aria-label": label, "data-testid": testid });
  const box = h("div", { class: "ms-source-plain" }, copy, area);
  parent.append(box);
  let ranges = [];
  const draw = () => { copy.replaceChildren(...markedLines(area.value, ranges)); follow(); };
  const follow = () => { copy.scrollTop = area.scrollTop; copy.scrollLeft = area.scrollLeft; };
  area.addEventListener("scroll", follow);
  area.addEventListener("input", () => { ranges = []; draw(); on.edited(area.value); });
  area.addEventListener("blur", () => { delete area.dataset.leave; });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") area.dataset.leave = "true"; // the next Tab goes on to the next field
    if (event.key !== "Tab" || event.ctrlKey || event.altKey || event.metaKey || area.readOnly || area.dataset.leave) return;
    event.preventDefault();
    if (!event.shiftKey) area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  });
  area.addEventListener("click", () => { if (area.selectionStart === area.selectionEnd) on.clicked(area.selectionStart); });
  const top = (at) => {
    const lines = area.value.slice(0, at).split("\n").length - 1;
    return [lines * parseFloat(getComputedStyle(area).lineHeight), parseFloat(getComputedStyle(area).lineHeight)];
  };
  return {
    kind: "plain",
    get text() { return area.value; },
    show(text) {
      if (area.value === text) return;
      const at = area.selectionStart;
      area.value = text;
      area.setSelectionRange(at, at);
      draw();
    },
    mark(made) { ranges = made; draw(); },
    colour() {},
    sees(at) {
      const [y, height] = top(at);
      return y >= area.scrollTop && y + height <= area.scrollTop + area.clientHeight;
    },
    keep(lost) {
      const [y, height] = top(area.selectionEnd), below = y + 2 * height - area.scrollTop - area.clientHeight;
      if (below > 0 && below <= lost + height) area.scrollTop += below;
    },
    reveal(at) { area.scrollTop = Math.max(0, top(at)[0] - area.clientHeight / 2); },
    select(from, to) { area.focus(); area.setSelectionRange(from, to); if (!this.sees(from)) this.reveal(from); },
    lock(value) { area.readOnly = value; },
    focus() { area.focus(); },
    close() { box.remove(); },
  };
}
