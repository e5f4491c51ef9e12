import assert from "node:assert/strict";
import { test } from "node:test";
import { load, profileOf } from "./scripts.mjs";

const { Profile, filtered, threadChoices } = load(["trees.js", "data.js", "choices.js"], "Profile", "filtered", "threadChoices");

function threads() {
  const profile = profileOf(Profile, [[0, 0, "a", 1, 1], [1, 0, "a", 3, 1], [1, 0, "b", 4, 2], [2, 0, "a", 2, 1], [3, 1, "a", 9, 9]]);
  profile.threads = ["main (1)", "Worker one (1/2)", "worker two (1/3)", "idle (1/4)"].map((label) => ({ label }));
  return profile;
}

test("threads come dearest first, those without samples of the event not at all", () => {
  const profile = threads();
  const choices = threadChoices(profile, 0, [profile.rows.value]).slice(3);
  assert.deepEqual(choices.map(({ value, share }) => [value, share]), [["1", "70.0 %"], ["2", "20.0 %"], ["0", "10.0 %"]]);
  const both = threadChoices(profile, 0, [profile.rows.value, [90, 0, 0, 0, 0]]).slice(3);
  assert.deepEqual(both.map(({ value }) => value), ["0", "1", "2"]);
});

test("a choice is found by words in any order and case", () => {
  const choices = threadChoices(threads(), 0, [threads().rows.value]);
  const found = (typed) => filtered(choices, typed).map(({ value }) => value);
  assert.deepEqual([found(" WORKER "), found("two wor"), found("process"), found("none")], [["1", "2"], ["2"], ["process"], []]);
  assert.equal(found("").length, 6);
});
