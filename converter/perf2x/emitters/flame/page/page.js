"use strict";
// The page's state: what is chosen and what is on screen, and how it reacts to keys and the pointer.

/** @type {<K extends string>(id: K) => K extends keyof Elements ? Elements[K] : HTMLElement} */
const $ = (id) => /** @type {any} */ (document.getElementById(id));
/** @type {Record<string, any>} What is chosen: the parts that viewFields names. */
const state = {};
/** @type {Record<string, Field>} */ let fields;
/** @type {ViewHistory} */ let steps;
/** @type {Profile} */ let profile;
/** @type {Colours} */ let colours;
/** @type {Painter} */ let painter;
/** @type {Layout} */ let layout;
/** @type {Comparison | null} */ let comparison = null;
/** @type {FunctionCost[]} */ let functions = [];
let costs = new Map(); // of functions, by number
/** @type {number[]} */ let rows;
/** @type {Sums} */ let sums;
/** @type {Column} */ let weight;
let selected = -1, hovered = -1, matcher = null, total = 0;

async function start() {
  profile = new Profile({ title: document.title, ...JSON.parse(await unpacked(embedded("data"))) });
  prepare();
  prepareBursts();
  colours = new Colours(profile);
  painter = new Painter($("canvas"), $("ruler"), new Strips(document.createElement("canvas")));
  if (profile.compare) compareFirst();
  if (profile.rows.latency) document.body.dataset.latency = "";
  if (profile.rows.off) document.body.dataset.waits = "";
  fields = viewFields();
  steps = new ViewHistory(fragment, revisit);
  Object.assign(state, readFragment(location.hash, fields));
  fillHeader();
  listen();
  applyTheme(localTheme());
  draw();
}

/** Whether the recording has times. */
const hasTimes = () => Boolean(profile.moments || profile.lanes);

/** All parts of the view with their initial values; if latencies were requested, they are shown first. */
function viewFields() {
  const { compare, rows: { latency } } = profile;
  return {
    event: eventField(),
    thread: { initial: isManyProcesses() ? "process" : "merged", read: (text) => (WHOLE.has(text) || profile.threads[Number(text)] ? text : undefined) },
    order: oneOf("heavy", "heavy", "bottom", ...(hasTimes() ? ["time"] : [])),
    function: { initial: "", read: (text) => (profile.functionNamed.has(text) ? text : undefined) },
    edits: { initial: [], read: readEdits, write: writeEdits },
    direction: oneOf(profile.direction, "icicle", "flame"),
    colour: oneOf(compare ? "change" : profile.objects.some(Boolean) ? "object" : "name", "object", "mode", "name", ...(profile.rows.off ? ["cpu"] : []), ...(compare ? ["change", "own"] : [])),
    weight: oneOf(latency ? "latency" : compare && compare.samples ? "count" : "value", "value", "count", ...(latency ? ["latency"] : [])),
    search: anyText(""),
    regex: oneOf("off", "on", "off"),
    tree: oneOf("off", "on", "off"),
    sort: oneOf(compare ? "significance" : "self", "self", "total", "name", ...(latency ? ["other"] : []), ...(compare ? ["significance"] : [])),
    columns: anyText(profile.columns.filter(({ shown }) => shown).map(({ name }) => name).join("\n")),
    ...(compare ? { shown: oneOf("after", "after", "before"), scale: oneOf(compare.normalize ? "shares" : "absolute", "absolute", "shares") } : {}),
    ...(hasTimes() ? { lanes: oneOf("some", "some", "all"), open: anyText("some"), mark: { initial: "", read: (text) => (profile.functionNamed.has(text) ? text : undefined) } } : {}),
    ...burstFields(),
    zoom: { initial: [], read: readRanges, write: writeRanges },
    box: { initial: -1, read: numberBelow(-1, 2 ** 31).read },
  };
}

/** The current view, as text for the address. */
function fragment() {
  const [home, end] = homeRange();
  const ranges = painter.sides.map(({ from, to }) => (from === home && to === end ? null : [from, to]));
  state.zoom = ranges.some(Boolean) ? ranges : [];
  state.box = selected;
  return writeFragment(state, fields);
}

/** Show an earlier view, or one from the address. */
function revisit(hash) {
  Object.assign(state, readFragment(hash, fields));
  applyTheme(document.documentElement.dataset.theme);
  draw();
}

function compareFirst() {
  comparison = new Comparison(profile);
  document.body.dataset.compare = "";
}

/** Names of threads, and where each track's moments begin. */
function prepare() {
  for (const thread of profile.threads) thread.label = numbered(thread.name || (profile.threads.length > 1 ? "" : "all"), thread.pid, thread.tid);
  const { moments, lanes } = profile;
  profile.firstMoment = new Int32Array(profile.threads.length + 1);
  profile.duration = lanes ? lanes.parts * lanes.length : 0;
  if (!moments) return;
  moments.start = moments.start.map((sum => (step) => (sum += step))(0));
  for (let row = 0; row < moments.track.length; row += 1) {
    profile.firstMoment[moments.track[row] + 1] += 1;
    profile.duration = Math.max(profile.duration, moments.start[row] + moments.duration[row]);
  }
  for (let track = 0; track < profile.threads.length; track += 1) profile.firstMoment[track + 1] += profile.firstMoment[track];
}

