"use strict";
// Columns beside the chosen number: other events, and ratios of two with their limits, as in perf2x top --column.

const DEVIATIONS = 1.959963984540054; // on either side, for 95 %

/** @type {BesideColumn[]} */
let shownColumns = [];

/**
 * Limits of a sum of weights, as in model/totals/sampling_noise.py.
 * @param {Side} side
 */
function limitsOf({ value, squares, typical }) {
  const weighs = value > 0 ? squares / value : typical;
  const limit = (count, sign) => count && weighs * count * Math.max(1 - 1 / (9 * count) + (sign * DEVIATIONS) / (3 * Math.sqrt(count)), 0) ** 3;
  return [limit(value / weighs, -1), limit(value / weighs + 1, 1)];
}

/**
 * A ratio and its limits; null without enough samples.
 * @param {Side} part
 * @param {Side} whole
 * @param {boolean} exact
 */
function ratioOf(part, whole, exact) {
  if (whole.value <= 0) return [];
  const value = part.value / whole.value;
  if (exact) return [value, value, value];
  const [least, most] = limitsOf(whole);
  if (least <= 0 || most >= 2 * whole.value) return [];
  const product = part.value * whole.value;
  const limit = (own, other, sign) => {
    const scale = other * (2 * whole.value - other);
    return (product + sign * Math.sqrt(Math.max(product ** 2 - own * (2 * part.value - own) * scale, 0))) / scale;
  };
  const [low, high] = limitsOf(part);
  return [value, Math.max(limit(low, most, -1), 0), limit(high, least, 1)];
}

/** Three significant digits, and all digits before the point. */
const shortNumber = (value) => (value < 999.5 ? String(Number(value.toPrecision(3))) : counted(Math.round(value)));

/**
 * A share of the event's cost, or a ratio, which includes its limits in a long text.
 * @param {ColumnData} column
 * @param {Side[]} sides
 * @param {Side[]} wholes
 */
function cellText({ factor, exact }, sides, wholes, isLong) {
  if (!sides[1]) return percent(sides[0].value, wholes[0].value);
  const [value, low, high] = ratioOf(sides[0], sides[1], exact).map((one) => shortNumber(one * factor));
  return value ? `${value}${isLong && low !== high ? ` (${low}–${high})` : ""}` : "–";
}

/** Sums over rows of one event: of their values, and of the squared weights of their samples. */
function eventSums(chosen, { value, count }) {
  const columns = [value, value.map((one, row) => (one * one) / (count[row] || 1))];
  const [whole, squares] = columns.map((column) => sumOf(chosen, column));
  return { columns, whole: { value: whole, squares, typical: squares / (whole || 1) } };
}

/** The costs of functions, and of everything, in an event. */
function eventCosts(event) {
  const chosen = rowsOf(event);
  const { columns, whole } = eventSums(chosen, sums);
  const [costs, noise] = columns.map((column) => profile.functions(chosen, column));
  const side = (at, key) => ({ ...whole, value: costs[at][key], squares: noise[at][key] });
  const of = new Map(costs.map((entry, at) => [profile.functionOf[entry.frame], { entry, self: side(at, "self"), total: side(at, "total") }]));
  return { of, whole, recorded: eventSums(profile.rowsOf(event, null), profile.rows).whole };
}

/** Compute the chosen columns; functions that only their events have become rows, too. */
function prepareColumns() {
  const tables = new Map();
  const names = state.columns.split("\n");
  shownColumns = profile.columns.filter(({ name }) => names.includes(name)).map((column) => {
    for (const event of column.events) if (!tables.has(event)) tables.set(event, eventCosts(event));
    return Object.assign(column, { tables: column.events.map((event) => tables.get(event)) });
  });
  for (const { of } of tables.values()) {
    for (const [number, { entry }] of of) if (!costs.has(number)) functions.push(costs.set(number, { ...entry, self: 0, total: 0 }).get(number));
  }
}

/** Texts of a function's cells. */
function functionCells(frame, isLong = false) {
  const key = state.sort === "total" ? "total" : "self";
  const sides = ({ of, whole }) => (of.get(profile.functionOf[frame]) || { [key]: { ...whole, value: 0, squares: 0 } })[key];
  return shownColumns.map((column) => cellText(column, column.tables.map(sides), column.tables.map(({ whole }) => whole), isLong));
}

/** Lines of the panel. @type {(frame: number) => [string, string, number][]} */
const columnLines = (frame) => functionCells(frame, true).map((text, at) => [shownColumns[at].name, text, 0]);

/** Texts of a line's cells, for the whole recording; its samples are assumed to have equal weights. */
function lineCells(costs) {
  if (!costs) return shownColumns.map(() => "");
  const cost = (event, weight) => costs[measureOf(profile.listings, event, weight)];
  return shownColumns.map((column) => {
    const wholes = column.tables.map(({ recorded }) => recorded);
    const sides = column.events.map((event, at) => ({ ...wholes[at], value: cost(event, "value"), squares: cost(event, "value") ** 2 / (cost(event, "count") || 1) }));
    return cellText(column, sides, wholes, true);
  });
}

/** Add a column, or remove it. */
function toggleColumn(name) {
  const names = shownColumns.map((one) => one.name);
  fragment(); // the scroll position stays
  state.columns = (names.includes(name) ? names.filter((one) => one !== name) : [...names, name]).join("\n");
  draw();
  steps.remember();
}

/** Heads of the columns. */
function showColumns() {
  for (const head of document.querySelectorAll("th.beside")) head.remove();
  $("heads").append(...shownColumns.map(({ name }) => make("th", { className: "beside" }, make("button", { title: `Remove ${name}`, onclick: () => toggleColumn(name) }, name))));
  $("column").value = "";
}
