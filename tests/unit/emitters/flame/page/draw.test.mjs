import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { contrast, rgb } from "./contrast.mjs";
import { load } from "./scripts.mjs";

const { Colours, Layout, Painter, WAITS, changeColour, cpuColour, fitted, groupIn, shortened, waitColour, withoutArguments } = load(["trees.js", "data.js", "compare.js", "layout.js", "colours.js", "draw.js"], "Colours", "Layout", "Painter", "WAITS", "changeColour", "cpuColour", "fitted", "groupIn", "shortened", "waitColour", "withoutArguments");

const READABLE = 4.5; // level AA of text
const css = fs.readFileSync(new URL("../../../../../converter/perf2x/emitters/flame/page/page.css", import.meta.url), "utf8");
const [light, dark] = [...css.matchAll(/^:root[^{]*\{([^}]*)\}/gm)].map(([, body]) => Object.fromEntries([...body.matchAll(/--(\w+): (#\w+)/g)].map((found) => found.slice(1))));
const themes = [[false, light], [true, dark]];

/** The least contrast of the texts on what a function gives for each of some values. */
const least = (text, colours) => Math.min(...colours.map((colour) => contrast(text, colour)));

function boxColours(kind, isDark, faded) {
  const found = [];
  for (let name = 0; name < 300; name += 1) {
    for (const [inlined, resolved, mode] of [[0, 1, 1], [1, 1, 2], [0, 0, 3], [1, 1, 4], [0, 1, 5]]) {
      const frames = { inlined: [inlined], resolved: [resolved], jit: [name % 2], mode: [mode] };
      const colours = new Colours({ names: [`f${name}`], objects: [`o${name}`], frames });
      if (name < 12) colours.ranks.set(`o${name}`, name);
      colours.use(kind, isDark);
      found.push(colours.of(0, faded));
    }
  }
  return found;
}

for (const kind of ["object", "mode", "name"]) {
  test(`names can be read on boxes coloured by ${kind}, in both themes, met by a search or not`, () => {
    for (const [isDark, theme] of themes) {
      assert.ok(least(theme.ink, boxColours(kind, isDark, false)) >= READABLE);
      assert.ok(least(theme.soft, boxColours(kind, isDark, true)) >= READABLE);
    }
  });
}

test("names can be read on boxes of waits and of changes", () => {
  const strengths = Array.from({ length: 81 }, (_, at) => at / 40 - 1);
  for (const [isDark, theme] of themes) {
    for (const [text, faded] of [[theme.ink, false], [theme.soft, true]]) {
      assert.ok(least(text, Object.keys(WAITS).map((kind) => waitColour(kind, isDark, faded))) >= READABLE);
      assert.ok(least(text, strengths.map((strength) => cpuColour(Math.abs(strength), isDark, faded))) >= READABLE);
      assert.ok(least(text, strengths.map((strength) => changeColour(strength, isDark, faded))) >= READABLE);
    }
  }
});

const bar = (ground, tint) => `#${rgb(ground).map((part, at) => Math.round(255 * (0.87 * part + 0.13 * rgb(tint)[at])).toString(16).padStart(2, "0")).join("")}`;

test("texts of the panels can be read on their grounds and on the table's bars", () => {
  assert.match(css, /var\(--tint, var\(--accent\)\) 13%, transparent/);
  for (const [, { ink, soft, word, text, ground, panel, pick, accent }] of themes) {
    const tints = [accent, ...[...css.matchAll(/--tint: (#\w+)/g)].map(([, tint]) => tint)];
    const bars = [panel, pick].flatMap((under) => tints.map((tint) => bar(under, tint)));
    assert.ok(least(ink, [ground, panel, pick, ...bars]) >= READABLE);
    for (const colour of [soft, word, text]) assert.ok(least(colour, [ground, panel, pick, ...bars]) >= READABLE);
    assert.ok(least(accent, [ground, panel, pick]) >= READABLE);
  }
});

test("long names keep their start and their end", () => {
  assert.equal(shortened("short", 5), "short");
  assert.equal(shortened("std::vector<int>::push_back", 15), "std::vec…h_back");
  assert.equal(shortened("a_long_name", 4), "a_l…");
  for (let room = 3; room < 40; room += 1) assert.ok(shortened("x".repeat(30), room).length <= room);
});

test("a name loses template arguments first, then what it is inside of, then letters", () => {
  const name = "std::vector<std::pair<int, int>, std::allocator<int>>::push_back";
  assert.deepEqual([99, 30, 22, 12, 6].map((room) => fitted(name, room)), [name, "std::vector<…>::push_back", "vector<…>::push_back", "push_back", "push_…"]);
  assert.equal(fitted("github.com/user/pkg.(*T).Method", 22), "user/pkg.(*T).Method");
  assert.equal(fitted("work::Recurse<unsigned long, 12>::go(unsigned long) const", 24), "work::Recurse<…>::go");
  assert.equal(fitted("(anonymous namespace)::scramble", 20), "scramble");
  assert.equal(fitted("foo::bar::{{closure}}", 17), "bar::{{closure}}");
  assert.equal(withoutArguments("bool operator<<int>(A<int>)"), "bool operator<<int>(A<int>)");
  for (let room = 3; room < 70; room += 1) assert.ok(fitted(name, room).length <= room);
});

test("compiled code, a runtime, and frames that perf2x made up are one group each", () => {
  const objects = ["perf-12.map", "jitted-12-3.so", "perf-12.map", "python3.11", "python3.11", "", ""];
  const names = ["~sort", "LFoo;::bar", "py::f:/a.py", "_PyEval_EvalFrameDefault", "list_sort", "[preempted]", "main"];
  const profile = { names, objects, runtimes: { python: "^_?PyEval_" }, frames: { jit: [1, 1, 1, 0, 0, 0, 0], resolved: names.map(() => 1) } };
  assert.deepEqual(names.map((_, frame) => groupIn(profile, "object", frame)), ["JIT code", "JIT code", "Python functions", "python runtime", "python3.11", "[preempted]", "[unknown]"]);
});

test("a lane's heading keeps its start and its end", () => {
  const label = `${"long".repeat(20)} (12/345)`;
  const painter = new Painter(null, null);
  const lane = { label, top: 1, levels: [], side: 0, grows: "" };
  Object.assign(painter, { width: 222, height: 99, letter: 7, view: { layout: { lanes: [lane], fill() {}, isSandwich: true }, base: 0, scroll: 0 } });
  const told = [];
  painter.paintLane({ fillRect() {}, fillText: (text) => told.push(text) }, lane, 0);
  assert.deepEqual(told, [shortened(label, 30)]);
  assert.match(told[0], /^long.*….*\(12\/345\)$/);
});

/** A level of boxes, a few wide ones among many that are thinner than a pixel. */
function level(count) {
  const layout = new Layout();
  layout.addLane("", []);
  let x = 0;
  for (let box = 0; box < count; box += 1) {
    const width = box % 997 === 0 ? 5000 : (box * 7919) % 13;
    if (box % 5 === 0) x += 3;
    layout.addBox(0, 0, x, x + width, box, -1, 0);
    x += width;
  }
  layout.width = x;
  return layout;
}

function painted(layout, from, to) {
  const found = [];
  const painter = new Painter(null, null);
  Object.assign(painter, { from, to, ratio: 1, width: 1000, letter: 7, view: { layout, colour: () => "" } });
  painter.paintBox = (_, box) => found.push(box);
  painter.paintLevel(null, layout.lanes[0].levels[0], 0);
  return found;
}

/** One box after another. */
function paintedByHand(layout, from, to) {
  const found = [];
  let edge = -1;
  for (const box of layout.lanes[0].levels[0]) {
    const place = (value) => ((value - from) / (to - from)) * 1000;
    const right = Math.min(place(layout.end[box]), 1004);
    if (layout.end[box] <= from || layout.start[box] >= to || right < edge + 1) continue;
    found.push(box);
    edge = right;
  }
  return found;
}

test("boxes that melt together are left out, whether one looks at each or not", () => {
  const layout = level(20_000);
  for (const [from, to] of [[0, 1], [0.2, 0.3], [0.999, 1], [0.5, 0.5001]]) {
    const range = [from * layout.width, to * layout.width];
    assert.deepEqual(painted(layout, ...range), paintedByHand(layout, ...range));
  }
});

test("a frame looks at as many boxes as there are pixels, not at all of them", () => {
  const layout = level(200_000);
  let looks = 0;
  layout.end = new Proxy(layout.end, { get: (column, at) => ((looks += 1), column[at]) });
  assert.ok(painted(layout, 0, layout.width).length > 100);
  assert.ok(looks < 100_000, String(looks));
});

/** Left and right edges of what is painted of boxes on a level, one value a pixel. */
function paintedEdges(boxes, ratio = 1) {
  const layout = new Layout();
  layout.addLane("", []);
  for (const [start, end] of boxes) layout.addBox(0, 0, start, end, 0, -1, 0);
  const painter = new Painter(null, null);
  Object.assign(painter, { from: 0, to: 100, ratio, width: 100, view: { layout } });
  const found = [];
  painter.paintBox = (_, box, left, width) => found.push([left, left + width].map((edge) => Number(edge.toFixed(3))));
  painter.paintLevel(null, layout.lanes[0].levels[0], 0);
  return found;
}

test("boxes under a dot of the screen melt together, and leave no holes", () => {
  const tenths = Array.from({ length: 100 }, (_, at) => [at / 10, (at + 1) / 10]);
  for (const ratio of [1, 2]) {
    const edges = paintedEdges(tenths, ratio);
    assert.ok(edges.length <= 10 * ratio + 1 && edges.length >= 5 * ratio);
    edges.slice(1).forEach(([left], at) => assert.ok(left <= edges[at][1]));
  }
});

test("what melts does not fill the pause behind it", () => {
  assert.deepEqual(paintedEdges([[0, 10], [10.2, 10.4], [50, 60]]), [[0, 10], [50, 60]]);
  assert.deepEqual(paintedEdges([[0, 10], [40, 40.1], [50, 60]]), [[0, 10], [40, 40.5], [50, 60]]);
});
