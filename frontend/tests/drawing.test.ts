import { describe, expect, it } from "vitest";
import { packed } from "../src/drawing";
import { apart } from "../src/inside.js";

describe("packed", () => {
  const sizes = [90, 40, 120, 60, 75, 300, 20].map((width, k): [number, number] => [width, 30 + ((17 * k) % 50)]);

  it("lets no panel overlap another and keeps their order", () => {
    const [places, size] = packed(sizes);
    places.forEach(([x, y], k) => {
      expect(x + sizes[k]![0]).toBeLessThanOrEqual(size[0]);
      expect(y + sizes[k]![1]).toBeLessThanOrEqual(size[1]);
      for (let other = k + 1; other < places.length; other++) {
        const [x2, y2] = places[other]!;
        expect(x + sizes[k]![0] <= x2 || y + sizes[k]![1] <= y2).toBe(true);
      }
    });
  });

  it("has a size where there is nothing", () => expect(packed([])).toEqual([[], [1, 1]]));
});

describe("apart", () => {
  it("keeps wanted places where they have room", () => expect(apart([10, 40, 70], 20, 0, 100)).toEqual([10, 40, 70]));
  it("moves them apart", () => expect(apart([50, 50, 50], 20, 0, 100)).toEqual([50, 70, 90]));
  it("stays within its bounds", () => expect(apart([90, 95, 99], 20, 0, 100)).toEqual([60, 80, 100]));
  it("is the middle where there is no room", () => expect(apart([1, 2], 20, 10, 4)).toEqual([7, 7]));
});
