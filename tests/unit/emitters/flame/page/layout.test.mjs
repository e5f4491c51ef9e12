import assert from "node:assert/strict";
import { test } from "node:test";
import { load, profileOf } from "./scripts.mjs";

const { Profile, leftHeavy, bottomUp, sandwich } = load(["trees.js", "data.js", "layout.js"], "Profile", "leftHeavy", "bottomUp", "sandwich");

const boxes = (profile, layout) => Array.from(layout.node.subarray(0, layout.next), (node, box) => [node < 0 ? layout.labels.get(box) || "" : profile.names[profile.frame[node]], layout.start[box], layout.end[box], layout.depth[box]]);

function calls() {
  const profile = profileOf(Profile, [[0, 0, "main;small", 1, 1], [0, 0, "main;large", 7, 7], [1, 0, "other", 2, 2]]);
  return { profile, layout: leftHeavy(profile, [{ label: "", rows: [0, 1, 2] }], profile.rows.value, "samples", null) };
}

test("the heaviest comes first, below its caller", () => {
  const { profile, layout } = calls();
  assert.deepEqual(boxes(profile, layout), [["", 0, 10, 0], ["main", 0, 8, 1], ["other", 8, 10, 1], ["large", 0, 7, 2], ["small", 7, 8, 2]]);
});

test("groups stand side by side, each with a box of its own", () => {
  const profile = profileOf(Profile, [[0, 0, "a", 1, 1], [1, 0, "a", 3, 3]]);
  const groups = [{ label: "one", rows: [0] }, { label: "two", rows: [1] }];
  const layout = leftHeavy(profile, groups, profile.rows.value, "samples", null);
  assert.deepEqual(boxes(profile, layout), [["", 0, 4, 0], ["two", 0, 3, 1], ["a", 0, 3, 2], ["one", 3, 4, 1], ["a", 3, 4, 2]]);
});

test("a place on screen belongs to the box that starts there, not to the one that ends there", () => {
  const { layout } = calls();
  assert.deepEqual([-1, 0, 7, 7.5, 8, 9].map((x) => layout.find(0, 2, x)), [-1, 3, 4, 4, -1, -1]);
  assert.deepEqual([0, 8, 10].map((x) => layout.find(0, 1, x)), [1, 2, -1]);
});

test("a stack of a hundred thousand frames has a layout", () => {
  const deep = 100_000;
  const parent = Array.from({ length: deep }, (_, node) => node - 1);
  const columns = { thread: [0], event: [0], node: [deep - 1], value: [1], count: [1] };
  const one = [0];
  const frames = { name: one, full: one, object: one, file: one, mode: one, inlined: one, resolved: one, jit: one };
  const profile = new Profile({ strings: ["f"], frames, nodes: { parent, frame: parent.map(() => 0) }, rows: columns });
  assert.equal(leftHeavy(profile, [{ label: "", rows: [0] }], columns.value, "samples", null).lanes[0].levels.length, deep + 1);
});

test("boxes keep the share of them that is off the CPU, in all orders", () => {
  const profile = profileOf(Profile, [[0, 0, "main;read", 6, 1], [0, 0, "main;read", 2, 1], [0, 0, "main;work", 8, 1], [0, 0, "main", 4, 1]]);
  profile.rows.off = [1, 0, 0, 1];
  const all = [{ label: "", rows: [0, 1, 2, 3] }];
  const { value } = profile.rows;
  const off = (layout) => Array.from(layout.node.subarray(0, layout.next), (node, box) => (node < 0 ? "" : [profile.names[layout.frameOf(box)], layout.off[box]]));
  assert.deepEqual(off(leftHeavy(profile, all, value, "", null)), ["", ["main", 0.5], ["read", 0.75], ["work", 0]]);
  assert.deepEqual(off(bottomUp(profile, all, value, "", null)), ["", ["read", 0.75], ["work", 0], ["main", 1], ["main", 0.75], ["main", 0]]);
  const read = profile.functionNamed.get("read\n");
  assert.deepEqual(off(sandwich(profile, all[0].rows, read, value, "", null)), [["read", 0.75], ["main", 0.75], ["read", 0.75]]);
});
