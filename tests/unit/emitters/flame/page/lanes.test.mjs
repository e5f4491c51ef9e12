import assert from "node:assert/strict";
import { test } from "node:test";
import { load, profileOf } from "./scripts.mjs";

const scripts = ["trees.js", "data.js", "bursts.js", "layout.js", "moments.js", "lanes.js"];
const { LaneBursts, Profile, lanesInOrder, nodesWith, overTime, timesOf, useOf } = load(scripts, "LaneBursts", "Profile", "lanesInOrder", "nodesWith", "overTime", "timesOf", "useOf");

const shares = (columns) => [...columns].map((share) => Number(share.toFixed(6)));

/** Three threads of two processes: one runs and waits, one runs for longer, one has a moment of no length. */
function threads() {
  const profile = profileOf(Profile, [[0, 0, "main;work", 1, 1], [1, 0, "main;idle", 1, 1]]);
  const [work, idle] = [0, 1].map((row) => profile.rows.node[row]);
  return Object.assign(profile, {
    threads: [[7, "a (7)"], [7, "b (7/8)"], [9, "c (9)"]].map(([pid, label]) => ({ pid, label, process: "p" })),
    firstMoment: [0, 2, 3, 4],
    duration: 100,
    moments: { track: [0, 0, 1, 2], start: [0, 20, 10, 50], duration: [10, 60, 40, 0], node: [work, idle, work, idle], wait: [0, 1, 0, 0] },
  });
}

test("a column says for how much of it a thread ran, waited, and had the function on its stack", () => {
  const profile = threads();
  const { ran, waited, when } = useOf(profile, [0, 1], [0, 100], 4, nodesWith(profile, profile.functionNamed.get("work\n")));
  assert.deepEqual([...ran.get("")], [0.4, 0, 0, 0]);
  assert.deepEqual([...waited].map((share) => Number(share.toFixed(6))), [0.2, 1, 1, 0.2]);
  assert.deepEqual([...when], [0.4, 0, 0, 0]);
  const all = useOf(profile, [0, 3], [0, 100], 2, null);
  assert.deepEqual([...all.ran.get("")], [1, 1]);
  const { ran: byName } = useOf(profile, [0, 3], [0, 100], 2, null, (frame) => profile.names[frame]);
  assert.deepEqual(Object.fromEntries([...byName].map(([name, column]) => [name, shares(column)])), { work: [1, 0], idle: [0, 1] });
});

test("sums of parts of the time are shared among columns", () => {
  const lanes = { length: 10, parts: 4, ran: [10, 0, 5, 0, 0, 0, 0, 2], waited: [0, 4, 0, 0, 0, 0, 0, 0] };
  const profile = { threads: [{}, {}], lanes };
  const { ran, waited } = useOf(profile, [0, 1], [0, 40], 2, null);
  assert.deepEqual([shares(ran.get("")), shares(waited)], [[0.5, 0.25], [0.2, 0]]);
  assert.deepEqual(shares(useOf(profile, [0, 1], [5, 15], 2, null).ran.get("")), [1, 0]);
  assert.deepEqual([...timesOf(profile, [0, Infinity])], [15, 2]);
  assert.deepEqual([...timesOf(profile, [0, 20])], [10, -1]);
  const bursts = new LaneBursts({ ...lanes, origin: "5" }, [0, 1, 1]);
  assert.deepEqual([...bursts.grid(new Set([1, 2]), "value")].slice(0, 4), [0, 0, 0, 2000]);
  assert.deepEqual([...bursts.grid(new Set([0, 1]), "value", true)].slice(0, 4), [0, 4000, 0, 0]);
});

test("a function's nodes are its own and those below it", () => {
  const profile = threads();
  const marked = nodesWith(profile, profile.functionNamed.get("main\n"));
  assert.deepEqual([...marked], [1, 1, 1]);
});

test("threads come dearest first, those of a process together, and only so many", () => {
  const profile = threads();
  const times = timesOf(profile, [0, Infinity]);
  assert.deepEqual([...times], [10, 40, 0]);
  assert.deepEqual(lanesInOrder(profile, times, 16), { tracks: [1, 0, 2], left: 0 });
  assert.deepEqual(lanesInOrder(profile, times, 1), { tracks: [1], left: 2 });
  assert.deepEqual([...timesOf(profile, [60, 100])], [0, -1, -1]);
});

test("closed lanes have no boxes, open ones theirs, processes a heading", () => {
  const layout = overTime(threads(), [1, 0, 2], true, null, new Set([1]));
  assert.deepEqual(layout.lanes.map(({ label, closed }) => [label, closed]), [["p (7)", false], ["b (7/8)", false], ["a (7)", true], ["p (9)", false], ["c (9)", true]]);
  layout.height();
  assert.deepEqual(layout.lanes.map(({ track, first, last }) => [track, first, last]), [[-1, 0, 0], [1, 0, Infinity], [0, 2, 2], [-1, 2, 2], [2, 2, 2]]);
  assert.ok(layout.has(0) && layout.has(1) && !layout.has(2));
});

test("frames without a name that call each other are one box with their number", () => {
  const profile = profileOf(Profile, [[0, 0, "[unknown];[unknown];[unknown];work;[unknown]", 5, 1], [0, 0, "[unknown];work", 2, 1]]);
  const nodes = [...profile.parent.keys()].map((node) => [profile.names[profile.frame[node]], profile.parent[node], profile.runs[node]]);
  assert.deepEqual(nodes, [["[unknown]", -1, 3], ["work", 0, 1], ["[unknown]", 1, 1]]);
  const found = profile.functions([0, 1], profile.rows.value).map(({ name, self, total }) => [name, self, total]);
  assert.deepEqual(found, [["[unknown]", 5, 7], ["work", 2, 7]]);
});
