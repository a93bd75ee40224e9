import { expect, test } from "vitest";

import { intervals, times, type Effect } from "../src/intervals";

const effects: Effect[] = [
  ["jit", "compile", 120, 8, 6, 10, ""],
  ["a<b", "compile", 80, 1.02, 0.9, 1.2, ""],
  ["cache", "compile", null, null, null, null, "too many states"],
  ["jit", "mask", 12, 0.31, null, null, ""],
];
const drawn = intervals([["compile", "preprocessing"], ["mask", "one mask"]], effects);

test("each measured variant has a dot, and an interval where it was measured more than once", () => {
  expect(drawn.match(/<circle /g)).toHaveLength(3);
  expect(drawn.match(/stroke-width="2"/g)).toHaveLength(2);
});

test("a dot is filled where the interval leaves 1 out", () => {
  expect(drawn.match(/<circle [^>]*fill="none"/g)).toHaveLength(2);
});

test("what is refused says why, and names are escaped", () => {
  expect(drawn).toContain("refused<title>too many states");
  expect(drawn).toContain(">a&#60;b<");
});

test("two digits below ten, three above", () => {
  expect([0.314, 8, 12.34, 1234].map((one) => times(one).slice(2))).toEqual(["0.31", "8.0", "12.3", "1,234"]);
});

test("an interval wider than all that was measured does not squeeze the dots, and says that nothing is sure", () => {
  const wide = intervals([["compile", "preprocessing"]], [["jit", "compile", 1, 2, 1e-6, 1e6, ""], ["cache", "compile", 1, 4, 3, 5, ""]]);
  expect(wide).toContain("unsure");
  const [one, two] = [...wide.matchAll(/<circle cx="([\d.]+)"/g)].map(([, x]) => Number(x));
  expect(two - one).toBeGreaterThan(8);
});
