"use strict";
// Over time, threads as lanes of CPU use, which open to their stacks; an overview of all of them; when a function ran.

const LANE = 2; // levels that a closed lane is tall
const FEW_LANES = 16;
const MOST_OPEN = 2; // threads that are open at first
const OVERVIEW = 30; // pixels

/**
 * How long each column of a part of the time a thread ran, waited, and had a marked function on its stack: shares of the column.
 * @param {[number, number]} tracks the first one, and the first behind them
 * @param {[number, number]} range microseconds
 * @param {Uint8Array | null} marked by node
 */
function useOf(profile, tracks, range, columns, marked) {
  const [from, to] = range;
  const step = (to - from) / columns;
  const [ran, waited, when] = [0, 1, 2].map(() => new Float64Array(columns));
  const { moments, lanes } = profile;
  const add = (sums, start, end, share = 1) => {
    const [first, last] = [start, end].map((time) => Math.min(Math.floor((time - from) / step), columns - 1));
    for (let at = first; at <= last; at += 1) {
      const inside = Math.min(end, from + (at + 1) * step) - Math.max(start, from + at * step);
      sums[at] += (share * Math.max(inside, end > start ? 0 : step)) / step;
    }
  };
  if (lanes) {
    eachPart(lanes, tracks, range, (at, start, end) => {
      add(ran, start, end, lanes.ran[at] / lanes.length);
      add(waited, start, end, lanes.waited[at] / lanes.length);
    });
    return { ran, waited, when };
  }
  eachMoment(profile, { rows: [profile.firstMoment[tracks[0]], profile.firstMoment[tracks[1]]], range }, (row, node, start, stop) => {
    const wait = moments.wait ? moments.wait[row] : 0;
    add(wait ? waited : ran, start, stop);
    if (marked && node >= 0 && marked[node]) add(when, start, stop);
  });
  return { ran, waited, when };
}

/** Do something with each part of the time of some threads: its number, and when it begins and ends inside a range. */
function eachPart({ parts, length }, [track, end], [from, to], act) {
  const [first, last] = [Math.max(0, Math.floor(from / length)), Math.min(parts, Math.ceil(to / length))];
  for (; track < end; track += 1) for (let at = first; at < last; at += 1) act(track * parts + at, Math.max(from, at * length), Math.min(to, (at + 1) * length));
}

/** 1 for each node that has a function at it or above it. */
function nodesWith({ parent, frame, functionOf }, wanted) {
  const found = new Uint8Array(parent.length);
  for (let node = 0; node < found.length; node += 1) found[node] = Number(functionOf[frame[node]] === wanted || (parent[node] >= 0 && found[parent[node]]));
  return found;
}

/** Microseconds that each thread ran, in all of the time or a part of it; those that have nothing there are negative. */
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

/** Tracks to show, dearest first, those of a process together where there are several; most: Infinity for all. */
function lanesInOrder(profile, times, most) {
  const processes = new Map();
  const dearest = [...times.keys()].filter((track) => times[track] >= 0).sort((a, b) => times[b] - times[a]);
  const shown = dearest.slice(0, most);
  for (const track of dearest) processes.set(profile.threads[track].pid, (processes.get(profile.threads[track].pid) || 0) + times[track]);
  const place = new Map([...processes.keys()].sort((a, b) => processes.get(b) - processes.get(a)).map((pid, at) => [pid, at]));
  const placeOf = (track) => place.get(profile.threads[track].pid);
  return { tracks: shown.sort((a, b) => placeOf(a) - placeOf(b) || times[b] - times[a]), left: dearest.length - shown.length };
}

// ---- what is chosen

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

/** Show other lanes; what is in sight stays. */
function showLanes(open) {
  const { from, to } = painter.sides[0];
  const { scrollTop } = $("scroll");
  Object.assign(state, { open, zoom: [[from, to]], box: -1 });
  draw();
  $("scroll").scrollTop = scrollTop;
  steps.remember();
}

