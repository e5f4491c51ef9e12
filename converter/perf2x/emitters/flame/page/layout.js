"use strict";
// The positions of all boxes. A layout consists of lanes of levels; a level has boxes that do not overlap, from left to right.

class Layout {
  constructor() {
    /** @type {Lane[]} */
    this.lanes = [];
    this.next = 0; // number of the next box
    this.reserved = 0; // boxes of lanes that are filled on first use
    this.start = new Float64Array(1024);
    this.end = new Float64Array(1024);
    this.node = new Int32Array(1024); // −1: the root box of a lane
    this.depth = new Int32Array(1024);
    this.lane = new Int32Array(1024);
    this.up = new Int32Array(1024); // the enclosing box, −1 for none
    this.own = new Float64Array(1024); // weight of the box itself, without its callees
    this.wait = new Uint8Array(1024); // how it waited, a key of WAITS; 0: it ran
    this.change = []; // values before and after, if two profiles are compared
    /** @type {number[]} */
    this.off = []; // off-CPU share of a box, if any box has one
    this.waits = new Set(); // kinds that occur
    /** @type {string[] | null} */
    this.colour = null; // of the boxes that were looked up
    this.labels = new Map(); // boxes of groups: box → text
    this.width = 0;
    this.unit = "";
    this.isTime = false;
    this.isSandwich = false;
    this.left = 0; // number of threads without a lane
    this.overview = null; // of all threads, once drawn
  }

  /** The number of box numbers in use, some of which may belong to no box. */
  get size() {
    return Math.max(this.next, this.reserved);
  }

  /** Make room for at least this many boxes. */
  grow(room) {
    for (const name of /** @type {const} */ (["start", "end", "node", "depth", "lane", "up", "own", "wait"])) {
      const column = this[name];
      const larger = new /** @type {any} */ (column.constructor)(Math.max(room, column.length));
      larger.set(column);
      /** @type {any} */ (this)[name] = larger;
    }
  }

  /** frame: the frame of each node in the lane's boxes */
  addLane(label, frame) {
    this.lanes.push({ label, frame, levels: [], top: 0, side: 0, grows: "", isTurned: false, track: -1, closed: false, first: 0, last: Infinity, make: null });
    return this.lanes.length - 1;
  }

  /** Make the lane's boxes, unless they exist. */
  fill(lane) {
    const { make } = this.lanes[lane];
    this.lanes[lane].make = null;
    if (make) make();
  }

  /** Whether a box with this number exists. */
  has(box) {
    if (box < 0 || box >= this.size) return false;
    const lane = this.lanes.findLastIndex(({ first }) => first <= box);
    this.fill(lane);
    return box < this.lanes[lane].last;
  }

  addBox(lane, depth, start, end, node, up, own) {
    const box = this.next;
    this.next += 1;
    if (box === this.start.length) this.grow(2 * box);
    this.start[box] = start;
    this.end[box] = end;
    this.node[box] = node;
    this.depth[box] = depth;
    this.lane[box] = lane;
    this.up[box] = up;
    this.own[box] = own;
    const { levels } = this.lanes[lane];
    while (levels.length <= depth) levels.push([]);
    levels[depth].push(box);
    return box;
  }

  /** The frame of a box, −1 for none. */
  frameOf(box) {
    return this.node[box] < 0 ? -1 : this.lanes[this.lane[box]].frame[this.node[box]];
  }

  /** The number of levels in all lanes; also sets where each lane begins. */
  height() {
    let top = 0;
    for (const lane of this.lanes) {
      const isHead = lane.label && (this.isSandwich || !(lane.closed || lane.levels.length));
      lane.top = top + (isHead ? 1 : 0);
      if (lane.closed) top += LANE + 0.2;
      else top = lane.top + lane.levels.length + (lane.label ? 0.3 : 0);
    }
    return top;
  }

  /** The box at a level of a lane that contains position x, −1 for none. */
  find(lane, depth, x) {
    this.fill(lane);
    const level = this.lanes[lane].levels[depth] || [];
    const at = this.firstAfter(level, x);
    return at < level.length && this.start[level[at]] <= x ? level[at] : -1;
  }

