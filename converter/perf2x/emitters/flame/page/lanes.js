"use strict";
// The view over time: threads as lanes of CPU use, which open to their stacks; an overview of all of them; when a function ran.

const LANE = 2; // height of a closed lane, in levels
const FEW_LANES = 16;
const MOST_OPEN = 2; // number of threads that are open at first
const OVERVIEW = 24; // pixels

/**
 * For each column of a part of the time, how long a thread ran, waited, and had a marked function on its stack: as shares of the column.
 * @param {[number, number]} tracks the first one, and one past the last
 * @param {[number, number]} range microseconds
 * @param {Uint8Array | null} marked by node
 * @param {(frame: number) => string} groupOf the group that colours the innermost function
 * @returns {LaneUse}
 */
function useOf(profile, tracks, range, columns, marked, groupOf = (_frame) => "") {
  const [from, to] = range;
  const step = (to - from) / columns;
  const [waited, when] = [0, 1].map(() => new Float64Array(columns));
  /** @type {Map<string, Float64Array>} */
  const ran = new Map();
  const ranOf = (group) => ran.get(group) || ran.set(group, new Float64Array(columns)).get(group);
  const { moments, lanes, frame } = profile;
  const add = (sums, start, end, share = 1) => {
    const first = Math.min(Math.floor((start - from) / step), columns - 1);
    const last = Math.min(Math.floor((end - from) / step), columns - 1);
    if (first === last) {
      sums[first] += (share * (end > start ? end - start : step)) / step; // as most are
      return;
    }
    for (let at = first; at <= last; at += 1) {
      const inside = Math.min(end, from + (at + 1) * step) - Math.max(start, from + at * step);
      sums[at] += (share * Math.max(inside, end > start ? 0 : step)) / step;
    }
  };
  if (lanes) {
    eachPart(lanes, tracks, range, (at, start, end) => {
      if (lanes.ran[at]) add(ranOf(""), start, end, lanes.ran[at] / lanes.length);
      if (lanes.waited[at]) add(waited, start, end, lanes.waited[at] / lanes.length);
    });
    return { ran, waited, when };
  }
  eachMoment(profile, { rows: [profile.firstMoment[tracks[0]], profile.firstMoment[tracks[1]]], range }, (row, node, start, stop) => {
    const wait = moments.wait ? moments.wait[row] : 0;
    add(wait ? waited : ranOf(node < 0 ? "" : groupOf(frame[node])), start, stop);
    if (marked && node >= 0 && marked[node]) add(when, start, stop);
  });
  return { ran, waited, when };
}

/** Call a function for each part of the time of some threads, with its number, and its start and end within a range. */
function eachPart({ parts, length }, [track, end], [from, to], act) {
  const [first, last] = [Math.max(0, Math.floor(from / length)), Math.min(parts, Math.ceil(to / length))];
  for (; track < end; track += 1) for (let at = first; at < last; at += 1) act(track * parts + at, Math.max(from, at * length), Math.min(to, (at + 1) * length));
}

/** 1 for each node that has a function at it or above it. */
function nodesWith({ parent, frame, functionOf }, target) {
  const found = new Uint8Array(parent.length);
  for (let node = 0; node < found.length; node += 1) found[node] = Number(functionOf[frame[node]] === target || (parent[node] >= 0 && found[parent[node]]));
  return found;
}

/** Microseconds that each thread ran, in all of the time or a part of it; negative for threads without anything there. */
function timesOf(profile, range) {
  const times = new Float64Array(profile.threads.length).fill(-1);
  const { moments, lanes } = profile;
  for (let track = 0; track < times.length; track += 1) {
    if (lanes) {
      eachPart(lanes, [track, track + 1], range, (at) => {
        if (lanes.ran[at] || lanes.waited[at]) times[track] = Math.max(times[track], 0) + lanes.ran[at];
      });
      continue;
    }
    eachMoment(profile, { rows: [profile.firstMoment[track], profile.firstMoment[track + 1]], range }, (row, _, start, end) => {
      times[track] = Math.max(times[track], 0) + (moments.wait && moments.wait[row] ? 0 : end - start);
    });
  }
  return times;
}

/** Tracks to show, costliest first, those of one process together if there are several processes; most: Infinity for all. */
function lanesInOrder(profile, times, most) {
  const processes = new Map();
  const dearest = [...times.keys()].filter((track) => times[track] >= 0).sort((a, b) => times[b] - times[a]);
  const shown = dearest.slice(0, most);
  for (const track of dearest) processes.set(profile.threads[track].pid, (processes.get(profile.threads[track].pid) || 0) + times[track]);
  const place = new Map([...processes.keys()].sort((a, b) => processes.get(b) - processes.get(a)).map((pid, at) => [pid, at]));
  const placeOf = (track) => place.get(profile.threads[track].pid);
  return { tracks: shown.sort((a, b) => placeOf(a) - placeOf(b) || times[b] - times[a]), left: dearest.length - shown.length };
}

