// The list behind `?`: keys, clicks, colours, and the panels with their keys.
// Read on: dock.js (the keys of the desk), text.js, automaton.js, tokens.js (keys of their own).
import { h } from "./common.js";

const KEYS = {
  "Anywhere": [
    ["← →", "one token back, one token on"], ["shift ← →", "one byte back, one byte on"], ["Home End", "to the beginning, to the end"],
    ["ctrl Z, ctrl shift Z", "take back an edit of the text, do it again"], ["o", "back to how the text went on before the last edit (↩)"],
    ["t", "into the text box"], ["e", "into the source"], ["/", "search the tokens"],
    ["[ ]", "previous, next tab of this dock"], ["m", "maximise this dock, and back"], ["w", "the whole window, and back"],
    ["Esc", "leave a field; close what is open"], ["?", "this list"],
  ],
  "In the text box": [["alt ← →", "step while typing"], ["alt ↑", "back to how the text went on before the last edit"], ["ctrl Z, ctrl Y", "undo, redo"]],
  "In the tokens": [["↑ ↓", "choose the next token; rest on it and a card says why"], ["Enter", "take it"], ["/", "search"]],
  "In the automaton": [["n p", "next, previous active state"], ["Enter", "its card"], ["+ − 0", "zoom in, out, fit"], ["h j k l", "move"], ["f b", "follow; bytes"],
    ["Backspace", "leave the rule"]],
};
const CLICKS = [
  ["a token on the ribbon", "goes there"], ["a token to come, below the text", "takes it"],
  ["a token in a table or the mask", "chooses it: Why explains it, the strip offers it"],
  ["a token or refused text, rested on", "a card says why it cannot come"],
  ["a place in the source", "lights what reads it: levels, nodes, states"], ["a rule or a #/pointer", "shows it in the source"],
  ["↩", "back to how the text went on before it was edited"],
  ["a state", "its card; a call goes into the rule, “n more” opens"], ["the wheel", "zooms the automaton once it has the focus, or with ctrl"],
  ["a tab, twice", "maximises its dock; drag it to another dock"], ["the space between docks", "drag it"],
];
const COLOURS = [
  ["ms-badge accepted", "accepted", "may come: it stays inside its rule"],
  ["ms-badge uncertain", "uncertain", "runs over the end of its rule: the callers decide"],
  ["ms-badge rejected", "rejected", "dies inside its rule; refused are these and the uncertain that the callers refuse"],
  ["mx-step mx-read", "read", "a token that was read; the line below it is the mode: free text, trigger, each tag its own"],
  ["mx-step mx-undone", "undone", "gone back over, still there"],
  ["mx-step mx-half", "half", "read in part"],
  ["mx-refused", "refused", "typed, and cannot come"],
  ["ms-lit-here", "here", "source: is read now; the bar at the left marks its lines"],
  ["ms-lit-next", "next", "source: may come next"],
  ["ms-lit-forbids", "refuses", "source: the reason why a text cannot come"],
  ["ms-lit-mistake", "mistake", "source: cannot be used so"],
  ["ms-lit-chosen", "chosen", "source: what you chose, here or elsewhere"],
  ["ms-dot active", "", "state: active, it waits for the next byte"],
  ["ms-dot waiting", "", "state: waits for the rule that it called"],
  ["ms-dot visited", "", "state: on the way of the text"],
  ["ms-dot fresh", "", "state: made by the last step"],
  ["ms-dot unmade", "", "state: the engine has not gone on from here yet"],
  ["ms-dot ending", "", "state: its rule (or one iteration of it) may end here"],
  ["ms-sample bold", "7", "state: reads bytes; a grey number reads none"],
  ["ms-sample", "- ->", "edge: calls a rule, or leads to what is not drawn (“3 more”)"],
  ["ms-sample dot", "•", "edge: the parser stands here, within its text; the plate beside it is the state"],
  ["ms-sample", "+1", "beside a state: so many ways into it are not drawn"],
];

// The key of the tab that is the `number`-th (from 0) on the desk, docks from left to right and top to bottom.
export const tabKey = (number) => (number < 9 ? `alt ${number + 1}` : number === 9 ? "alt 0" : number < 20 ? `alt shift ${(number - 9) % 10}` : "");
// The number of the tab that a key means; -1 for other keys.
export function tabOf(event) {
  const digit = event.altKey && !event.ctrlKey && !event.metaKey && /^Digit(\d)$/.exec(event.code);
  return digit ? (Number(digit[1]) + 9) % 10 + (event.shiftKey ? 10 : 0) : -1;
}

// `tabs()` gives [{name, title}] in the order of their keys; `bring(name)` shows one.  { node, toggle(shown), shown }.
export function help(tabs, bring, close) {
  const rows = (list) => h("dl", {}, ...list.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]));
  const node = h("div", { class: "ms-view ms-keys", role: "dialog", popover: "manual", tabindex: "-1", "aria-label": "keys, clicks and colours", "data-testid": "keys", hidden: true });
  const content = () => [
    h("header", {}, h("b", {}, "Keys, clicks and colours"), h("button", { type: "button", title: "close (Esc)", "data-testid": "keys-close", onclick: () => close() }, "×")),
    h("section", {}, ...Object.entries(KEYS).flatMap(([title, list]) => [h("h4", {}, title), rows(list)])),
    h("section", {}, h("h4", {}, "Panels"), h("dl", {}, ...tabs().flatMap(({ name, title }, number) => [h("dt", {}, tabKey(number)),
      h("dd", {}, h("button", { type: "button", class: "ms-link", "data-testid": `help-${name}`, onclick: () => bring(name) }, title))])),
    h("h4", {}, "Clicks"), h("div", { class: "ms-clicks" }, rows(CLICKS))),
    h("section", {}, h("h4", {}, "Colours"), h("dl", { class: "ms-colours" }, ...COLOURS.flatMap(([css, sample, what]) => [h("dt", {}, h("span", { class: css }, sample)), h("dd", {}, what)])))];
  return {
    node,
    get shown() { return !node.hidden; },
    toggle(shown = node.hidden) {
      node.replaceChildren(...(shown ? content() : []));
      node.hidden = !shown;
      if (shown === node.matches(":popover-open")) return;
      if (shown) { node.showPopover(); node.scrollTop = 0; node.focus({ preventScroll: true }); } else node.hidePopover();
    },
  };
}
