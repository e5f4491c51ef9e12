import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./scripts.mjs";

const { oneOf, anyText, numberBelow, readFragment, writeFragment, readRanges, writeRanges, ViewHistory } = load(
  ["view_state.js"], "oneOf", "anyText", "numberBelow", "readFragment", "writeFragment", "readRanges", "writeRanges", "ViewHistory");

const fields = {
  order: oneOf("heavy", "heavy", "time"), search: anyText(""), event: numberBelow(1, 3),
  zoom: { initial: [], read: readRanges, write: writeRanges },
};
const start = { order: "heavy", search: "", event: 1, zoom: [] };

test("a fragment and its view are each other's inverse", () => {
  for (const [fragment, view] of [
    ["", {}],
    ["order=time&event=2&zoom=0-3.5_", { order: "time", event: 2, zoom: [[0, 3.5], null] }],
    ["search=%5Ea%26b%3D%0Ac%24&zoom=_1-2", { search: "^a&b=\nc$", zoom: [null, [1, 2]] }],
  ]) {
    assert.deepEqual(readFragment(`#${fragment}`, fields), { ...start, ...view });
    assert.equal(writeFragment({ ...start, ...view }, fields), fragment);
  }
});

test("what a fragment tells wrongly is as at the start", () => {
  for (const bad of ["order=up", "event=3", "event=-1", "event=1e0", "event=", "zoom=2-1", "zoom=x", "zoom=1-2-3", "constructor=1", "__proto__=2"]) {
    assert.deepEqual(readFragment(`#${bad}`, fields), start, bad);
  }
});

/** A history without a browser: the addresses it holds. */
function historyOf(act) {
  const held = [""];
  const kept = Object.entries({
    location: { get hash() { return held.at(-1) && `#${held.at(-1)}`; }, href: "file:///x.html#old" },
    history: { pushState: (_, __, hash) => held.push(hash.slice(1)), replaceState: (_, __, hash) => held.splice(-1, 1, hash.slice(1)) },
    addEventListener: () => {},
  }).map(([name, value]) => [name, Object.getOwnPropertyDescriptor(globalThis, name), Object.defineProperty(globalThis, name, { value, configurable: true })]);
  let view = "";
  const steps = new ViewHistory(() => view, () => {});
  try {
    act((next, gesture) => ((view = next), steps.remember(gesture)));
    return [held, steps.link()];
  } finally {
    for (const [name, old] of kept) {
      if (old) Object.defineProperty(globalThis, name, old);
      else delete globalThis[name];
    }
  }
}

test("a gesture is one step, all else a step each, and what is as it was none", () => {
  const [held, link] = historyOf((go) => [["a"], ["a"], ["s1", "search"], ["s2", "search"], ["z", "move"], ["s3", "search"], ["b"], ["b2"]].forEach((one) => go(...one)));
  assert.deepEqual(held, ["", "a", "s2", "z", "s3", "b", "b2"]);
  assert.equal(link, "file:///x.html#b2");
});