// ---- the choice of lanes

const isOpenLane = (track) => (state.open === "some" ? layoutTracks.length <= MOST_OPEN : state.open.split("_").includes(String(track)));
let layoutTracks = [];

/** Lanes of the chosen threads. */
function laidOutLanes() {
  const one = oneThread();
  const range = chosenRange() || [0, Infinity];
  const { tracks, left } = one === null ? lanesInOrder(profile, timesOf(profile, range), state.lanes === "all" ? Infinity : FEW_LANES) : { tracks: [one], left: 0 };
  layoutTracks = tracks;
  const made = overTime(profile, tracks, one === null, chosenRange(), new Set(tracks.filter((track) => profile.moments && (one !== null || isOpenLane(track)))));
  made.left = left;
  return made;
}

/** Open a closed lane, or close an open one. */
function toggleLane(track) {
  if (!profile.moments) {
    say(profile.noMoments);
    return;
  }
  const open = new Set(layoutTracks.filter(isOpenLane).map(String));
  if (!open.delete(String(track))) open.add(String(track));
  showLanes([...open].join("_"));
}

/** Show other lanes, keeping the scroll position. */
function showLanes(open) {
  const { from, to } = painter.sides[0];
  const { scrollTop } = $("scroll");
  Object.assign(state, { open, zoom: [[from, to]], box: -1 });
  draw();
  $("scroll").scrollTop = scrollTop;
  steps.remember();
}

/** The closed lane under the pointer. */
function laneAt(event) {
  const level = (event.clientY - $("canvas").getBoundingClientRect().top + $("scroll").scrollTop) / LEVEL;
  return layout.lanes.find(({ top, closed }) => closed && level >= top && level < top + LANE);
}

/** Draw names of lanes beside them; those of threads open and close their lanes. */
function showGutter() {
  const named = layout.isTime ? layout.lanes.filter(({ label }) => label) : [];
  document.body.toggleAttribute("data-lanes", named.length > 0);
  layout.height();
  refill($("gutter"), ...named.map(({ label, track, closed, top }) => {
    const words = { title: label, style: `top: ${(track < 0 ? top - 1 : top) * LEVEL}px` };
    const name = isNarrow() ? label.replace(/^(.*) \((?:\d+\/)?(\d+)\)$/, "$2 $1") : label; // what differs comes first
    if (track < 0) return make("b", words, name);
    const button = make("button", { ...words, onclick: () => toggleLane(track) }, `${closed ? "▸" : "▾"} ${name}`);
    button.setAttribute("aria-expanded", String(!closed));
    return button;
  }));
}

const frameOfKey = (key) => profile.functionFrame[profile.functionNamed.get(key)];

/** Show when a function ran, or hide it again. */
function markFunction(key) {
  state.mark = state.mark === key ? "" : key;
  showLanes(state.open);
}

let marks = { key: "", of: null, nodes: null };

/** 1 for each node with the marked function; null without one. */
function markedNodes() {
  if (!state.mark) return null;
  if (marks.key !== state.mark || marks.of !== profile.parent) marks = { key: state.mark, of: profile.parent, nodes: nodesWith(profile, profile.functionNamed.get(state.mark)) };
  return marks.nodes;
}

function lanesChip() {
  const button = make("button", { className: "word" }, state.lanes === "all" ? `Only ${FEW_LANES}` : "Show all");
  button.onclick = () => {
    state.lanes = state.lanes === "all" ? "some" : "all";
    showLanes(state.open);
  };
  return make("span", { className: "chip" }, make("b", {}, `${layoutTracks.length} of ${counted(layoutTracks.length + layout.left)} threads`), button);
}

// ---- painting

/** Draw running time as stacked areas, in the colours of the innermost functions, above waiting time; marked time is drawn over both. */
function paintUse(pen, { ran, waited, when }, left, width, y, tall, colours) {
  const wide = width / waited.length;
  const paint = (shares, colour, floor = null) => {
    pen.fillStyle = colour;
    pen.beginPath();
    shares.forEach((share, at) => {
      if (share <= 0) return;
      const [low, high] = [floor ? floor[at] : 0, Math.min(1, (floor ? floor[at] : 0) + share)].map((part) => tall * part);
      if (high > low) pen.rect(left + at * wide, y + tall - Math.max(1, high), wide, Math.max(1, high) - low);
    });
    pen.fill();
  };
  paint(waited.map((share) => Number(share > 0)), colours.wait);
  const floor = new Float64Array(waited.length);
  for (const [group, shares] of [...ran].sort(([one], [other]) => colours.rank(one) - colours.rank(other))) {
    paint(shares, colours.of(group), floor);
    shares.forEach((share, at) => (floor[at] += share));
  }
  paint(when, colours.mark);
}

