// Reads pages' data, a JSON list, and tells what the page makes of each: stacks after edits, both sides of functions, bottom up.
import fs from "node:fs";
import { load } from "./scripts.mjs";

const { Profile, callersOf, calleesOf, unpacked } = load(["unpack.js", "trees.js", "data.js"], "Profile", "callersOf", "calleesOf", "unpacked");

/** Sums by stack, functions by number, of the rows that are left. */
function stacks(profile, rows, values) {
  const sums = {};
  for (const row of rows) {
    const path = [];
    for (let node = profile.leaf[row]; node >= 0; node = profile.parent[node]) path.unshift(profile.functionOf[profile.frame[node]]);
    sums[path] = (sums[path] || 0) + values[row];
  }
  return sums;
}

/** Paths from the root of a tree of functions, with what each box has without those below it. */
function paths(tree, column) {
  const own = Float64Array.from(tree.columns[column]);
  tree.parent.forEach((up, node) => up >= 0 && (own[up] -= tree.columns[column][node]));
  const sums = {};
  own.forEach((value, node) => {
    if (!value) return;
    const path = [];
    for (let at = node; at >= 0; at = tree.parent[at]) path.unshift(tree.function[at]);
    sums[path] = value;
  });
  return sums;
}

function sides(profile, nodes, wanted) {
  const starts = nodes.filter((node) => profile.isOutermost[node] && profile.functionOf[profile.frame[node]] === wanted);
  return { callers: paths(callersOf(profile, starts, [profile.sum]), 0), callees: paths(calleesOf(profile, nodes, wanted, [profile.sum]), 0) };
}

function told(data) {
  const profile = new Profile(data);
  const values = profile.rows.value;
  const rows = profile.rowsOf(profile.defaultEvent, null);
  const nodes = profile.fold(rows, values);
  const edited = {};
  const found = { functions: profile.functions(rows, values), keys: profile.functionFrame.map((frame) => profile.functionKey(frame)) };
  found.stacks = stacks(profile, rows, values);
  found.sides = found.keys.map((_, wanted) => sides(profile, nodes, wanted));
  found.bottomUp = paths(callersOf(profile, nodes.filter((node) => profile.own[node] > 0), [profile.own]), 0);
  for (const kind of ["focus", "hide", "fold"]) {
    edited[kind] = found.keys.map((_, wanted) => {
      profile.use([[kind, wanted]]);
      return stacks(profile, profile.rowsOf(profile.defaultEvent, null), values);
    });
  }
  const [one, other] = [0, found.keys.length - 1];
  profile.use([["fold", one], ["hide", other], ["focus", one]]);
  return { ...found, edited, three: stacks(profile, profile.rowsOf(profile.defaultEvent, null), values) };
}

const pages = JSON.parse(fs.readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(await Promise.all(pages.map(async (text) => told(JSON.parse(await unpacked(text)))))));