/** Redraw everything that was chosen, as a step of its own in the history. */
function rebuild() {
  Object.assign(state, { zoom: [], box: -1 });
  if (profile.rows.node.length < MANY_ROWS) drawAnew();
  else {
    say("Working …");
    showButtons();
    waiting = true;
    requestAnimationFrame(() => setTimeout(() => {
      waiting = false;
      drawAnew();
    })); // the indicator is on screen before the work begins
  }
}

const MANY_ROWS = 4_000; // more distinct samples take longer than a frame

function drawAnew() {
  draw();
  steps.remember();
}

/** Build the layout for the current choice, and everything that depends on it. */
function draw() {
  if ($("search").value !== state.search) $("search").value = state.search;
  if (comparison) {
    comparison.use(state.event, state.weight, state.scale === "shares");
    showTrust();
  }
  applyEdits();
  sums = chosenSums();
  weight = comparison ? comparison.column[state.shown] : sums[state.weight];
  rows = rowsOf(state.event);
  layout = laidOut();
  total = sumOf(rows, weight);
  fillThreads();
  functions = comparison ? comparison.functions(rows) : profile.functions(rows, weight);
  costs = new Map(functions.map((entry) => [profile.functionOf[entry.frame], entry]));
  prepareColumns();
  if (profile.rows.latency) addOther();
  selected = layout.has(state.box) ? state.box : -1;
  if (selected < 0 && layout.isSandwich && layout.size > 0) selected = 0;
  showStatus(selected);
  standStill();
  painter.sides = (layout.isSandwich ? [0, 1] : [0]).map(firstRange);
  painter.side = 0;
  document.body.toggleAttribute("data-sandwich", layout.isSandwich);
  showReset();
  $("empty").hidden = layout.size > 1 || layout.isSandwich && layout.size > 0 || layout.isTime && layout.lanes.length > 0;
  $("empty").textContent = profile.rows.node.length ? "Nothing was sampled here." : "This recording holds no samples.";
  rankObjects();
  search();
  showBursts();
  showButtons();
  showLegend();
  showTable();
  showDetail();
  showChips();
  showActions();
  showGutter();
  rove();
  resize();
  $("scroll").scrollTop = firstScroll();
}

function laidOut() {
  const unit = chosenUnit();
  if (state.function) return sandwich(profile, rows, profile.functionNamed.get(state.function), weight, unit, comparison);
  if (state.order === "bottom") return bottomUp(profile, groupsOf(), weight, unit, comparison);
  if (state.order === "heavy") return leftHeavy(profile, groupsOf(), weight, unit, comparison);
  return laidOutLanes();
}

/** The chosen rows of an event. */
const rowsOf = (event) => profile.rowsOf(event, oneThread()).filter((row) => !state.range || sums.count[row] > 0);

/** The only chosen thread; null for several. */
const oneThread = () => (WHOLE.has(state.thread) ? null : Number(state.thread));

/** Scroll to the roots or, for callers and callees, to the function, with room for both. */
function firstScroll() {
  if (!layout.isSandwich) return state.direction === "flame" ? $("scroll").scrollHeight : 0;
  const { clientHeight } = $("scroll");
  const [callers, whole] = [layout.lanes[0] ? layout.lanes[0].levels.length : 0, layout.height()].map((levels) => (levels + 1.5) * LEVEL);
  return clamp(callers - clientHeight / 2, whole - clientHeight);
}

/** The initial range of a side: the zoom of a link, otherwise everything. */
function firstRange(side) {
  const zoom = state.zoom[side];
  const [from, to] = zoom && zoom[0] < layout.width ? [zoom[0], Math.min(zoom[1], layout.width)] : homeRange();
  return { from, to };
}

/** The chosen part of the time, otherwise all of it. */
function homeRange() {
  return layout.isTime && state.range ? [state.range[0], Math.min(state.range[1], layout.width)] : [0, layout.width || 1];
}

/** Offer to zoom out if a side does not show everything, or will not at the end of a glide. */
function showReset(end = null) {
  const [least, most] = homeRange();
  $("reset").hidden = painter.sides.every((side, number) => {
    const { from, to } = end && number === painter.side ? end : side;
    return from <= least && to >= most;
  });
}

/** Give each function its self cost in the other number: the value if latencies are shown, otherwise the latency. */
function addOther() {
  const other = sums[otherWeight()];
  const found = new Map(profile.functions(rows, other).map((entry) => [`${entry.name}\n${entry.object}`, entry.self]));
  for (const entry of functions) entry.other = found.get(`${entry.name}\n${entry.object}`);
}

