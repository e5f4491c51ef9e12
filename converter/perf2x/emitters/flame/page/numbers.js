"use strict";
// Every number that the page says of functions and boxes: panel, tooltip, status line, table and pictures ask here.
// tests/browser/test_numbers.py reads them all and holds them against perf2x top.

/** What the sum of periods is called: most events count time. */
const valueWord = () => (unitOf(profile.events[state.event] || { unit: "", name: "" }) === "nanoseconds" ? "Time" : "Value");

/** What the ruler measures, in place of its zero. */
const rulerWord = () => (layout.isTime ? "elapsed" : chosenUnit() === "nanoseconds" ? (profile.events[state.event].name.includes("off") ? "time" : "CPU time") : chosenUnit());

/** The unit of the chosen number. */
const chosenUnit = () => (state.weight === "count" ? "samples" : unitOf(profile.events[state.event] || { unit: "count", name: "" }));

/** What a function costs in all that is chosen; it may cost nothing where a box of it is as narrow as that. */
const costOf = (frame) => costs.get(profile.functionOf[frame]) || { frame, self: 0, total: 0, was: { self: 0, total: 0 }, now: { self: 0, total: 0 } };

const laneOf = (box) => layout.lanes[layout.lane[box]];

const sizeOf = (box) => layout.end[box] - layout.start[box];

/** A box over time is as wide as it lasted, any other as what it cost. */
const weighed = (value) => (layout.isTime ? spoken(value * 1000, "nanoseconds") : spent(value));
const wholeOf = () => (layout.isTime ? homeRange()[1] - homeRange()[0] : total);

const spent = (value) => spoken(value, chosenUnit());
const told = (value, whole) => `${weighed(value)} (${percent(value, whole)})`;
const cost = (value) => `${spent(value)} (${percent(value, total)})`;

/** The box that a box of a turned tree is about: the function whose callers stand behind it; −1 for boxes of other trees. */
function turnedRoot(box) {
  if (!laneOf(box).isTurned || layout.frameOf(box) < 0) return -1;
  let root = box;
  for (let up = layout.up[root]; up >= 0 && layout.frameOf(up) >= 0; up = layout.up[root]) root = up;
  return root;
}

/** Equal but for the rounding of sums. */
const same = (one, other) => Math.abs(one - other) <= 1e-9 * total;

/** Whether a box says no more than the numbers of its function. */
function isWholeFunction(box, { self, total: all }) {
  const root = turnedRoot(box);
  if (layout.isTime || (root >= 0 && root !== box)) return false;
  return same(sizeOf(box), root < 0 || layout.isSandwich ? all : self) && (root >= 0 || same(layout.own[box], self));
}

/** @returns {[string, string, number]} word, text, share of the whole */
const line = (word, value, whole, text = weighed) => [word, `${text(value)}  ${percent(value, whole)}`, value / (whole || 1)];

/** Lines of the panel. Those of the function are the table's, wherever the box stands. */
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

/** Lines that say how much a box is, and its function where that is more. */
function sizes(box) {
  if (comparison && layout.change[box]) return changeNumbers(layout.change[box]);
  const frame = layout.frameOf(box);
  if (frame < 0) return [told(sizeOf(box), wholeOf())];
  const entry = costOf(frame);
  const all = `function: self ${cost(entry.self)}, total ${cost(entry.total)}`;
  const off = layout.off[box] > 0 ? `, ${percent(layout.off[box], 1)} of it off CPU` : "";
  return isWholeFunction(box, entry) ? [all + off] : [boxNumbers(box) + off, all];
}

function boxNumbers(box) {
  const [own, size, whole, root] = [layout.own[box], sizeOf(box), wholeOf(), turnedRoot(box)];
  if (root >= 0) return `${told(size, whole)} of ${shortened(frameName(root), 40)}`;
  const how = layout.wait[box] ? `${WAITS[layout.wait[box]]} ` : "";
  const when = layout.isTime ? `${how}from ${weighed(layout.start[box])}, ` : "";
  return `${when}${told(size, whole)}${own && own < size ? `, self ${told(own, whole)}` : own ? ", all self" : ""}`;
}

/** before → after and the change, of the box with all that it calls and of itself. */
function changeNumbers({ total: all, self }) {
  const { wholes } = comparison;
  const both = ({ before, after, noisy }) => `${told(before, wholes.before)} → ${told(after, wholes.after)}, ${comparison.signed(after - before)} of the whole${noisy ? ", within the noise of sampling" : ""}`;
  return [`total ${both(all)}`, ...(self.before || self.after ? [`self ${both(self)}`] : [])];
}
