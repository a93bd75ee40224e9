// What a page loads: `render` draws a host of views, `still` is a model without Python, `views` are the views themselves.
import { render as host } from "./host.js";
import type { Load } from "./loader";
import { lend } from "./parts";
import stage from "./stage";
import sheet from "sheet:style";
export { still } from "./still";
export { views } from "./views";
import { views } from "./views";

const arrangers: Record<string, any> = { screen: stage };

export function render(given: { model: any; el: HTMLElement; places?: unknown; load: Load }) {
  lend(given.load);
  return host({ ...given, places: given.places, views, arrangers, sheet });
}

// For those who draw one view alone.
export { lend, sheet };
