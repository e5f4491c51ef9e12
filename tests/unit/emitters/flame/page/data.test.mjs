import assert from "node:assert/strict";
import { test } from "node:test";
import { load, profileOf } from "./scripts.mjs";

const { Profile, numbered, percent, processLabel, spoken, tickText, unpacked } = load(["unpack.js", "trees.js", "data.js"], "Profile", "numbered", "percent", "processLabel", "unpacked", "spoken", "tickText");

const calls = () => profileOf(Profile, [
  [0, 0, "main;work", 30, 3],
  [0, 0, "main;work;main", 20, 2],
  [1, 0, "main", 5, 1],
  [1, 1, "main;idle", 7, 7],
]);

test("a name has the numbers that are known", () => {
  const labels = [["sh", 7, 7], ["sh", 7, 8], ["", 7, -1], ["sh", -1, 8], ["sh", -1, -1], ["", -1, -1], ["sh", 0, 0]].map((one) => numbered(...one));
  assert.deepEqual(labels, ["sh (7)", "sh (7/8)", "? (7)", "sh (8)", "sh", "?", "sh (0)"]);
  assert.deepEqual([processLabel({ process: "sh", pid: 7 }), processLabel({ process: "sh", pid: -1 })], ["sh (7)", "sh"]);
});

test("rows are those of an event, and of a thread where one is named", () => {
  const profile = calls();
  assert.deepEqual(profile.rowsOf(0, null), [0, 1, 2]);
  assert.deepEqual(profile.rowsOf(0, 1), [2]);
  assert.deepEqual(profile.rowsOf(2, null), []);
});

test("sums of the tree hold what is below, own values do not", () => {
  const profile = calls();
  const nodes = profile.fold([0, 1, 2], profile.rows.value);
  assert.deepEqual([...nodes].map((node) => [profile.names[profile.frame[node]], profile.sum[node], profile.own[node]]), [
    ["main", 55, 5], ["work", 50, 30], ["main", 20, 20],
  ]);
});

test("a fold that was the last one is not made again", () => {
  const profile = calls();
  const all = [0, 1, 2];
  const nodes = profile.fold(all, profile.rows.value);
  assert.equal(profile.fold(all, profile.rows.value), nodes);
  profile.fold(all, profile.rows.count);
  assert.deepEqual([profile.fold(all, profile.rows.value), profile.sum[0]], [nodes, 55]);
  profile.use([["hide", profile.functionOf[profile.names.indexOf("work")]]]);
  assert.notEqual(profile.fold(all, profile.rows.value).length, nodes.length);
});

test("nothing of one fold is left in the next", () => {
  const profile = calls();
  profile.fold([0, 1, 2, 3], profile.rows.value);
  const nodes = profile.fold([2], profile.rows.count);
  assert.deepEqual([...nodes].map((node) => [profile.sum[node], profile.own[node]]), [[1, 1]]);
});

test("recursion counts once in a function's total", () => {
  const profile = calls();
  const found = profile.functions([0, 1, 2], profile.rows.value);
  assert.deepEqual(found.map(({ name, self, total }) => [name, self, total]), [["main", 25, 55], ["work", 30, 50]]);
});

test("times have the unit that people say, counts a letter", () => {
  const asked = [[1.5e9, "nanoseconds"], [0, "nanoseconds"], [12_345, "nanoseconds"], [1, "samples"], [12_345_678, "cycles"], [9999, ""]];
  assert.deepEqual(asked.map((one) => spoken(...one)), ["1.5 s", "0 ns", "12.3 µs", "1 sample", "12.3M cycles", "9,999"]);
});

test("a share is 100 % only where it is all, and has three digits", () => {
  assert.deepEqual([[1, 1], [0, 1], [1, 0], [1, 3], [9996, 10000], [1, 1e6], [9996, 1e5], [3, 2]].map((one) => percent(...one)), ["100 %", "0 %", "0 %", "33.3 %", "99.9 %", "0 %", "10.0 %", "150 %"]);
});

test("a ruler's ticks have one unit and as many digits as their step needs", () => {
  assert.deepEqual([0, 5e5, 1e6].map((value) => tickText(value, 5e5, 4e6, "nanoseconds")), ["0", "0.5 ms", "1.0 ms"]);
});

test("data is read packed and plain", async () => {
  const packed = new Response(new Blob(['{"a":[1]}']).stream().pipeThrough(new CompressionStream("gzip")));
  const text = Buffer.from(await packed.arrayBuffer()).toString("base64");
  assert.equal(await unpacked(`${text.slice(0, 8)}\n${text.slice(8)}`), '{"a":[1]}');
  assert.equal(await unpacked('{"a":[1]}'), '{"a":[1]}');
});
