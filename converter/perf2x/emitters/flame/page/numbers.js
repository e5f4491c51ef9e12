"use strict";
// All numbers that the page shows for functions and boxes; panel, tooltip, status line, table and pictures use them.
// tests/browser/test_numbers.py reads them all and compares them with perf2x top.

/** The name of the sum of periods; most events count time. */
const valueWord = () => (unitOf(profile.events[state.event] || { unit: "", name: "" }) === "nanoseconds" ? "Time" : "Value");

/** The text at the ruler's zero: what it measures. */
const rulerWord = () => (layout.isTime ? "elapsed" : chosenUnit() === "nanoseconds" ? (profile.events[state.event].name.includes("off") ? "time" : "CPU time") : chosenUnit());

/** The unit of the chosen number. */
const chosenUnit = () => (state.weight === "count" ? "samples" : unitOf(profile.events[state.event] || { unit: "count", name: "" }));

/** The cost of a function within the choice; 0 if its boxes are too narrow to have any. */
const costOf = (frame) => costs.get(profile.functionOf[frame]) || { frame, self: 0, total: 0, was: { self: 0, total: 0 }, now: { self: 0, total: 0 } };

const laneOf = (box) => layout.lanes[layout.lane[box]];

const sizeOf = (box) => layout.end[box] - layout.start[box];

/** A box over time is as wide as its duration, any other as its cost. */
const weighed = (value) => (layout.isTime ? spoken(value * 1000, "nanoseconds") : spent(value));
const wholeOf = () => (layout.isTime ? homeRange()[1] - homeRange()[0] : total);

const spent = (value) => spoken(value, chosenUnit());
const costText = (value, whole) => `${weighed(value)} (${percent(value, whole)})`;
const cost = (value) => `${spent(value)} (${percent(value, total)})`;

/** The box that a box of an inverted tree refers to, whose function is called by those behind it; −1 for boxes of other trees. */
function turnedRoot(box) {
  if (!laneOf(box).isTurned || layout.frameOf(box) < 0) return -1;
  let root = box;
  for (let up = layout.up[root]; up >= 0 && layout.frameOf(up) >= 0; up = layout.up[root]) root = up;
  return root;
}

/** Equal except for rounding errors of sums. */
const same = (one, other) => Math.abs(one - other) <= 1e-9 * total;

/** Whether a box adds nothing to the numbers of its function. */
function isWholeFunction(box, { self, total: all }) {
  const root = turnedRoot(box);
  if (layout.isTime || (root >= 0 && root !== box)) return false;
  return same(sizeOf(box), root < 0 || layout.isSandwich ? all : self) && (root >= 0 || same(layout.own[box], self));
}

/** @returns {[string, string, number]} label, text, share of the total */
const line = (word, value, whole, text = weighed) => [word, `${text(value)}  ${percent(value, whole)}`, value / (whole || 1)];

/** Lines of the panel. Those of the function equal the table's, wherever the box is. */
function panelLines(box) {
  const frame = layout.frameOf(box);
  if (comparison && frame >= 0) return changeLines(box, costOf(frame));
  const whole = wholeOf();
  if (frame < 0) return [line("total", sizeOf(box), whole)];
  const entry = costOf(frame);
  const found = functionLines(entry);
  if (isWholeFunction(box, entry)) return found;
  found.push(line("here", sizeOf(box), whole));
  if (turnedRoot(box) < 0) found.push(line("self here", layout.own[box], whole));
  return found;
}

const functionLines = ({ frame, self, total: all }) => [line("self", self, total, spent), line("total", all, total, spent), ...columnLines(frame)];

function changeLines(box, { was, now }) {
  const { before, after } = comparison.wholes;
  const found = [line("self before", was.self, before), line("self after", now.self, after), line("before", was.total, before), line("after", now.total, after)];
  const here = layout.change[box] && layout.change[box].total;
  return here && (here.before !== was.total || here.after !== now.total) ? [...found, line("here before", here.before, before), line("here after", here.after, after)] : found;
}

/** Lines with the cost of a box, and with its function's if that is more. */
function sizes(box) {
  if (comparison && layout.change[box]) return changeNumbers(layout.change[box]);
  const frame = layout.frameOf(box);
  if (frame < 0) return [costText(sizeOf(box), wholeOf())];
  const entry = costOf(frame);
  const all = `function: self ${cost(entry.self)}, total ${cost(entry.total)}`;
  const off = layout.off[box] > 0 ? `, ${percent(layout.off[box], 1)} of it off CPU` : "";
  return isWholeFunction(box, entry) ? [all + off] : [boxNumbers(box) + off, all];
}

function boxNumbers(box) {
  const [own, size, whole, root] = [layout.own[box], sizeOf(box), wholeOf(), turnedRoot(box)];
  if (root >= 0) return `${costText(size, whole)} of ${shortened(frameName(root), 40)}`;
  const how = layout.wait[box] ? `${WAITS[layout.wait[box]]} ` : "";
  const when = layout.isTime ? `${how}from ${weighed(layout.start[box])}, ` : "";
  return `${when}${costText(size, whole)}${own && own < size ? `, self ${costText(own, whole)}` : own ? ", all self" : ""}`;
}

/** before → after and the change, for the box including its callees and for itself. */
function changeNumbers({ total: all, self }) {
  const { wholes } = comparison;
  const both = ({ before, after, noisy }) => `${costText(before, wholes.before)} → ${costText(after, wholes.after)}, ${comparison.signed(after - before)} of the whole${noisy ? ", within the noise of sampling" : ""}`;
  return [`total ${both(all)}`, ...(self.before || self.after ? [`self ${both(self)}`] : [])];
}
