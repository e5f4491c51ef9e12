"use strict";
// A part of the time, chosen over time by dragging or with Shift and arrows; the heat map (heat.js) can choose it, too.

const NOTCHES = 50; // steps of Shift and arrows across the window
const reach = { fixed: 0, moved: 0 }; // ends of the range that keys change
let isProposed = false; // while a drag or a key is changing it, all of the time stays in sight

/**
 * The smallest range of whole microseconds around two times; at least one microsecond.
 * @param {number} duration of the recording, whole microseconds
 * @returns {[number, number]}
 */
function wholeRange(one, other, duration) {
  const from = clamp(Math.floor(Math.min(one, other)), duration - 1);
  return [from, Math.max(from + 1, Math.min(Math.ceil(Math.max(one, other)), duration))];
}

/** The time that graph, table and totals cover; null: all of it. */
const chosenRange = () => (isProposed ? null : state.range);

function proposeRange(one, other) {
  if (!isProposed) {
    isProposed = true;
    if (state.range) {
      layout = laidOut();
      selected = -1;
    }
  }
  state.range = wholeRange(one, other, bursts.duration);
  hideTip();
  sayRange();
  paintBursts();
  say(`${rangeWords(state.range)}: ${spoken((state.range[1] - state.range[0]) * 1000, "nanoseconds")}`);
  repaint();
}

function chooseRange() {
  isProposed = false;
  painter.kept = null;
  rebuild();
}

function clearRange() {
  heat.anchor = -1;
  if (!state.range) return;
  state.range = null;
  chooseRange();
}

/** Move the end of the range that was moved last; of a new range, its end. */
function extendRange(step) {
  const { from, to } = painter.sides[0];
  if (!state.range) reach.fixed = reach.moved = selected < 0 ? from : layout.start[selected];
  else if (!isProposed) [reach.fixed, reach.moved] = state.range;
  const notch = Math.max(1, niceStep((to - from) / NOTCHES));
  reach.moved = clamp(reach.moved + step * notch, bursts.duration);
  proposeRange(reach.fixed, reach.moved);
  Object.assign(painter.sides[0], { from: Math.min(from, reach.moved), to: Math.max(to, Math.min(reach.moved, layout.width)) });
  repaint();
}

/** The begin and end of a range, with enough digits to distinguish it from its neighbours. */
function rangeWords([from, to]) {
  const step = Math.max(1, (to - from) / 100);
  return [from, to].map((end) => tickText(end * 1000, step * 1000, to * 1000, "nanoseconds")).join(" to ");
}

function rangeChip() {
  const made = withOption(chip("Time", rangeWords(state.range), clearRange), "--time", bursts.option(state.range));
  made.lastChild.before(...(profile.bursts ? [] : [make("span", {}, "the graph and the table are of all of the time")]));
  return made;
}

// ---- pointer and keys

/** A mouse or a pen over time draws a range; with Shift it moves the view, as fingers do. */
const drawsRange = (event) => layout.isTime && event.pointerType !== "touch" && !event.shiftKey;

const timeAt = (event) => painter.value(event.clientX - $("canvas").getBoundingClientRect().left);

/** On the ruler, fingers draw ranges, too. */
function listenToRuler(ruler) {
  let first = -1;
  ruler.onpointerdown = (event) => {
    if (!layout.isTime) return;
    first = timeAt(event);
    ruler.setPointerCapture(event.pointerId);
  };
  ruler.onpointermove = (event) => first >= 0 && proposeRange(first, timeAt(event));
  ruler.onpointerup = ruler.onpointercancel = () => {
    if (first >= 0 && isProposed) chooseRange();
    first = -1;
  };
}

const RANGE_STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/** Handle a key for the range; return whether it was one. */
function onRangeKey(event) {
  if (event.shiftKey && layout.isTime && RANGE_STEPS[event.key]) extendRange(RANGE_STEPS[event.key]);
  else if (isProposed && event.key === "Enter") chooseRange();
  else if (isProposed && event.key === "Escape") clearRange();
  else return false;
  event.preventDefault();
  return true;
}

const onRangeKeyUp = (event) => event.key === "Shift" && isProposed && chooseRange();

// ---- two fingers

/**
 * The visible range when two positions on screen have to show two values.
 * @param {{x: number, value: number}[]} fingers
 * @param {number} width of the window in pixels
 * @returns {[number, number]} from, to
 */
function pinched(fingers, width) {
  const [left, right] = fingers[0].x < fingers[1].x ? fingers : [fingers[1], fingers[0]];
  const scale = Math.abs(right.value - left.value) / Math.max(right.x - left.x, 1);
  const from = left.value - left.x * scale;
  return [from, from + width * scale];
}

/**
 * The requested range, limited to the available one and moved inside it.
 * @param {number} from
 * @param {number} to
 * @param {number[]} home
 * @returns {[number, number]}
 */
function keptInside(from, to, home) {
  const [least, most] = home;
  const width = Math.max(Math.min(to - from, most - least), 1e-9 * (most - least));
  const start = Math.max(least, Math.min(from, most - width));
  return [start, start + width];
}
