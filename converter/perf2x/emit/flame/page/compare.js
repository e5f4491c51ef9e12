"use strict";
// Two profiles on one page: what every box was before and is after, and how that is said and coloured.

const NOISE = 2; // standard deviations of the counts; a smaller change may be chance

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

  /** Take the columns of one event; shares: scale what is after to the whole of what was before. */
  use(event, weight, shares) {
    const { rows } = this.profile;
    const [old, now] = [rows[weight === "count" ? "beforeCount" : "beforeValue"], rows[weight]];
    const all = (column) => column.reduce((sum, value, row) => sum + (rows.event[row] === event ? value : 0), 0);
    const wholes = { before: all(old), after: all(now) };
    this.factor = shares && wholes.before && wholes.after ? wholes.before / wholes.after : 1;
    this.column = { before: old, after: this.factor === 1 ? now : now.map((value) => value * this.factor) };
    this.wholes = { before: wholes.before, after: wholes.after * this.factor };
  }

  samples(event) {
    const { rows } = this.profile;
    const all = (column) => column.reduce((sum, value, row) => sum + (rows.event[row] === event ? value : 0), 0);
    return { before: all(rows.beforeCount), after: all(rows.count) };
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

  /** What a box keeps of its node, from columns: before, after, samples before and after; own: null where nothing is a box's own. */
  changes(sums, own, node) {
    const [total, self] = [sums, own].map((columns) => {
      const [before, after, oldCount, newCount] = columns ? columns.map((column) => column[node]) : [0, 0, 0, 0];
      return change(before, after, oldCount, newCount * this.factor, this.factor);
    });
    return { total, self };
  }

  /** One line for each function, with self and total of both sides; self and total themselves are the changes. */
  functions(rows) {
    const found = new Map();
    for (const side of ["before", "after"]) {
      for (const entry of this.profile.functions(rows, this.column[side])) {
        const key = `${entry.name}\n${entry.object}`;
        if (!found.has(key)) found.set(key, { ...entry, was: { self: 0, total: 0 }, now: { self: 0, total: 0 } });
        found.get(key)[side === "before" ? "was" : "now"] = { self: entry.self, total: entry.total };
      }
    }
    for (const entry of found.values()) for (const key of ["self", "total"]) entry[key] = entry.now[key] - entry.was[key];
    return [...found.values()];
  }

  /** Of the whole before, with a sign, as the table of perf2x diff says it. */
  signed(value) {
    const text = percent(Math.abs(value), this.wholes.before);
    return text === "0 %" ? text : `${value < 0 ? "−" : "+"}${text}`;
  }
}

/** before, after, and strength from −1 (gone) to 1 (new); pale when sampling alone can do that. */
function change(before, after, oldCount, newCount, factor) {
  const most = Math.max(before, after);
  const noisy = Math.abs(newCount - oldCount) < NOISE * Math.sqrt(oldCount + newCount * factor);
  const strength = most > 0 ? (after - before) / most : 0;
  return { before, after, noisy: noisy && before !== after, strength: noisy ? strength / 4 : strength };
}

/** Red grew, blue shrank; grey when it is not what was searched for. */
function changeColour(strength, dark, faded) {
  const force = Math.min(1, Math.abs(strength)) ** 0.6;
  const hue = strength > 0 ? 6 : 214;
  const light = dark ? 24 + 19 * force : 93 - 32 * force;
  if (faded) return `hsl(0 0% ${dark ? 18 : 93}%)`;
  return `hsl(${hue} ${(force * (dark ? 62 : 82)).toFixed(0)}% ${light.toFixed(0)}%)`;
}

const LEGEND = [["gone", -1], ["half", -0.5], ["unchanged", 0], ["twice", 0.5], ["new", 1]];
