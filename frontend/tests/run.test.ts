import { expect, test } from "vitest";

import { costs, figure, height, pause, percent, placeAt, tokenAt, type Token } from "../src/run";

const tokens: Token[] = [
  ["{", "agreed", "made", 120, "step 1", null],
  ["\"unit\":", "pushed", "found", 0.1, "step 2", null],
  ["cel<", "overruled", "put together", 1000, "step 3", null],
  ["\n", "forced", "", 0, "step 4", null],
];

test("a character leads to its token, and what is behind all of them to the end", () => {
  expect([0, 1, 7, 8, 11, 12, 13, 99].map((at) => tokenAt(tokens, at))).toEqual([0, 1, 1, 2, 2, 3, 4, 4]);
});

test("a fraction of a track leads to a place within it", () => {
  expect([-1, 0, 0.5, 0.99, 1, 2].map((at) => placeAt(4, at))).toEqual([0, 0, 2, 3, 4, 4]);
});

test("bars are logarithmic, and none that was measured is invisible", () => {
  expect(height(0)).toBe(0);
  expect(height(0.01)).toBeCloseTo(0.06);
  expect(height(100)).toBeCloseTo(0.6);
  expect(height(1e9)).toBe(1);
});

test("a run is looked at longest where the model was overruled", () => {
  expect(pause(tokens, 2)).toBeGreaterThan(pause(tokens, 1));
  expect(pause(tokens, 1)).toBeGreaterThan(pause(tokens, 0));
});

test("costs count the masks that are known", () => {
  expect(costs(tokens)).toEqual({ us: 1120.1, counts: [1, 1, 1] });
});

test("what is left is never written as nothing, nor is nearly all as all", () => {
  expect([1, 0.9999, 0.5, 0.0123, 0.0001, 0, null].map(percent)).toEqual(["100 %", ">99.9 %", "50.0 %", "1.2 %", "<0.1 %", "0 %", "–"]);
});

test("a figure holds the text, escaped, and a bar for each mask", () => {
  const drawn = figure({ tokens, parts: [], refused: "" });
  expect(drawn).toContain("cel&#60;");
  expect(drawn).not.toContain("cel<");
  expect(drawn).toContain("↵");
  expect(drawn.match(/<title>/g)).toHaveLength(4);
  expect(drawn.match(/<rect /g)).toHaveLength(1 + 4 + 3 + 4); // paper, tokens, costs, legend
});
