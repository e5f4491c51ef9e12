import assert from "node:assert/strict";
import { test } from "node:test";
import { boxesOf, load } from "./scripts.mjs";

const { keptInside, overTime, pinched, wholeRange } = load(["trees.js", "data.js", "layout.js", "moments.js", "range.js"], "keptInside", "overTime", "pinched", "wholeRange");

test("a range has whole microseconds around what was drawn, at least one, inside the recording", () => {
  const asked = [[1.2, 5.7], [5.7, 1.2], [3, 3], [-4, 99], [10, 10], [40, 60], [9.999, 10]];
  assert.deepEqual(asked.map(([one, other]) => wholeRange(one, other, 10)), [[1, 6], [1, 6], [3, 4], [0, 10], [9, 10], [9, 10], [9, 10]]);
});

test("what lay under two fingers stays there", () => {
  const fingers = [{ x: 300, value: 60 }, { x: 100, value: 40 }];
  const [from, to] = pinched(fingers, 800);
  assert.deepEqual([from, to], [30, 110]);
  for (const { x, value } of fingers) assert.equal(from + (x / 800) * (to - from), value);
});

test("fingers on one spot do not divide by nothing", () => {
  assert.ok(pinched([{ x: 5, value: 1 }, { x: 5, value: 2 }], 100).every(Number.isFinite));
});

test("what is in sight keeps its width inside of what there is", () => {
  const asked = [[2, 4], [-3, 1], [9, 12], [-50, 50], [5, 5]];
  assert.deepEqual(asked.map(([from, to]) => keptInside(from, to, [0, 10])), [[2, 4], [0, 4], [7, 10], [0, 10], [5, 5 + 1e-8]]);
  assert.deepEqual(keptInside(0, 3, [20, 30]), [20, 23]);
});

/** Boxes of one track whose moments are [start, duration, node], in a range: [node, start, end, own]. */
function boxes(moments, range) {
  const [start, duration, node] = [0, 1, 2].map((column) => moments.map((row) => row[column]));
  const held = { parent: [-1, 0], frame: [0, 1], moments: { start, duration, node }, firstMoment: [0, moments.length], duration: 99, shownNode: (one) => one, threads: [{}] };
  const layout = overTime(held, [0], true, range);
  return [layout.lanes.length, boxesOf(layout).map((box) => [layout.node[box], layout.start[box], layout.end[box], layout.own[box]])];
}

test("over time, a range cuts what crosses its ends and leaves out the rest, lanes too", () => {
  const moments = [[0, 10, 1], [10, 10, 0], [20, 10, 1], [40, 10, 1]];
  assert.deepEqual(boxes(moments, [5, 22]), [1, [[0, 5, 22, 10], [1, 5, 10, 5], [1, 20, 22, 2]]]);
  assert.deepEqual(boxes(moments, [30, 40]), [0, []]);
  assert.deepEqual(boxes(moments, null)[1].map(([, start, end]) => [start, end]), [[0, 30], [0, 10], [20, 30], [40, 50], [40, 50]]);
});
