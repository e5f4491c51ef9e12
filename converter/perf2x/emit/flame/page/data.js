"use strict";
// The profile as columns, and sums over its tree. Nothing in this file touches the page.

/** Decode the embedded text: base64 of gzip, or plain JSON when the file was written without compression. */
async function readData(text) {
  if (text.startsWith("{")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Profile {
  /** @param {PageData} data */
  constructor(data) {
    Object.assign(this, data);
    this.parent = Int32Array.from(data.nodes.parent);
    this.frame = Int32Array.from(data.nodes.frame);
    this.stamp = new Int32Array(this.parent.length).fill(-1);
    this.sum = new Float64Array(this.parent.length);
    this.own = new Float64Array(this.parent.length);
    this.round = 0;
    this.names = data.frames.name.map((row) => data.strings[row]);
    this.fullNames = data.frames.full.map((row) => data.strings[row]);
    this.objects = data.frames.object.map((row) => data.strings[row]);
    this.files = data.frames.file.map((row) => data.strings[row]);
  }

  /**
   * Rows (indices) of one event, and of one thread unless thread is null.
   * @param {number} event
   * @param {number | null} thread
   */
  rowsOf(event, thread) {
    const found = [];
    const { rows } = this;
    for (let row = 0; row < rows.node.length; row += 1) {
      if (rows.event[row] === event && (thread === null || rows.thread[row] === thread)) found.push(row);
    }
    return found;
  }

  /**
   * Tree nodes that the rows touch, parents before children, with this.sum and this.own filled in for them.
   * @param {number[]} rows
   * @param {Column} weight
   */
  fold(rows, weight) {
    const { stamp, parent, sum, own } = this;
    const round = (this.round += 1);
    const touched = [];
    for (const row of rows) {
      const leaf = this.rows.node[row];
      for (let node = leaf; node >= 0 && stamp[node] !== round; node = parent[node]) {
        stamp[node] = round;
        sum[node] = own[node] = 0;
        touched.push(node);
      }
      if (leaf >= 0) own[leaf] += weight[row];
    }
    touched.sort((a, b) => a - b);
    for (let at = touched.length - 1; at >= 0; at -= 1) {
      const node = touched[at];
      sum[node] += own[node];
      if (parent[node] >= 0) sum[parent[node]] += sum[node];
    }
    return touched;
  }

  /**
   * Self and total per function name and object; recursion counts once.
   * @param {number[]} rows
   * @param {Column} weight
   * @returns {FunctionCost[]}
   */
  functions(rows, weight) {
    const found = new Map();
    const nodes = this.fold(rows, weight);
    for (const node of nodes) {
      const frame = this.frame[node];
      const key = `${this.names[frame]}\n${this.objects[frame]}`;
      let entry = found.get(key);
      if (!entry) found.set(key, (entry = { name: this.names[frame], object: this.objects[frame], frame, self: 0, total: 0 }));
      entry.self += this.own[node];
      if (!this.calledByItself(node)) entry.total += this.sum[node];
    }
    return [...found.values()];
  }

  calledByItself(node) {
    const name = this.names[this.frame[node]];
    const object = this.objects[this.frame[node]];
    for (let up = this.parent[node]; up >= 0; up = this.parent[up]) {
      if (this.names[this.frame[up]] === name && this.objects[this.frame[up]] === object) return true;
    }
    return false;
  }
}

/** @type {[number, string][]} */
const TIME_STEPS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
/** @type {[number, string][]} */
const COUNT_STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A number with its unit as people say it: 1.25 s, 3.4 M cycles, 12 samples. */
function spoken(value, unit) {
  if (unit === "nanoseconds") {
    const [size, name] = TIME_STEPS.find(([step]) => Math.abs(value) >= step) || TIME_STEPS[3];
    return `${trimmed(value / size)} ${name}`;
  }
  const step = COUNT_STEPS.find(([size]) => Math.abs(value) >= size * 10);
  const text = step ? `${trimmed(value / step[0])}${step[1]}` : value.toLocaleString("en");
  return unit ? `${text} ${value === 1 && unit.endsWith("s") ? unit.slice(0, -1) : unit}` : text;
}

function trimmed(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

/** A ruler's tick: as many digits as the step between ticks needs, in one unit for the whole ruler. */
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
  return `${share >= 99.95 || share < 0.005 ? Math.round(share) : share.toFixed(share < 10 ? 2 : 1)} %`;
}
