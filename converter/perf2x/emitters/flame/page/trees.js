"use strict";
// Trees made from the profile's tree: with or without a function, inverted, or from the view of one function. Never touches the page.

/** Return the room for a number of pairs, a power of two. */
const roomFor = (pairs) => 2 ** Math.ceil(Math.log2(Math.max(pairs, 1024)));

/** Numbers pairs of whole numbers (the first from −1), from 0 in order of first occurrence. */
class PairTable {
  constructor(room = 1024) {
    this.first = new Int32Array(room);
    this.second = new Int32Array(room);
    this.length = 0;
    this.place();
  }

  /** Slots for all pairs; each has a pair's number + 1, 0 if it is free. */
  place() {
    this.slots = new Int32Array(4 * this.first.length);
    for (let number = 0; number < this.length; number += 1) this.slots[this.slotOf(this.first[number], this.second[number])] = number + 1;
  }

  slotOf(first, second) {
    const mask = this.slots.length - 1;
    const mixed = Math.imul(Math.imul(first + 1, 0x9e3779b1) ^ (second + 1), 0x85ebca6b);
    let at = (mixed ^ (mixed >>> 15)) & mask;
    for (let held; (held = this.slots[at]) > 0; at = (at + 1) & mask) {
      if (this.first[held - 1] === first && this.second[held - 1] === second) break;
    }
    return at;
  }

  of(first, second) {
    let slot = this.slotOf(first, second);
    if (this.slots[slot]) return this.slots[slot] - 1;
    if (this.length === this.first.length) {
      for (const name of ["first", "second"]) this[name] = longer(this[name]);
      this.place();
      slot = this.slotOf(first, second);
    }
    [this.first[this.length], this.second[this.length]] = [first, second];
    return (this.slots[slot] = this.length += 1) - 1;
  }
}

function longer(column) {
  const twice = new column.constructor(2 * column.length);
  twice.set(column);
  return twice;
}

const DROPPED = -2;

/**
 * Maps each node to its new node if a function is the only one shown, is hidden, or its recursion is folded.
 * `nodeOf` has the new node of node − 1, so that its first entry is for no node; DROPPED: the stack is not shown.
 * @param {{parent: Int32Array, frame: Int32Array}} tree
 * @param {Int32Array} functionOf by frame
 * @param {string} kind of EDITS
 * @param {number} target
 * @returns {EditedTree}
 */
function editTree(tree, functionOf, kind, target) {
  return kind === "focus" ? focused(tree, functionOf, target) : without(tree, functionOf, kind, target);
}

/** The number of frames that each node of an edited tree stands for. */
function nodeRuns(runs, nodeOf, nodes) {
  const made = new Int32Array(nodes).fill(1);
  nodeOf.forEach((to, from) => from && to >= 0 && (made[to] = Math.max(made[to], runs[from - 1])));
  return made;
}

/** Keep stacks that contain the function; the tree is unchanged. */
function focused({ parent, frame }, functionOf, target) {
  const nodeOf = new Int32Array(parent.length + 1).fill(DROPPED);
  for (let node = 0; node < parent.length; node += 1) {
    if (functionOf[frame[node]] === target || nodeOf[parent[node] + 1] >= 0) nodeOf[node + 1] = node;
  }
  return { parent, frame, nodeOf };
}

/** Remove the function's frames ("hide"), or those that it called itself ("fold"): the caller gets their cost and callees; an empty stack is dropped. */
function without({ parent, frame }, functionOf, kind, target) {
  const nodeOf = new Int32Array(parent.length + 1).fill(-1);
  const table = new PairTable(roomFor(parent.length));
  for (let node = 0; node < parent.length; node += 1) {
    const caller = nodeOf[parent[node] + 1];
    const isGone = functionOf[frame[node]] === target && (kind === "hide" || (caller >= 0 && functionOf[table.second[caller]] === target));
    nodeOf[node + 1] = isGone ? caller : table.of(caller, frame[node]);
  }
  if (kind === "hide") nodeOf.forEach((to, from) => from && to < 0 && (nodeOf[from] = DROPPED));
  return { parent: table.first.slice(0, table.length), frame: table.second.slice(0, table.length), nodeOf };
}

/** 1 for each node whose function is not among its own callers. */
function outermost({ parent, frame }, functionOf, functions) {
  const [child, next] = [new Int32Array(parent.length + 1).fill(-1), new Int32Array(parent.length)];
  for (let node = parent.length - 1; node >= 0; node -= 1) {
    next[node] = child[parent[node] + 1];
    child[parent[node] + 1] = node;
  }
  const depth = new Int32Array(functions);
  const is = new Uint8Array(parent.length);
  let node = child[0];
  while (node >= 0) {
    is[node] = Number((depth[functionOf[frame[node]]] += 1) === 1);
    let on = child[node + 1];
    for (; on < 0 && node >= 0; node = parent[node]) {
      depth[functionOf[frame[node]]] -= 1;
      on = next[node];
      if (on >= 0) break;
    }
    node = on;
  }
  return is;
}

/**
 * Merge the callers of the starting nodes: their functions at the roots, each caller below the function that it calls.
 * @param {{parent: Int32Array, frame: Int32Array, functionOf: Int32Array}} tree
 * @param {ArrayLike<number>} starts nodes
 * @param {ArrayLike<number>[]} columns weights by node
 * @returns {FunctionTree}
 */
function callersOf({ parent, frame, functionOf }, starts, columns) {
  const table = new PairTable(roomFor(starts.length));
  const cursor = Int32Array.from(starts);
  const group = new Int32Array(cursor.length).fill(-1);
  const weights = columns.map((column) => Float64Array.from(starts, (node) => column[node]));
  const levels = columns.map(() => []);
  for (let alive = cursor.length; alive > 0;) {
    const before = table.length;
    for (let at = 0; at < alive; at += 1) group[at] = table.of(group[at], functionOf[frame[cursor[at]]]);
    weights.forEach((weight, column) => {
      const sums = new Float64Array(table.length - before);
      for (let at = 0; at < alive; at += 1) sums[group[at] - before] += weight[at];
      levels[column].push(sums);
    });
    let kept = 0;
    for (let at = 0; at < alive; at += 1) {
      const up = parent[cursor[at]];
      if (up < 0) continue;
      [cursor[kept], group[kept]] = [up, group[at]];
      for (const weight of weights) weight[kept] = weight[at];
      kept += 1;
    }
    alive = kept;
  }
  return functionTree(table, levels.map(joined));
}

function joined(pieces) {
  const whole = new Float64Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Merge the function and its callees over all occurrences; a recursive call is below the function.
 * @param {{parent: Int32Array, frame: Int32Array, functionOf: Int32Array}} tree
 * @param {ArrayLike<number>} nodes nodes to include, callers first
 * @param {ArrayLike<number>[]} columns weights by node
 * @returns {FunctionTree}
 */
function calleesOf({ parent, frame, functionOf }, nodes, target, columns) {
  const table = new PairTable();
  const inside = new Int32Array(parent.length).fill(-1);
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at];
    const holder = parent[node] < 0 ? -1 : inside[parent[node]];
    if (holder >= 0 || functionOf[frame[node]] === target) inside[node] = table.of(holder, functionOf[frame[node]]);
  }
  return functionTree(table, columns.map((column) => {
    const sums = new Float64Array(table.length);
    for (let at = 0; at < nodes.length; at += 1) if (inside[nodes[at]] >= 0) sums[inside[nodes[at]]] += column[nodes[at]];
    return sums;
  }));
}

const functionTree = (table, columns) => ({ parent: table.first.slice(0, table.length), function: table.second.slice(0, table.length), columns });