/** The lane under the pointer that can be opened or closed: all of a closed one, the head of an open one. */
function laneAt(event) {
  const level = (event.clientY - $("canvas").getBoundingClientRect().top + $("scroll").scrollTop) / LEVEL;
  return layout.lanes.find(({ top, closed, label, track }) => label && track >= 0 && level >= top - (closed ? 0 : 1) && level < top + (closed ? LANE : 0));
}

const frameOfKey = (key) => profile.functionFrame[profile.functionNamed.get(key)];

/** Show when a function ran, or no longer. */
function markFunction(key) {
  state.mark = state.mark === key ? "" : key;
  showLanes(state.open);
}

let marks = { key: "", of: null, nodes: null };

/** 1 for each node with the marked function, null where none is. */
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

/** Shares as bars from a floor: what ran over what waited, and what is marked over both. */
function paintUse(pen, { ran, waited, when }, left, width, y, tall, colours) {
  const wide = width / ran.length;
  for (const [shares, colour, full] of [[waited, colours.wait, true], [ran, colours.use, false], [when, colours.mark, false]]) {
    pen.fillStyle = colour;
    pen.beginPath();
    shares.forEach((share, at) => {
      if (share <= 0) return;
      const high = full ? tall : Math.max(1, tall * Math.min(share, 1));
      pen.rect(left + at * wide, y + tall - high, wide, high);
    });
    pen.fill();
  }
}

/** The shares of a closed lane; frames in which nothing moves ask for the same. */
function laneUse(lane, range, columns) {
  const asked = [...range, columns, state.mark].join();
  if (!lane.use || lane.use.asked !== asked) lane.use = { asked, ...useOf(profile, [lane.track, lane.track + 1], range, columns, markedNodes()) };
  return lane.use;
}

function useColours() {
  const dark = isDark();
  return { wait: waitColour(1, dark, false), use: dark ? "hsl(24 45% 38%)" : "hsl(24 80% 76%)", mark: styled("--accent") };
}

/** The whole time of all threads, with what is in sight and what is chosen. */
function paintOverview() {
  const canvas = $("overview");
  canvas.hidden = !layout.isTime;
  if (canvas.hidden) return;
  const width = canvas.clientWidth;
  const pen = penOf(canvas, width, OVERVIEW);
  const columns = Math.max(1, Math.floor(width / 2));
  const nodes = markedNodes();
  if (!layout.overview || layout.overview.ran.length !== columns) {
    layout.overview = useOf(profile, [0, profile.threads.length], [0, profile.duration || 1], columns, nodes);
    const most = Math.max(...layout.overview.ran, ...layout.overview.when) || 1;
    layout.overview.waited.fill(0);
    for (const shares of [layout.overview.ran, layout.overview.when]) for (let at = 0; at < columns; at += 1) shares[at] /= most;
  }
  paintUse(pen, layout.overview, 0, width, 2, OVERVIEW - 4, useColours());
  const place = (time) => (time / (profile.duration || 1)) * width;
  const { from, to } = painter.sides[0];
  pen.fillStyle = styled("--ground");
  pen.globalAlpha = 0.65;
  pen.fillRect(0, 0, place(from), OVERVIEW);
  pen.fillRect(place(to), 0, width, OVERVIEW);
  pen.globalAlpha = 1;
  pen.strokeStyle = styled("--accent");
  pen.strokeRect(place(from) + 0.5, 0.5, Math.max(1, place(to) - place(from) - 1), OVERVIEW - 1);
}

/** A drag on the overview chooses a range. */
function listenToOverview() {
  const canvas = $("overview");
  const timeOf = (event) => ((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * profile.duration;
  let first = -1;
  canvas.onpointerdown = (event) => {
    first = timeOf(event);
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => first >= 0 && bursts && proposeRange(first, timeOf(event));
  canvas.onpointerup = canvas.onpointercancel = () => {
    first = -1;
    if (isProposed) chooseRange();
  };
}
