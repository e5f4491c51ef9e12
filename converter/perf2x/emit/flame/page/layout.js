"use strict";
// Where every box goes. A layout is lanes of levels; a level holds boxes that do not overlap, from left to right.

class Layout {
  constructor() {
    this.lanes = []; // {label, levels: [[box, …], …], top: first level on screen}
    this.start = [];
    this.end = [];
    this.node = []; // −1: the root box of a lane
    this.depth = [];
    this.lane = [];
    this.up = []; // the box that holds this one, −1 for none
    this.own = []; // weight of the box itself, without those above it
    this.change = []; // what it was before and is after, when two profiles are compared
    this.wait = []; // how it waited, a key of WAITS; 0 or missing: it ran
    this.labels = new Map(); // boxes of groups: box → text
    this.width = 0;
    this.unit = "";
    this.isTime = false;
  }

  addLane(label) {
    this.lanes.push({ label, levels: [], top: 0 });
    return this.lanes.length - 1;
  }

  addBox(lane, depth, start, end, node, up, own) {
    const box = this.start.length;
    this.start.push(start);
    this.end.push(end);
    this.node.push(node);
    this.depth.push(depth);
    this.lane.push(lane);
    this.up.push(up);
    this.own.push(own);
    const { levels } = this.lanes[lane];
    while (levels.length <= depth) levels.push([]);
    levels[depth].push(box);
    return box;
  }

  /** Number of levels in all lanes; sets where each lane begins. */
  height() {
    let top = 0;
    for (const lane of this.lanes) {
      lane.top = top + (lane.label ? 1 : 0);
      top = lane.top + lane.levels.length + (lane.label ? 0.5 : 0);
    }
    return top;
  }

  /** The box at a level of a lane that holds position x, −1 for none. */
  find(lane, depth, x) {
    const level = this.lanes[lane].levels[depth] || [];
    const at = this.firstAfter(level, x);
    return at < level.length && this.start[level[at]] <= x ? level[at] : -1;
  }

  /** Index in the level of the first box that ends behind x. */
  firstAfter(level, x) {
    let low = 0;
    let high = level.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[level[middle]] > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Same callers merged, heaviest first. groups: [{label, rows}]; one without a label has no box of its own. */
function leftHeavy(profile, groups, weight, unit, comparison) {
  const layout = new Layout();
  layout.unit = unit;
  const lane = layout.addLane("");
  let at = 0;
  const totals = groups.map((group) => ({ ...group, total: group.rows.reduce((sum, row) => sum + weight[row], 0) }));
  const root = layout.addBox(lane, 0, 0, 0, -1, -1, 0);
  const sideBySide = totals.length > 1 || totals.some((group) => group.label);
  for (const group of totals.filter((one) => one.total > 0).sort((a, b) => b.total - a.total)) {
    let up = root;
    if (sideBySide) {
      up = layout.addBox(lane, 1, at, at + group.total, -1, root, 0);
      layout.labels.set(up, group.label);
    }
    placeTree(profile, layout, lane, group.rows, weight, at, up, comparison);
    at += group.total;
  }
  layout.end[root] = layout.width = at;
  return layout;
}

function placeTree(profile, layout, lane, rows, weight, from, up, comparison) {
  if (comparison) comparison.fold(rows);
  const nodes = profile.fold(rows, weight).filter((node) => !comparison || profile.sum[node] > 0);
  const children = new Map();
  for (const node of nodes) {
    const key = profile.parent[node];
    if (children.has(key)) children.get(key).push(node);
    else children.set(key, [node]);
  }
  const { sum, own, names, frame } = profile;
  const heaviestFirst = (a, b) => sum[b] - sum[a] || (names[frame[a]] < names[frame[b]] ? -1 : 1);
  // an explicit stack: recorded stacks may be deeper than the browser's
  const todo = [[-1, from, up]];
  while (todo.length) {
    const [node, start, holder] = todo.pop();
    const below = (children.get(node) || []).sort(heaviestFirst);
    let x = start;
    const placed = [];
    for (const child of below) {
      const box = layout.addBox(lane, layout.depth[holder] + 1, x, x + sum[child], child, holder, own[child]);
      if (comparison) layout.change[box] = comparison.of(child);
      placed.push([child, x, box]);
      x += sum[child];
    }
    while (placed.length) todo.push(placed.pop());
  }
}

/** Stacks where they were seen. One lane per track; x is microseconds. */
function overTime(profile, tracks, labelled) {
  const layout = new Layout();
  layout.isTime = true;
  const { moments } = profile;
  for (const track of tracks) {
    const [first, last] = [profile.firstMoment[track], profile.firstMoment[track + 1]];
    if (first === last) continue;
    const lane = layout.addLane(labelled ? profile.threads[track].label : "");
    placeMoments(profile, layout, lane, moments, first, last);
  }
  layout.width = profile.duration;
  return layout;
}

function placeMoments(profile, layout, lane, moments, first, last) {
  const open = []; // boxes of the current stack, root first
  let until = -1;
  let waited = 0;
  for (let row = first; row < last; row += 1) {
    const start = moments.start[row];
    const end = start + moments.duration[row];
    const path = [];
    for (let node = moments.node[row]; node >= 0; node = profile.parent[node]) path.push(node);
    path.reverse();
    let shared = 0;
    const wait = moments.wait ? moments.wait[row] : 0;
    if (start === until && wait === waited) while (shared < open.length && layout.node[open[shared]] === path[shared]) shared += 1;
    open.length = shared;
    for (const box of open) layout.end[box] = end;
    for (let depth = shared; depth < path.length; depth += 1) {
      const box = layout.addBox(lane, depth, start, end, path[depth], depth ? open[depth - 1] : -1, 0);
      if (wait) layout.wait[box] = wait;
      open.push(box);
    }
    [until, waited] = [end, wait];
    if (open.length) layout.own[open[open.length - 1]] += end - start;
  }
}