/** The shares of a closed lane, cached because frames in which nothing moves need the same ones. */
function laneUse(lane, range, columns) {
  const key = [...range, columns, state.mark, state.colour].join();
  if (!lane.use || lane.use.key !== key) lane.use = { key, ...useOf(profile, [lane.track, lane.track + 1], range, columns, markedNodes(), (frame) => colours.group(frame)) };
  return lane.use;
}

/** Lines of a tooltip: what a closed lane's thread did at a position on screen. @param {Lane} lane @param {number} x */
function laneLines({ use }, x) {
  const at = clamp(Math.floor((x / painter.width) * use.waited.length), use.waited.length - 1);
  const parts = [...use.ran].map(([group, shares]) => /** @type {[string, number]} */ ([group || "ran", shares[at]]));
  if (use.waited[at]) parts.push(["waited", use.waited[at]]);
  return [`at ${weighed(painter.value(x))}`, ...parts.filter(([, share]) => share > 0).sort((one, other) => other[1] - one[1]).slice(0, 6).map(([word, share]) => `${word} ${percent(Math.min(share, 1), 1)}`)];
}

const useColours = () => ({
  wait: waitColour(1, isDark(), false), mark: styled("--accent"),
  of: (group) => colours.ofGroup(group), rank: (group) => colours.ranks.get(group) ?? Infinity,
});

/** The whole graph, small, with the visible and the chosen part. */
function paintOverview() {
  const canvas = $("overview");
  const width = canvas.clientWidth;
  const pen = penOf(canvas, width, OVERVIEW);
  if (!layout.overview || layout.overview.of !== width) {
    layout.overview = Object.assign(document.createElement("canvas"), { of: width });
    const whole = penOf(layout.overview, width, OVERVIEW);
    if (layout.isTime) paintWholeTime(whole, width);
    else paintWholeTree(whole, width);
  }
  pen.drawImage(layout.overview, 0, 0, width, OVERVIEW);
  const [least, most] = layout.isTime ? [0, profile.duration || 1] : homeRange();
  const place = (value) => ((value - least) / (most - least)) * width;
  const { from, to } = painter.sides[painter.side];
  pen.fillStyle = styled("--ground");
  pen.globalAlpha = 0.65;
  pen.fillRect(0, 0, place(from), OVERVIEW);
  pen.fillRect(place(to), 0, width, OVERVIEW);
  pen.globalAlpha = 1;
  pen.strokeStyle = styled("--accent");
  if (from > least || to < most) pen.strokeRect(place(from) + 0.5, 0.5, Math.max(1, place(to) - place(from) - 1), OVERVIEW - 1);
}

/** Draw how much all threads together ran. */
function paintWholeTime(pen, width) {
  const use = useOf(profile, [0, profile.threads.length], [0, profile.duration || 1], Math.max(1, Math.floor(width / 2)), markedNodes(), (frame) => colours.group(frame));
  const ran = new Float64Array(use.waited.length);
  for (const shares of use.ran.values()) shares.forEach((share, at) => (ran[at] += share));
  const most = Math.max(...ran, ...use.when) || 1;
  use.waited.fill(0);
  for (const shares of [...use.ran.values(), use.when]) shares.forEach((share, at) => (shares[at] = share / most));
  paintUse(pen, use, 0, width, 2, OVERVIEW - 4, useColours());
}

/** Draw levels as rows of two pixels: at each pixel the box there; of a deep tree only some levels. */
function paintWholeTree(pen, width) {
  const levels = layout.lanes.flatMap(({ levels: own, grows }) => (grows === "up" || (state.direction === "flame" && !grows) ? own.toReversed() : own));
  const rows = Math.min(levels.length, OVERVIEW / 2);
  for (let row = 0; row < rows; row += 1) {
    const level = levels[Math.floor((row * levels.length) / rows)];
    for (let x = 0, at = 0; x < width && at < level.length; x += 1) {
      at = layout.firstAfter(level, (x / width) * layout.width, at);
      if (at === level.length || layout.start[level[at]] >= ((x + 1) / width) * layout.width) continue;
      pen.fillStyle = colourOf(level[at]);
      pen.fillRect(x, (row * OVERVIEW) / rows, 1, OVERVIEW / rows);
    }
  }
}

/** A drag on the overview chooses a range over time; in other orders it moves the visible range. */
function listenToOverview() {
  const canvas = $("overview");
  const valueOf = (event) => ((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * (layout.isTime ? profile.duration : layout.width);
  let first = -1;
  canvas.onpointerdown = (event) => {
    first = valueOf(event);
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    if (first < 0) return;
    const value = valueOf(event);
    if (!layout.isTime) moveTo(Math.min(first, value), Math.max(first, value));
    else if (bursts) proposeRange(first, value);
  };
  canvas.onpointerup = canvas.onpointercancel = () => {
    if (first >= 0 && !layout.isTime) steps.remember("move");
    first = -1;
    if (isProposed) chooseRange();
  };
}
