"use strict";
// Two profiles on one page: the value of every box before and after, as text and colour.

const CONFIDENCE = 0.95;
const LEAST_PART = 1e-6; // the smallest share of both totals that a line counts as

/**
 * Standard deviations below which a change may be chance. Each line gets its share of the errors that the confidence allows
 * for all lines at once, as in perf2x diff. Abramowitz and Stegun, 26.2.23.
 */
function noiseOf(part) {
  const error = ((1 - CONFIDENCE) / 2) * Math.min(1, Math.max(part, LEAST_PART));
  const t = Math.sqrt(-2 * Math.log(error));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

class Comparison {
  constructor(profile) {
    this.profile = profile;
    this.shown = "after";
    this.nodes = { before: this.room(), after: this.room() };
  }

  room() {
    const { length } = this.profile.parent;
    const [sum, own, count, ownCount] = [0, 0, 0, 0].map(() => new Float64Array(length));
    return { sum, own, count, ownCount };
  }

  /** Take the columns of one event; shares: scale the values after to the total before. */
  use(event, weight, shares) {
    const { rows } = this.profile;
    const [old, now] = [rows[weight === "count" ? "beforeCount" : "beforeValue"], rows[weight]];
    const wholes = { before: this.whole(event, old), after: this.whole(event, now) };
    this.factor = shares && wholes.before && wholes.after ? wholes.before / wholes.after : 1;
    this.column = { before: old, after: this.factor === 1 ? now : now.map((value) => value * this.factor) };
    this.wholes = { before: wholes.before, after: wholes.after * this.factor };
    this.both = this.wholes.before + this.wholes.after || 1;
  }

  samples(event) {
    const { rows } = this.profile;
    return { before: this.whole(event, rows.beforeCount), after: this.whole(event, rows.count) };
  }

  /** The sum of an event's rows, including those that edits drop. */
  whole(event, column) {
    return column.reduce((sum, value, row) => sum + (this.profile.rows.event[row] === event ? value : 0), 0);
  }

  /** Sums of all nodes that the rows touch, for both sides. */
  fold(rows) {
    const { profile } = this;
    const counts = { before: profile.rows.beforeCount, after: profile.rows.count };
    for (const side of ["before", "after"]) {
      const room = this.nodes[side];
      for (const node of profile.fold(rows, this.column[side])) [room.sum[node], room.own[node]] = [profile.sum[node], profile.own[node]];
      for (const node of profile.fold(rows, counts[side])) [room.count[node], room.ownCount[node]] = [profile.sum[node], profile.own[node]];
    }
  }

  /** The values of a box from its node's columns: before, after, samples before and after; own: null if nothing belongs to the box itself. */
  changes(sums, own, node) {
    const [total, self] = [sums, own].map((columns) => {
      const [before, after, oldCount, newCount] = columns ? columns.map((column) => column[node]) : [0, 0, 0, 0];
      return change(before, after, oldCount, newCount * this.factor, this.factor, noiseOf((before + after) / this.both));
    });
    return { total, self };
  }

  /**
   * One line for each function, with self and total of both sides; its own self and total are the changes.
   * @param {number[]} rows
   * @returns {FunctionCost[]}
   */
  functions(rows) {
    const { rows: { beforeCount, count } } = this.profile;
    const found = new Map();
    const sides = { was: this.column.before, now: this.column.after, wasCount: beforeCount, nowCount: count };
    for (const [side, column] of Object.entries(sides)) {
      for (const { self, total, ...entry } of this.profile.functions(rows, column)) {
        const key = this.profile.functionOf[entry.frame];
        if (!found.has(key)) found.set(key, { ...entry, ...sideSums(["self", "total"]) });
        found.get(key)[side] = { self, total };
      }
    }
    const all = { self: this.both, total: 0 };
    for (const { was, now } of found.values()) all.total += was.total + now.total;
    return [...found.values()].map((entry) => this.weigh(entry, all));
  }

  /** Add to a line the changes, their deviations, and whether they may be chance among all lines. */
  weigh(entry, all) {
    [entry.deviations, entry.noisy] = [{}, {}];
    for (const key of Object.keys(entry.was)) {
      entry[key] = entry.now[key] - entry.was[key];
      entry.deviations[key] = deviations(entry.wasCount[key], entry.nowCount[key] * this.factor, this.factor);
      entry.noisy[key] = entry[key] !== 0 && Math.abs(entry.deviations[key]) < noiseOf((entry.was[key] + entry.now[key]) / all[key]);
    }
    return entry;
  }

  /**
   * The callers of a function, largest change first: the costs of its stacks before and after, by immediate caller.
   * @param {number[]} rows
   * @param {number} target
   * totals are those of the function below the caller; frame −1: it has no caller
   */
  callers(rows, target) {
    this.fold(rows);
    const { profile, nodes: { before, after } } = this;
    const { parent, frame, functionOf, names, objects } = profile;
    const found = new Map();
    for (const node of profile.fold(rows, this.column.after)) {
      if (functionOf[frame[node]] !== target || !profile.isOutermost[node]) continue;
      const above = parent[node] < 0 ? -1 : frame[parent[node]];
      const key = above < 0 ? -1 : functionOf[above];
      if (!found.has(key)) found.set(key, { frame: above, name: names[above] || "", object: objects[above] || "", ...sideSums(["total"]) });
      for (const [side, { [node]: sum }] of Object.entries({ was: before.sum, now: after.sum, wasCount: before.count, nowCount: after.count })) found.get(key)[side].total += sum;
    }
    return [...found.values()].map((entry) => this.weigh(entry, { total: this.both })).sort((a, b) => Math.abs(b.total) - Math.abs(a.total) || (a.name < b.name ? -1 : 1));
  }

  /** As a share of the total before, with a sign, as in the table of perf2x diff. */
  signed(value) {
    const text = percent(Math.abs(value), this.wholes.before);
    return text === "0 %" ? text : `${value < 0 ? "−" : "+"}${text}`;
  }
}

/** Zeros for both sides, of values and of samples. */
const sideSums = (keys) => Object.fromEntries(["was", "now", "wasCount", "nowCount"].map((side) => [side, Object.fromEntries(keys.map((key) => [key, 0]))]));

/**
 * How many standard deviations of the counts lie between before and after, as if samples came by chance.
 * @param {number} oldCount
 * @param {number} newCount times the factor
 */
function deviations(oldCount, newCount, factor) {
  const spread = Math.sqrt(oldCount + newCount * factor);
  return spread ? (newCount - oldCount) / spread : 0;
}

/** before, after, and strength from −1 (gone) to 1 (new); pale if sampling alone can explain the change. */
function change(before, after, oldCount, newCount, factor, least) {
  const most = Math.max(before, after);
  const noisy = Math.abs(deviations(oldCount, newCount, factor)) < least;
  const strength = most > 0 ? (after - before) / most : 0;
  return { before, after, noisy: noisy && before !== after, strength: noisy ? strength / 4 : strength };
}

/** Red grew, blue shrank; boxes that do not match the search are grey. */
function changeColour(strength, dark, faded) {
  const force = Math.min(1, Math.abs(strength)) ** 0.6;
  const hue = strength > 0 ? 6 : 214;
  const light = dark ? 24 + 19 * force : 93 - 32 * force;
  if (faded) return `hsl(0 0% ${dark ? 18 : 93}%)`;
  return `hsl(${hue} ${(force * (dark ? 62 : 82)).toFixed(0)}% ${light.toFixed(0)}%)`;
}

const LEGEND = [["gone", -1], ["half", -0.5], ["unchanged", 0], ["twice", 0.5], ["new", 1]];
