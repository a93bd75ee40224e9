import { expect, test } from "vitest";

import { still } from "../src/still";

const packed = {
  parts: [
    { module: "text", name: "text", state: { index: 3, box: "ab" } },
    { module: "mask", name: "mask", state: { index: 7, bits: "01" }, placed: ["bits"], given: ["tab"], follows: ["place"] },
  ],
};

test("views share what is linked, and the first of them says what it is", () => {
  const model = still(packed);
  expect(model.get("shared__index")).toBe(3);
  expect(model.get("text__box")).toBe("ab");
  expect(model.get("mask__bits")).toBe("01");
  expect(model.get("parts")[1]).toEqual({
    name: "mask", module: "mask", title: "mask", traits: ["index", "bits"], placed: ["bits"], given: ["tab"], follows: ["place"],
  });
});

test("a change is told once, and not to those who have left", () => {
  const model = still(packed);
  const heard: unknown[] = [];
  const hear = (_: unknown, value: unknown) => { heard.push(value); };
  model.on("change:text__box", hear);
  model.set("text__box", "abc");
  model.set("text__box", "abc");
  model.off("change:text__box", hear);
  model.set("text__box", "abcd");
  expect(heard).toEqual(["abc"]);
});
