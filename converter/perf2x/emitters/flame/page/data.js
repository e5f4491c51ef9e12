"use strict";
// The profile as columns, and sums over its tree. Nothing in this file touches the page.

/** The name of a process or thread, with its ids. */
function numbered(name, ...numbers) {
  const known = [...new Set(numbers)].filter((number) => number >= 0);
  return known.length ? `${name || "?"} (${known.join("/")})` : name || "?";
}

const processLabel = ({ process, pid }) => numbered(process, pid);

class Profile {
  /** @param {PageData} data */
  constructor(data) {
    Object.assign(this, { columns: [] }, data);
    const texts = (column) => column.map((row) => data.strings[row]);
    this.names = texts(data.frames.name);
    this.fullNames = texts(data.frames.full);
    this.objects = texts(data.frames.object);
    this.files = texts(data.frames.file);
    this.nameFunctions();
    /** @type {{parent: Int32Array, frame: Int32Array}} */
    this.whole = { parent: Int32Array.from(data.nodes.parent), frame: Int32Array.from(data.nodes.frame) };
    this.foldUnknown();
    this.use([]);
  }

  /** Number functions: frames of one name and one object. */
  nameFunctions() {
    const numbers = new Map();
    this.functionFrame = []; // a frame of each function
    this.functionOf = Int32Array.from(this.names, (_, frame) => {
      const key = this.functionKey(frame);
      if (!numbers.has(key)) numbers.set(key, this.functionFrame.push(frame) - 1);
      return numbers.get(key);
    });
    this.functionNamed = numbers;
    this.rank = new Int32Array(this.names.length); // position of each frame when they are ordered by name
    [...this.names.keys()].sort((a, b) => (this.names[a] < this.names[b] ? -1 : Number(this.names[a] > this.names[b]))).forEach((frame, rank) => (this.rank[frame] = rank));
  }

  /** Fold frames without a name that call each other into one, because they add nothing; keep their largest number. */
  foldUnknown() {
    const { whole, moments } = this;
    const unknown = this.functionNamed.get("[unknown]\n");
    this.run = new Int32Array(whole.parent.length).fill(1);
    if (unknown === undefined) return;
    const { nodeOf, ...tree } = editTree(whole, this.functionOf, "fold", unknown);
    const length = whole.frame.map((frame) => Number(this.functionOf[frame] === unknown));
    for (let node = 0; node < length.length; node += 1) {
      if (length[node] && whole.parent[node] >= 0) length[node] += length[whole.parent[node]];
      this.run[nodeOf[node + 1]] = Math.max(this.run[nodeOf[node + 1]], length[node]);
    }
    const folded = (node) => nodeOf[node + 1];
    this.rows.node = this.rows.node.map(folded);
    if (moments) moments.node = moments.node.map(folded);
    this.whole = tree;
  }

  /** A function as text in addresses: neither names nor objects contain line ends. */
  functionKey(frame) {
    return `${this.names[frame]}\n${this.objects[frame]}`;
  }

  /**
   * Apply edits to the stacks, one after another: [kind, function], or [kind, 1, which frames are 1].
   * @param {[string, number, Int32Array?][]} edits
   */
  use(edits) {
    let tree = this.whole;
    this.runs = this.run;
    let leaf = Int32Array.from(this.rows.node);
    this.nodeOf = null; // by the data's node + 1; null if nodes are unchanged
    for (const [kind, target, numbers] of edits) {
      const { nodeOf, ...rest } = editTree(tree, numbers || this.functionOf, kind, target);
      const edited = (node) => (node === DROPPED ? DROPPED : nodeOf[node + 1]);
      this.nodeOf = this.nodeOf ? this.nodeOf.map(edited) : nodeOf;
      leaf = leaf.map(edited);
      this.runs = nodeRuns(this.runs, nodeOf, rest.parent.length);
      tree = rest;
    }
    this.parent = tree.parent;
    this.frame = tree.frame;
    this.leaf = leaf;
    this.isOutermost = outermost(tree, this.functionOf, this.functionFrame.length);
    this.stamp = new Int32Array(this.parent.length).fill(-1);
    this.place = new Int32Array(this.parent.length); // of layouts
    this.sum = new Float64Array(this.parent.length);
    this.own = new Float64Array(this.parent.length);
    this.round = 0;
    /** @type {{rows: number[], weight: Column, touched: Int32Array} | null} */
    this.last = null; // what was folded
  }

