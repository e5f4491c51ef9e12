import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./scripts.mjs";

const { codeRows, listingOf, measureOf, sourceRows } = load(["code.js"], "codeRows", "listingOf", "measureOf", "sourceRows");
const listings = {
  measures: [[0, "period"], [0, "samples"], [2, "period"], [2, "samples"]],
  functions: [{ name: "f", object: "a" }, { name: "f", object: "b" }],
};

test("a function is its name in its object", () => {
  assert.equal(listingOf(listings, "f", "b"), listings.functions[1]);
  assert.equal(listingOf(listings, "f", "c"), undefined);
  assert.equal(listingOf(undefined, "f", "a"), undefined);
});

test("numbers are those of the event, periods for latencies", () => {
  assert.deepEqual([[0, "value"], [0, "count"], [2, "latency"], [2, "count"], [1, "value"]].map(([event, weight]) => measureOf(listings, event, weight)), [0, 1, 2, 3, -1]);
});

test("lines that are no neighbours have a gap between them, lines without a number come first", () => {
  const source = { rows: [[0, "", [1, 2], [1, 2]], [7, "a"], [8, "b", [3, 4], [5, 6]], [20, "c", [0, 0], [9, 9]]] };
  assert.deepEqual(sourceRows(source, 1), [
    ["?", "", 2, 2, false, [1, 2]], ["7", "a", 0, 0, false, undefined], ["8", "b", 4, 6, false, [3, 4]], null, ["20", "c", 0, 9, false, [0, 0]],
  ]);
});

test("instructions stand under their lines, and jumps point up or down", () => {
  const listing = {
    spots: [["/x/a.c", 3, "f", "i++;"], ["/x/b.h", 0, "g", ""], ["", 0, "", ""]],
    rows: [["10", "jmp 0x11", "", 1, 0], ["11", "call 0x99", "h+0x1", -1, 1, [5], [6]], ["12", "jmp 0x11", "", 1, 1], ["13", "nop", "", -1, 2]],
  };
  assert.deepEqual(codeRows(listing, 0, "f"), [
    ["", "a.c:3  i++;", 0, 0, true],
    ["10", "jmp 0x11 ↓", 0, 0, false, undefined],
    ["", "b.h:? g  ", 0, 0, true],
    ["▸11", "call 0x99  <h+0x1>", 5, 6, false, [5]],
    ["12", "jmp 0x11 ↑", 0, 0, false, undefined],
    ["13", "nop", 0, 0, false, undefined],
  ]);
});

test("a jump to itself goes up", () => {
  const listing = { spots: [["", 0, "", ""]], rows: [["10", "jmp 0x10", "", 0, 0]] };
  assert.deepEqual(codeRows(listing, 0), [["▸10", "jmp 0x10 ↑", 0, 0, false, undefined]]);
});
