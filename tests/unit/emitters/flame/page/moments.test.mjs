import assert from "node:assert/strict";
import { test } from "node:test";
import { boxesOf, load } from "./scripts.mjs";

const { DROPPED, overTime } = load(["trees.js", "data.js", "layout.js", "moments.js"], "DROPPED", "overTime");

/** Numbers that look random, the same ones each time. */
function numbers(seed) {
  let state = seed;
  return (most) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % 65521 % most;
}

const shownNode = (node) => (node === 13 ? DROPPED : node);

/** Tracks of random moments in a tree of 40 nodes, some of which are dropped; some touch, some wait. */
function recorded(seed) {
  const next = numbers(seed);
  const parent = Array.from({ length: 40 }, (_, node) => (node && next(5) ? next(node) : -1));
  const moments = { start: [], duration: [], node: [], wait: [] };
  const firstMoment = [0];
  for (let track = 0; track < 4; track += 1) {
    let time = next(50);
    for (let count = next(40); count > 0; count -= 1) {
      const duration = next(4) * 5;
      const row = { start: time, duration, node: next(41) - 1, wait: next(6) ? 0 : 1 };
      for (const [name, value] of Object.entries(row)) moments[name].push(value);
      time += duration + (next(3) ? 0 : 7);
    }
    firstMoment.push(moments.start.length);
  }
  return { parent, frame: [...parent.keys()], moments, firstMoment, duration: 9999, shownNode, threads: [..."abcd"].map((label) => ({ label })) };
}

/** [level, node, start, end, wait, self] of a track's boxes by hand: level by level, neighbours of one caller joined. */
function byHand({ parent, moments, firstMoment, shownNode }, track, [from, to]) {
  const found = [];
  let open = [];
  for (let row = firstMoment[track]; row < firstMoment[track + 1]; row += 1) {
    const [start, end] = [Math.max(moments.start[row], from), Math.min(moments.start[row] + moments.duration[row], to)];
    if (start > end || (start === end && moments.duration[row]) || shownNode(moments.node[row]) === DROPPED) continue;
    const path = [];
    for (let node = moments.node[row]; node >= 0; node = parent[node]) path.unshift(node);
    const before = open;
    open = path.map((node, level) => [level, node, start, end, moments.wait[row], 0]);
    for (const [level, box] of open.entries()) {
      const old = before[level];
      if (!old || old[1] !== box[1] || old[3] !== start || old[4] !== box[4]) break;
      old[3] = end;
      open[level] = old;
    }
    if (open.length) open.at(-1)[5] += end - start;
    found.push(...open.filter((box) => !before.includes(box)));
  }
  return found;
}

const told = (layout, lane) => boxesOf(layout).filter((box) => layout.lane[box] === lane)
  .map((box) => [layout.depth[box], layout.node[box], layout.start[box], layout.end[box], layout.wait[box], layout.own[box]]);

test("boxes over time are those that one puts by hand, in any part of the time", () => {
  for (let seed = 1; seed < 60; seed += 1) {
    const profile = recorded(seed);
    for (const range of [null, [40, 120]]) {
      const layout = overTime(profile, [2, 0, 1, 3], true, range);
      const wanted = [2, 0, 1, 3].map((track) => [profile.threads[track].label, byHand(profile, track, range || [0, Infinity])]).filter(([, boxes]) => boxes.length);
      assert.deepEqual(layout.lanes.map(({ label }, lane) => [label, told(layout, lane)]), wanted);
      assert.equal(layout.reserved, wanted.reduce((sum, [, boxes]) => sum + boxes.length, 0));
      assert.deepEqual([...layout.waits], wanted.some(([, boxes]) => boxes.some((box) => box[4])) ? [1] : []);
      assert.ok(layout.lanes.every(({ levels }) => levels.every((level) => level.length)));
    }
  }
});

test("boxes keep their numbers, whichever lane is looked at first, and only those that one looks at are made", () => {
  const profile = recorded(7);
  const [forwards, backwards] = [overTime(profile, [0, 1, 2, 3], true, null), overTime(profile, [0, 1, 2, 3], true, null)];
  const last = backwards.lanes.length - 1;
  assert.ok(last > 0);
  assert.equal(backwards.has(backwards.lanes[last].first), true);
  assert.deepEqual(backwards.lanes.map(({ levels }) => levels.flat().length > 0), [...backwards.lanes.keys()].map((lane) => lane === last));
  assert.deepEqual(boxesOf(backwards), boxesOf(forwards));
  const all = new Set(boxesOf(forwards));
  for (let box = -1; box <= forwards.size; box += 1) assert.equal(overTime(profile, [0, 1, 2, 3], true, null).has(box), all.has(box));
});
