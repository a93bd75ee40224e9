// What a page loads: `render` draws a host of views, `still` is a model without Python; the rest is for those who draw one
// view alone.
export { render } from "./host.js";
export { lend } from "./loader";
export { still } from "./still";
export { views } from "./views";
export { default as sheet } from "sheet:style";