  /** Index in the level, from low on, of the first box that ends after x; nearby ones are found fastest. */
  firstAfter(level, x, low = 0) {
    let high = low;
    for (let step = 1; high < level.length && this.end[level[high]] <= x; step *= 2) {
      low = high + 1;
      high += step;
    }
    high = Math.min(high, level.length);
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[level[middle]] > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Groups side by side, costliest first; a group without a label has no box of its own. groups: [{label, rows}] */
function grouped(groups, weight, unit, frame, placeGroup) {
  const layout = new Layout();
  layout.unit = unit;
  const lane = layout.addLane("", frame);
  let at = 0;
  const totals = groups.map((group) => ({ ...group, total: sumOf(group.rows, weight) }));
  const root = layout.addBox(lane, 0, 0, 0, -1, -1, 0);
  const sideBySide = totals.length > 1 || totals.some((group) => group.label);
  for (const group of totals.filter((one) => one.total > 0).sort((a, b) => b.total - a.total)) {
    let up = root;
    if (sideBySide) {
      up = layout.addBox(lane, 1, at, at + group.total, -1, root, 0);
      layout.labels.set(up, group.label);
    }
    placeGroup(layout, group.rows, at, up);
    at += group.total;
  }
  layout.end[root] = layout.width = at;
  return layout;
}

/** Merge stacks with the same callers, costliest first. */
function leftHeavy(profile, groups, weight, unit, comparison) {
  return grouped(groups, weight, unit, profile.frame, (layout, rows, at, up) => {
    const { nodes, sum, own } = foldAll(profile, rows, weight, comparison);
    const wide = nodes.filter((node) => !comparison || profile.sum[node] > 0);
    placeTree(layout, profile, wide, 0, at, up, noteOf(layout, comparison, sum, own));
  });
}

/** The inverted tree: functions by their self cost, and below each its callers. */
function bottomUp(profile, groups, weight, unit, comparison) {
  const frame = [];
  const layout = grouped(groups, weight, unit, frame, (made, rows, at, up) => {
    const { nodes, own } = foldAll(profile, rows, weight, comparison);
    const tree = callersOf(profile, nodes.filter((node) => own.some((column) => column[node] > 0)), own);
    placeFunctions(made, profile, tree, 0, at, up, comparison);
  });
  layout.lanes[0].isTurned = true;
  return layout;
}

/** One function: its callers above it, growing upwards, its callees below it, each side merged over all occurrences. */
function sandwich(profile, rows, target, weight, unit, comparison) {
  const layout = new Layout();
  Object.assign(layout, { unit, isSandwich: true });
  const { nodes, sum, own } = foldAll(profile, rows, weight, comparison);
  const starts = nodes.filter((node) => profile.isOutermost[node] && profile.functionOf[profile.frame[node]] === target);
  layout.width = starts.reduce((all, node) => all + profile.sum[node], 0);
  if (layout.width <= 0) return layout;
  const [callers, callees] = [layout.addLane("Callers: who calls it", []), layout.addLane("Callees: what it calls", [])];
  Object.assign(layout.lanes[callers], { grows: "up", isTurned: true });
  Object.assign(layout.lanes[callees], { grows: "down", side: 1 });
  placeFunctions(layout, profile, callersOf(profile, starts, sum), callers, 0, -1, comparison);
  const called = calleesOf(profile, nodes, target, [...sum, ...own]);
  placeFunctions(layout, profile, { ...called, columns: called.columns.slice(0, sum.length), own: called.columns.slice(sum.length) }, callees, 0, -1, comparison);
  return layout;
}

/** Sums and own values by node: first of the widths, then of the values to compare, or of off-CPU time. */
function foldAll(profile, rows, weight, comparison) {
  const { off } = profile.rows;
  if (off && !comparison) {
    profile.fold(rows, off.map((is, row) => is * weight[row]));
    const [sum, own] = [profile.sum.slice(), profile.own.slice()];
    return { nodes: profile.fold(rows, weight), sum: [profile.sum, sum], own: [profile.own, own] };
  }
  if (comparison) comparison.fold(rows);
  const nodes = profile.fold(rows, weight);
  const { before, after } = comparison ? comparison.nodes : {};
  return {
    nodes,
    sum: comparison ? [profile.sum, before.sum, after.sum, before.count, after.count] : [profile.sum],
    own: comparison ? [profile.own, before.own, after.own, before.ownCount, after.ownCount] : [profile.own],
  };
}

/** Return a function that stores a box's values before and after, or its off-CPU share, because sums are not kept. */
function noteOf(layout, comparison, columns, own) {
  const [wide, ...sums] = columns;
  const owns = own && own.slice(1);
  if (comparison) return (box, node) => (layout.change[box] = comparison.changes(sums, owns, node));
  return sums.length ? (box, node) => (layout.off[box] = sums[0][node] / wide[node]) : null;
}

/** Place the boxes of a tree of functions; nodes of several trees in one lane are numbered one after another. */
function placeFunctions(layout, profile, tree, lane, from, up, comparison) {
  const { frame } = layout.lanes[lane];
  const first = frame.length;
  for (const number of tree.function) frame.push(profile.functionFrame[number]);
  const [sum] = tree.columns;
  const placed = { parent: tree.parent, frame: frame.slice(first), sum, own: tree.own && tree.own[0], rank: profile.rank, place: new Int32Array(sum.length) };
  const nodes = Int32Array.from(sum.keys()).filter((node) => sum[node] > 0);
  placeTree(layout, placed, nodes, lane, from, up, noteOf(layout, comparison, tree.columns, tree.own), first);
}

/**
 * Place boxes of a tree above or below a box, costliest first, level by level.
 * @param {Layout} layout
 * @param {PlacedTree} tree
 * @param {ArrayLike<number>} nodes nodes to place, callers first
 * @param {((box: number, node: number) => unknown) | null} note
 * @param {number} first number of the tree's first node within the lane
 */
function placeTree(layout, tree, nodes, lane, from, up, note, first = 0) {
  const { sum, own } = tree;
  const [order, starts] = childrenOf(tree, nodes);
  const boxes = [up]; // the given box, then those of the nodes in the order of placement
  const placed = [-1]; // indices in "nodes" of the placed nodes
  for (let at = 0; at < boxes.length; at += 1) {
    let x = at ? layout.start[boxes[at]] : from;
    const depth = boxes[at] < 0 ? 0 : layout.depth[boxes[at]] + 1;
    for (let child = starts[placed[at] + 1]; child < starts[placed[at] + 2]; child += 1) {
      const node = nodes[order[child]];
      const box = layout.addBox(lane, depth, x, x + sum[node], first + node, boxes[at], own ? own[node] : 0);
      if (note) note(box, node);
      boxes.push(box);
      placed.push(order[child]);
      x += sum[node];
    }
  }
}

/** Indices of the nodes, by caller, costliest first, and where those of each caller begin; the first ones have no caller. */
function childrenOf({ parent, frame, sum, rank, place }, nodes) {
  const callers = new Int32Array(nodes.length);
  const starts = new Int32Array(nodes.length + 2);
  for (let at = 0; at < nodes.length; at += 1) {
    place[nodes[at]] = at;
    callers[at] = parent[nodes[at]] < 0 ? 0 : place[parent[nodes[at]]] + 1;
    starts[callers[at] + 1] += 1;
  }
  for (let at = 1; at < starts.length; at += 1) starts[at] += starts[at - 1];
  const order = new Int32Array(nodes.length);
  const free = starts.slice();
  for (let at = 0; at < nodes.length; at += 1) order[free[callers[at]]++] = at;
  const heaviestFirst = (a, b) => sum[nodes[b]] - sum[nodes[a]] || rank[frame[nodes[a]]] - rank[frame[nodes[b]]];
  for (let at = 0; at + 1 < starts.length; at += 1) sortPart(order, starts[at], starts[at + 1], heaviestFirst);
  return [order, starts];
}

/** Sort a part of a column; most parts have a few entries, for which calling sort() is slow. */
function sortPart(column, first, end, compare) {
  if (end - first > 12) {
    column.subarray(first, end).sort(compare);
    return;
  }
  for (let at = first + 1; at < end; at += 1) {
    const moved = column[at];
    let to = at;
    for (; to > first && compare(column[to - 1], moved) > 0; to -= 1) column[to] = column[to - 1];
    column[to] = moved;
  }
}