  /** The node that stands for a node of the data; DROPPED if it is not shown. */
  shownNode(node) {
    return this.nodeOf ? this.nodeOf[node + 1] : node;
  }

  /**
   * Rows (indices) of one event, and of one thread unless thread is null, without those that edits drop.
   * @param {number} event
   * @param {number | null} thread
   */
  rowsOf(event, thread) {
    const found = [];
    const { rows, leaf } = this;
    for (let row = 0; row < leaf.length; row += 1) {
      if (rows.event[row] === event && (thread === null || rows.thread[row] === thread) && leaf[row] !== DROPPED) found.push(row);
    }
    return found;
  }

  /**
   * The tree nodes that the rows touch, parents before children, with this.sum and this.own computed for them.
   * @param {number[]} rows
   * @param {Column} weight
   */
  fold(rows, weight) {
    const { stamp, parent, sum, own, last } = this;
    if (last && last.rows === rows && last.weight === weight) return last.touched; // the view asks for the same again and again
    const round = (this.round += 1);
    const found = [];
    for (const row of rows) {
      const leaf = this.leaf[row];
      for (let node = leaf; node >= 0 && stamp[node] !== round; node = parent[node]) {
        stamp[node] = round;
        sum[node] = own[node] = 0;
        found.push(node);
      }
      if (leaf >= 0) own[leaf] += weight[row];
    }
    const touched = Int32Array.from(found).sort();
    for (let at = touched.length - 1; at >= 0; at -= 1) {
      const node = touched[at];
      sum[node] += own[node];
      if (parent[node] >= 0) sum[parent[node]] += sum[node];
    }
    this.last = { rows, weight, touched };
    return touched;
  }

  /**
   * Self and total per function; recursion counts once.
   * @param {number[]} rows
   * @param {Column} weight
   * @returns {FunctionCost[]}
   */
  functions(rows, weight) {
    /** @type {FunctionCost[]} */
    const found = [];
    const entries = [];
    for (const node of this.fold(rows, weight)) {
      const frame = this.frame[node];
      const number = this.functionOf[frame];
      let entry = entries[number];
      if (!entry) found.push((entry = entries[number] = { name: this.names[frame], object: this.objects[frame], frame, self: 0, total: 0 }));
      entry.self += this.own[node];
      if (this.isOutermost[node]) entry.total += this.sum[node];
    }
    return found;
  }
}

const clamp = (value, most) => Math.max(0, Math.min(value, most));

const counted = (number) => number.toLocaleString("en");

/** The sum of a column's rows. */
const sumOf = (rows, column) => rows.reduce((sum, row) => sum + column[row], 0);

/** @type {[number, string][]} */
const TIME_STEPS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
/** @type {[number, string][]} */
const COUNT_STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A number with its unit, formatted for people: 1.25 s, 3.4 M cycles, 12 samples. */
function spoken(value, unit) {
  if (unit === "nanoseconds") {
    const [size, name] = TIME_STEPS.find(([step]) => Math.abs(value) >= step) || TIME_STEPS[3];
    return `${trimmed(value / size)} ${name}`;
  }
  const step = COUNT_STEPS.find(([size]) => Math.abs(value) >= Math.max(size, 10_000));
  const text = step ? `${trimmed(value / step[0])}${step[1]}` : counted(value);
  return unit ? `${text} ${value === 1 && unit.endsWith("s") ? unit.slice(0, -1) : unit}` : text;
}

function trimmed(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

/** The label of a ruler's tick: as many digits as the step between ticks needs, in one unit for the whole ruler. */
function tickText(value, step, most, unit) {
  if (!value) return "0";
  const steps = unit === "nanoseconds" ? TIME_STEPS : COUNT_STEPS;
  const [size, name] = steps.find(([one]) => most >= one * 2) || (unit === "nanoseconds" ? TIME_STEPS[3] : [1, ""]);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(value / size).toFixed(Math.min(digits, 9))}${unit === "nanoseconds" ? " " : ""}${name}`;
}

function percent(part, whole) {
  if (!whole) return "0 %";
  const share = (100 * part) / whole;
  if (share < 0.005 || share > 100 - 1e-9) return `${Math.round(share)} %`;
  return `${Math.min(share, 99.9).toFixed(share < 9.995 ? 2 : 1)} %`; // 100 % is reserved for everything
}
