"use strict";
// The layout over time: a lane per track, a box for each stretch of time during which a function was on the stack.

/**
 * Stacks when they were seen. Lanes are filled on first use: half a million moments have millions of
 * boxes. x is microseconds.
 * @param {number[]} tracks
 * @param {boolean} labelled
 * @param {[number, number] | null} range the only part of the time to show
 * @param {Set<number>} open tracks that show their stacks; all others show how much they ran
 */
function overTime(profile, tracks, labelled, range, open = new Set(tracks)) {
  const layout = new Layout();
  Object.assign(layout, { isTime: true, width: profile.duration });
  const depths = depthsOf(profile.parent);
  const several = new Set(tracks.map((track) => profile.threads[track].pid)).size > 1;
  let process = "";
  for (const track of tracks) {
    const { label } = profile.threads[track];
    if (labelled && several && process !== processLabel(profile.threads[track])) {
      process = processLabel(profile.threads[track]);
      Object.assign(layout.lanes[layout.addLane(process, profile.frame)], { first: layout.reserved, last: layout.reserved });
    }
    if (!open.has(track)) {
      Object.assign(layout.lanes[layout.addLane(label, profile.frame)], { track, closed: true, first: layout.reserved, last: layout.reserved });
      for (const wait of ((profile.moments && profile.moments.wait) || []).slice(profile.firstMoment[track], profile.firstMoment[track + 1])) if (wait) layout.waits.add(wait);
      continue;
    }
    const span = { rows: [profile.firstMoment[track], profile.firstMoment[track + 1]], range: range || [0, Infinity], depths };
    const { boxes, levels } = roomOf(profile, span, layout.waits);
    if (!levels) continue; // nothing in this part of the time
    const number = layout.addLane(labelled ? label : "", profile.frame);
    const lane = layout.lanes[number];
    Object.assign(lane, { track, first: layout.reserved, levels: Array.from({ length: levels }, () => []) });
    lane.make = () => {
      layout.next = lane.first;
      placeMoments(profile, layout, number, span);
      lane.last = layout.next;
    };
    layout.reserved += boxes;
  }
  layout.grow(layout.reserved);
  return layout;
}

/** The number of callers of each node. */
function depthsOf(parent) {
  const depths = new Int32Array(parent.length);
  for (let node = 0; node < parent.length; node += 1) depths[node] = parent[node] < 0 ? 0 : depths[parent[node]] + 1;
  return depths;
}

/** Call a function for each moment of a span, with its row, its node, and the part of its time that lies in the range. */
function eachMoment(profile, { rows: [first, last], range: [from, to] }, act) {
  const { moments } = profile;
  for (let row = first; row < last; row += 1) {
    const start = Math.max(moments.start[row], from);
    const end = Math.min(moments.start[row] + moments.duration[row], to);
    if (start > end || (start === end && moments.duration[row])) continue;
    const node = profile.shownNode(moments.node[row]);
    if (node !== DROPPED) act(row, node, start, end);
  }
}

/** Count the boxes and levels of a span, and collect its kinds of waits. */
function roomOf(profile, span, waits) {
  const room = { boxes: 0, levels: 0 };
  eachStack(profile, span, (shared, path, wait) => {
    room.boxes += path.length - shared;
    room.levels = Math.max(room.levels, path.length);
    if (wait && path.length) waits.add(wait);
  });
  return room;
}

/** Call a function for each moment's path, root first, and the length that continues from the moment before. */
function eachStack(profile, span, act) {
  const { parent, moments } = profile;
  const path = [];
  let until = -1;
  let waited = 0;
  eachMoment(profile, span, (row, leaf, start, end) => {
    const wait = moments.wait ? moments.wait[row] : 0;
    const kept = start === until && wait === waited ? path.length : 0;
    const depth = leaf < 0 ? 0 : span.depths[leaf] + 1;
    path.length = depth;
    let shared = depth;
    for (let node = leaf; shared > 0 && (shared > kept || path[shared - 1] !== node); node = parent[node]) {
      shared -= 1;
      path[shared] = node;
    }
    [until, waited] = [end, wait];
    act(shared, path, wait, start, end);
  });
}

/** Place the boxes of a span; a function that stays on the stack keeps its box. */
function placeMoments(profile, layout, lane, span) {
  const open = []; // boxes of the current stack, root first
  eachStack(profile, span, (shared, path, wait, start, end) => {
    open.length = shared;
    for (const box of open) layout.end[box] = end;
    for (let at = shared; at < path.length; at += 1) {
      const box = layout.addBox(lane, at, start, end, path[at], at ? open[at - 1] : -1, 0);
      layout.wait[box] = wait;
      open.push(box);
    }
    if (path.length) layout.own[open[path.length - 1]] += end - start;
  });
}