const otherWeight = () => (state.weight === "latency" ? "value" : "latency");

const unitOf = (event) => (event.unit === "count" ? event.name.split(":")[0] : event.unit);

function groupsOf() {
  if (state.thread !== "split" && state.thread !== "process") return [{ label: "", rows }];
  const groups = new Map();
  for (const row of rows) {
    const thread = profile.threads[profile.rows.thread[row]];
    const label = state.thread === "split" ? thread.label : processLabel(thread);
    if (!groups.has(label)) groups.set(label, { label, rows: [] });
    groups.get(label).rows.push(row);
  }
  return [...groups.values()];
}

function rankObjects() {
  if (colours.ranks.size || state.colour !== "object") return; // colours stay with their objects while the view changes
  groupSums().sort((a, b) => b[1].self - a[1].self).forEach(([name], rank) => colours.ranks.set(name, rank));
}

// ---- drawing

function view() {
  return {
    layout, selected, hovered, isFaded, colour: colourOf, label: frameName, flame: state.direction === "flame",
    range: layout.isTime ? state.range : null, useColours: useColours(),
    useOf: laneUse, tell: (box) => [frameName(box), ...sizes(box)].join("\n"),
    scroll: $("scroll").scrollTop, base: baseLine(),
    tick: (value, step) => (value ? tickText(...(layout.isTime ? [value * 1000, step * 1000, painter.to * 1000, "nanoseconds"] : [value, step, painter.to - painter.from, layout.unit])) : rulerWord()),
  };
}

/** A flame graph that is lower than its area is drawn at the bottom. */
function baseLine() {
  if (state.direction !== "flame" || layout.isTime || layout.isSandwich) return 0;
  return Math.max(0, $("scroll").clientHeight - (layout.height() * LEVEL + 8));
}

let waiting = false;
function repaint() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (isProposed) painter.paintProposed(view());
    else painter.paint(view());
    paintOverview();
  });
}

function resize() {
  painter.fit($("canvas").clientWidth, $("scroll").clientHeight);
  $("grip").setAttribute("aria-valuenow", String(panelShare()));
  paintBursts();
  const tall = layout.height() * LEVEL + 8;
  $("room").style.height = `${tall}px`;
  repaint();
}

let gliding = 0; // the next frame of a running glide, otherwise 0

/** Stop at the current range, because a new choice or the wheel takes precedence over an old destination. */
function standStill() {
  hideTip();
  cancelAnimationFrame(gliding);
  gliding = 0;
}

/** Glide to a range; jump if the user prefers reduced motion. */
function goTo(from, to, gesture = "") {
  standStill();
  const least = layout.isTime ? 0.01 : 1e-9 * (layout.width || 1);
  const side = painter.sides[painter.side];
  const { from: oldFrom, to: oldTo } = side;
  const width = Math.max(to - from, least);
  const [target] = keptInside(from, from + width, homeRange());
  const begin = performance.now();
  const long = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 160;
  const step = (now) => {
    const part = long ? Math.min(1, (now - begin) / long) : 1;
    const eased = 1 - (1 - part) ** 3;
    side.from = oldFrom + (target - oldFrom) * eased;
    side.to = oldTo + (target + width - oldTo) * eased;
    painter.paint(view());
    paintOverview();
    gliding = part < 1 ? requestAnimationFrame(step) : 0;
    if (!gliding) steps.remember(gesture);
  };
  gliding = requestAnimationFrame(step);
  showReset({ from: target, to: target + width });
}

/** Zoom into a box; a box that already fills the window opens its function. */
function zoomTo(box) {
  const isOpen = box === selected && painter.from === layout.start[box] && painter.to === layout.end[box];
  select(box);
  if (isOpen && selectedFunction() && selectedFunction() !== state.function) {
    openFunction(selectedFunction());
    return;
  }
  goTo(layout.start[box], layout.end[box]);
}

/** Back to the whole graph; from there, from a function to the previous view, and from a part of the time to all of it. */
function stepOut() {
  if (!$("reset").hidden) zoomOut();
  else if (state.function) openFunction("");
  else if (state.range) clearRange();
  else zoomOut();
}

function zoomOut() {
  const [from, to] = homeRange();
  for (const side of painter.sides) if (side !== painter.sides[painter.side]) Object.assign(side, { from, to });
  goTo(from, to);
}

/** Show a range immediately. */
function moveTo(from, to) {
  standStill();
  [painter.from, painter.to] = keptInside(from, to, homeRange());
  showReset();
  repaint();
}

function zoomBy(factor, x) {
  const middle = painter.value(x);
  moveTo(middle - (middle - painter.from) * factor, middle + (painter.to - middle) * factor);
  steps.rememberSoon("move");
}

function panBy(share) {
  const width = painter.to - painter.from;
  moveTo(painter.from + share * width, painter.to + share * width);
  steps.rememberSoon("move");
}
