import assert from "node:assert/strict";
import { test } from "node:test";
import { load, profileOf } from "./scripts.mjs";

const { Comparison, Profile, change, deviations, noiseOf } = load(["trees.js", "data.js", "compare.js"], "Comparison", "Profile", "change", "deviations", "noiseOf");

/** Rows [stack, samples before, samples after], each sample worth ten. */
function compared(rows, weight = "value", shares = false) {
  const profile = profileOf(Profile, rows.map(([stack, , after]) => [0, 0, stack, 10 * after, after]));
  profile.rows.beforeCount = rows.map(([, before]) => before);
  profile.rows.beforeValue = rows.map(([, before]) => 10 * before);
  const comparison = new Comparison(profile);
  comparison.use(0, weight, shares);
  return { profile, comparison, all: rows.map((_, row) => row) };
}

const CALLS = [["main;a;f", 100, 300], ["main;b;f", 100, 40], ["main;b;g", 50, 50], ["f", 0, 9], ["main;c;f;f", 30, 0], ["main;a;f;g", 20, 25]];

test("each function has both sides, the change and how sure it is", () => {
  const { comparison, all } = compared(CALLS);
  const found = Object.fromEntries(comparison.functions(all).map((entry) => [entry.name, entry]));
  assert.deepEqual([found.f.was, found.f.now], [{ self: 2300, total: 2500 }, { self: 3490, total: 3740 }]);
  assert.deepEqual([found.f.self, found.f.total, found.g.self], [1190, 1240, 50]);
  assert.equal(found.f.deviations.self, (349 - 230) / Math.sqrt(349 + 230));
  assert.deepEqual([found.f.noisy.self, found.g.noisy.self], [false, true]);
});

test("one that is on one side alone has nothing on the other", () => {
  const { comparison, all } = compared([["old", 9, 0], ["fresh", 0, 4]]);
  const found = comparison.functions(all).map(({ name, was, now, deviations: sure }) => [name, was.self, now.self, sure.self]);
  assert.deepEqual(found, [["old", 90, 0, -3], ["fresh", 0, 40, 2]]);
});

test("callers share a function's change, those that are gone too, and each stack counts once", () => {
  for (const [weight, shares] of [["value", false], ["count", false], ["value", true]]) {
    const { comparison, profile, all } = compared(CALLS, weight, shares);
    const f = profile.functionOf[profile.names.indexOf("f")];
    const callers = comparison.callers(all, f);
    const whole = comparison.functions(all).find(({ name }) => name === "f");
    for (const side of ["was", "now"]) assert.ok(Math.abs(callers.reduce((sum, entry) => sum + entry[side].total, 0) - whole[side].total) < 1e-6);
    assert.deepEqual(callers.map(({ name }) => name).sort(), ["", "a", "b", "c"]);
  }
  const { comparison, profile, all } = compared(CALLS);
  const callers = comparison.callers(all, profile.functionOf[profile.names.indexOf("f")]);
  assert.deepEqual(callers.map(({ name, was, now, total }) => [name, was.total, now.total, total]), [
    ["a", 1200, 3250, 2050], ["b", 1000, 400, -600], ["c", 300, 0, -300], ["", 0, 90, 90],
  ]);
});

test("only the rows asked for count", () => {
  const { comparison, profile } = compared(CALLS);
  const callers = comparison.callers([1], profile.functionOf[profile.names.indexOf("f")]);
  assert.deepEqual(callers.map(({ name, total }) => [name, total]), [["b", -600]]);
});

test("a line needs the more deviations the smaller its part is, as perf2x diff has it", () => {
  const wanted = [[1, 1.95996], [0.5, 2.24140], [0.1, 2.80703], [0.001, 4.05563], [0, 5.45131]]; // statistics.NormalDist
  for (const [part, deviation] of wanted) assert.ok(Math.abs(noiseOf(part) - deviation) < 5e-4, String(part));
});

test("a change is noise below its limit of standard deviations of the counts, whatever the scale", () => {
  assert.deepEqual([deviations(100, 100, 1), deviations(0, 0, 1), deviations(0, 16, 1)], [0, 0, 4]);
  assert.equal(deviations(100, 150 * 2, 2), 200 / Math.sqrt(100 + 150 * 4));
  assert.deepEqual([change(100, 110, 100, 110, 1, 2).noisy, change(100, 200, 100, 200, 1, 2).noisy, change(5, 5, 5, 5, 1, 2).noisy], [true, false, false]);
});
