"use strict";
// When samples were taken: a grid of seconds and fractions of a second, and sums over a part of the time. Never touches the page.

const BURST_ROWS = 50;
const BURST_COLUMNS = [1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 100, 50]; // lengths of a column in microseconds
const FEWEST_COLUMNS = 8;
const MOST_COLUMNS = 600;

class Bursts {
  /** data: {origin, time, row, value?, latency?, lasts?, cpu?} in any order, rows: the profile's {value, count, thread?}, duration: microseconds. */
  constructor(data, rows, duration) {
    this.origin = BigInt(data.origin);
    this.row = data.row.map(addedUp());
    this.rows = rows;
    this.time = Float64Array.from(data.time, addedUp());
    this.value = data.value || this.row.map((row) => rows.value[row] / rows.count[row]);
    this.latency = data.latency || null;
    this.lasts = data.lasts || [];
    this.cpu = data.cpu ? data.cpu.map(addedUp()) : null;
    this.thread = rows.thread || [];
    this.waits = [...this.lasts.keys()].filter((at) => this.lasts[at]);
    this.duration = Math.max(duration, this.time.reduce((most, time, at) => Math.max(most, time + (this.lasts[at] || 1)), 1));
    this.column = columnLength(this.duration);
    this.cell = this.column / BURST_ROWS;
    this.columns = Math.ceil(this.duration / this.column);
  }

  /** Cells of a group, plus one that stays empty. */
  get size() {
    return this.columns * BURST_ROWS + 1;
  }

  /**
   * Sums of all cells, group by group, column by column, of the samples in the given rows (a set of row numbers): of running or waiting time.
   * `groupOf` returns the group of a thread and sample.
   */
  grid(sampleRows, kind, ofWaits = false, groups = 1, groupOf = (_thread, _at) => 0) {
    const waits = ofWaits ? this.waits.filter((at) => sampleRows.has(this.row[at])) : [];
    const cells = new Float64Array(this.size * groups);
    const first = (at) => this.size * groupOf(this.thread[this.row[at]], at);
    if (ofWaits) return (kind === "count" ? this.covering(waits, first, cells) : this.waited(waits, first, cells)).subarray(0, -1);
    for (let at = 0; at < this.time.length; at += 1) {
      if (this.lasts[at] || !sampleRows.has(this.row[at])) continue;
      cells[first(at) + Math.floor(this.time[at] / this.cell)] += kind === "count" ? 1 : this[kind][at];
    }
    return cells.subarray(0, -1);
  }

  /** The number of waits that overlap each cell. */
  covering(waits, first, steps) {
    for (const at of waits) {
      steps[first(at) + Math.floor(this.time[at] / this.cell)] += 1;
      steps[first(at) + Math.ceil((this.time[at] + this.lasts[at]) / this.cell)] -= 1;
    }
    return steps.map(addedUp());
  }

  /** Nanoseconds of waits in each cell; whole microseconds, so that sums are exact and nothing remains in empty cells. */
  waited(waits, first, steps) {
    const cells = this.covering(waits, first, steps);
    const missing = new Float64Array(cells.length);
    for (const at of waits) {
      const [from, to] = [this.time[at], this.time[at] + this.lasts[at]];
      missing[first(at) + Math.floor(from / this.cell)] += from % this.cell;
      missing[first(at) + Math.ceil(to / this.cell) - 1] += Math.ceil(to / this.cell) * this.cell - to;
    }
    return cells.map((count, cell) => 1000 * (count * this.cell - missing[cell]));
  }

  /** Sums per row of the samples from one microsecond to before another, and of the parts of waits: {value, count, latency}. */
  sums([from, to]) {
    const value = new Float64Array(this.rows.value.length);
    const count = new Float64Array(this.rows.value.length);
    const latency = this.latency && new Float64Array(this.rows.value.length);
    const add = (at, part) => {
      value[this.row[at]] += this.value[at] * part;
      count[this.row[at]] += 1;
      if (latency) latency[this.row[at]] += this.latency[at];
    };
    for (let at = 0; at < this.time.length; at += 1) {
      if (this.time[at] >= from && this.time[at] < to && !this.lasts[at]) add(at, 1);
    }
    for (const at of this.waits) {
      const inside = Math.min(to, this.time[at] + this.lasts[at]) - Math.max(from, this.time[at]);
      if (inside > 0) add(at, inside / this.lasts[at]);
    }
    return { value, count, latency };
  }

  /** The whole microseconds between two cells, in any order: [from, to]. */
  range(one, other) {
    const [first, last] = one < other ? [one, other] : [other, one];
    return [Math.ceil(first * this.cell), Math.ceil((last + 1) * this.cell)];
  }

  /** The cells of a range: [first, last]. */
  cells([from, to]) {
    return [Math.floor(from / this.cell), Math.max(Math.floor(from / this.cell), Math.ceil(to / this.cell) - 1)];
  }

  /** perf's --time for a range, including both ends: seconds of the recording's clock. */
  option([from, to]) {
    return `--time ${this.seconds(from, 0n)},${this.seconds(to, 1n)}`;
  }

  seconds(microseconds, less) {
    const recorded = this.origin + BigInt(Math.round(microseconds)) * 1000n - less;
    const time = recorded > 0n ? recorded : 0n; // a first period may begin before the clock's zero
    return `${time / 1000000000n}.${String(time % 1000000000n).padStart(9, "0")}`;
  }
}

/** The same grid, from sums of threads by part of the time (used for too many samples): how long threads ran and waited. */
class LaneBursts extends Bursts {
  /** @param {LaneSums} lanes @param {number[]} thread of each row */
  constructor(lanes, thread) {
    super({ origin: lanes.origin, time: [], row: [] }, { value: [], count: [], thread }, lanes.parts * lanes.length);
    this.lanes = lanes;
    Object.assign(this, { cell: lanes.length, column: lanes.length * BURST_ROWS, columns: Math.ceil(lanes.parts / BURST_ROWS) });
  }

  grid(sampleRows, _, ofWaits = false, groups = 1, groupOf = (_thread, _at) => 0) {
    const { parts, ran, waited } = this.lanes;
    const cells = new Float64Array(this.size * groups);
    for (const thread of new Set([...sampleRows].map((row) => this.thread[row]))) {
      const first = this.size * groupOf(thread, -1);
      for (let at = 0; at < parts; at += 1) cells[first + at] += 1000 * (ofWaits ? waited : ran)[thread * parts + at];
    }
    return cells.subarray(0, -1);
  }
}

/** Return a function that turns steps into running sums. */
const addedUp = (sum = 0) => (step) => (sum += step);

/** A second, if that makes a suitable number of columns; otherwise a tenth of it, ten times as much, and so on. */
function columnLength(duration) {
  let length = BURST_COLUMNS.find((one) => one <= 1e6 && duration / one >= FEWEST_COLUMNS) || BURST_COLUMNS.at(-1);
  while (duration / length > MOST_COLUMNS) length *= 10;
  return length;
}

const HEAT_CLASSES = 6;

/** The largest sum of each class of cells: every sum if there are few, otherwise steps of equal size, so that twice the colour means twice the sum. */
function heatClasses(cells) {
  const several = [...new Set(cells.filter((sum) => sum > 0).sort())];
  if (several.length <= HEAT_CLASSES) return several;
  const most = several.at(-1);
  const steps = Array.from({ length: HEAT_CLASSES }, (_, at) => (most * (at + 1)) / HEAT_CLASSES);
  return [...new Set(steps.map((step) => several.findLast((sum) => sum <= step)).filter(Boolean))];
}
