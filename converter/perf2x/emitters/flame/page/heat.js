"use strict";
// The heat map of bursts: draws it, and lets pointer and keys choose a part of the time.

const HEAT = { top: 4, foot: 16, row: 10 };
const MOST_HEAT_ROWS = 24; // processes; the others share one row
let bursts = null;
/** labels: of rows that are processes or CPUs; step: how many cells of the grid one cell stands for. Both are unset if rows are fractions of a column. */
const heat = { cells: null, cursor: 0, anchor: -1, ends: [], ofWaits: false, labels: [], step: 0 };

function prepareBursts() {
  if (profile.lanes) bursts = new LaneBursts(profile.lanes, profile.rows.thread);
  if (profile.bursts) bursts = new Bursts(profile.bursts, profile.rows, profile.duration);
}

/** The parts of the view that need times. */
const burstFields = () => (bursts ? { bursts: oneOf("off", "on", "off"), heat: oneOf("ran", "ran", "waits"), rows: oneOf("parts", "parts", "process", ...(bursts.cpu ? ["cpu"] : [])), range: { initial: null, read: readRange, write: (range) => (range ? range.join("-") : "") } } : {});

function readRange(text) {
  const [from, to] = text.split("-").map(Number);
  return Number.isSafeInteger(to) && from >= 0 && to > from && from < bursts.duration ? [Math.floor(from), to] : undefined;
}

/** Sums per row of the chosen samples: of the whole recording, or of a part of the time. */
const chosenSums = () => (profile.bursts && state.range ? bursts.sums(state.range) : profile.rows);

function toggleBursts() {
  if (!bursts) {
    say(profile.noMoments);
    return;
  }
  state.bursts = state.bursts === "on" ? "off" : "on";
  showBursts();
  showButtons();
  resize();
  steps.remember();
}

const isFilled = (cells) => cells.some((sum) => sum > 0);

/** The samples of the chosen event and threads, at all times. */
function showBursts() {
  $("bursts").hidden = !bursts || state.bursts !== "on";
  if ($("bursts").hidden) return;
  const sampleRows = new Set(profile.rowsOf(state.event, oneThread()));
  const { labels, of } = heatRows(sampleRows);
  const [ran, waits] = [false, true].map((ofWaits) => bursts.grid(sampleRows, state.weight, ofWaits, labels.length || 1, of));
  heat.ofWaits = isFilled(waits) && (state.heat === "waits" || !isFilled(ran));
  heat.labels = labels;
  heat.cells = arranged(heat.ofWaits ? waits : ran);
  heat.cursor = clamp(heat.cursor, heat.cells.length - 1);
  heat.ends = heatClasses(heat.cells);
  $("heat").style.height = labels.length ? `${Math.max(60, Math.min(labels.length * HEAT.row + HEAT.top + HEAT.foot, innerHeight / 3))}px` : "";
  $("heat-rows").hidden = !bursts.cpu && costsByProcess().size < 2;
  $("cpu-rows").hidden = !bursts.cpu;
  $("heat-kind").hidden = !isFilled(waits) || !isFilled(ran);
  showHeatScale();
  sayRange();
  paintBursts();
}

/** The labels of rows that are processes, costliest first, or CPUs, and the row of a thread and sample; no labels if rows are fractions of a column. */
function heatRows(sampleRows) {
  if (state.rows === "parts") return { labels: [], of: () => 0 };
  if (state.rows === "cpu") {
    const cpus = [...new Set(bursts.cpu)].sort((a, b) => a - b);
    const place = new Map(cpus.map((cpu, at) => [cpu, at]));
    return { labels: cpus.map((cpu) => (cpu < 0 ? "no CPU" : `CPU ${cpu}`)), of: (_, at) => place.get(bursts.cpu[at]) };
  }
  const costs = costsByProcess([...sampleRows]);
  const order = [...costs.keys()].sort((a, b) => costs.get(b) - costs.get(a));
  const place = new Map(order.map((process, at) => [process, Math.min(at, MOST_HEAT_ROWS - 1)]));
  const left = order.length - MOST_HEAT_ROWS + 1;
  return { labels: left > 1 ? [...order.slice(0, MOST_HEAT_ROWS - 1), `${left} others`] : order, of: (thread) => place.get(processLabel(profile.threads[thread])) };
}

/** Cells as drawn, column by column: rows with labels have as many columns as can be distinguished. */
function arranged(grid) {
  heat.step = heat.labels.length && [1, 2, 5, 10, 25, 50].find((step) => grid.length <= heat.labels.length * step * MOST_COLUMNS + 1 || step === 50);
  if (!heat.step) return grid;
  const cells = new Float64Array((heat.labels.length * bursts.columns * BURST_ROWS) / heat.step);
  grid.forEach((sum, at) => sum && (cells[Math.floor((at % bursts.size) / heat.step) * heat.labels.length + Math.floor(at / bursts.size)] += sum));
  return cells;
}

const rowCount = () => heat.labels.length || BURST_ROWS;
const columnLasts = () => (heat.step ? heat.step * bursts.cell : bursts.column);

/** The cell of the grid at which a drawn cell begins. */
const gridCell = (cell) => (heat.step ? Math.floor(cell / rowCount()) * heat.step : cell);

function heatPlace() {
  const canvas = $("heat");
  const left = heat.step ? Math.min(150, canvas.clientWidth / 3) : 46;
  const columns = heat.cells.length / rowCount();
  return { canvas, left, columns, wide: Math.min((canvas.clientWidth - left - 4) / columns, 64), tall: (canvas.clientHeight - HEAT.top - HEAT.foot) / rowCount() };
}

let isHeatDue = false;

/** Draw the heat map with the next frame. */
function paintBursts() {
  if ($("bursts").hidden || isHeatDue) return;
  isHeatDue = true;
  requestAnimationFrame(() => {
    isHeatDue = false;
    if (!$("bursts").hidden) paintHeat();
  });
}

function paintHeat() {
  const place = heatPlace();
  const { canvas, left, columns, wide, tall } = place;
  const pen = penOf(canvas, canvas.clientWidth, canvas.clientHeight);
  const dark = isDark();
  pen.fillStyle = styled("--ground");
  pen.fillRect(left, HEAT.top, wide * columns, tall * rowCount());
  const [first, last] = state.range ? bursts.cells(state.range) : [0, Infinity];
  heat.cells.forEach((sum, cell) => {
    if (!sum) return;
    pen.globalAlpha = gridCell(cell) + Math.max(heat.step - 1, 0) < first || gridCell(cell) > last ? 0.25 : 1;
    pen.fillStyle = heatColour(heat.ends.findIndex((end) => sum <= end), dark);
    const [x, y] = cellPlace(cell, place);
    pen.fillRect(x, y, Math.max(wide - (wide > 4 ? 0.5 : 0), 0.5), tall);
  });
  pen.globalAlpha = 1;
  paintAxes(pen, place);
  if (document.activeElement === canvas) outlineCell(pen, heat.cursor, place, styled("--ink"));
}

const cellPlace = (cell, { left, wide, tall }) => [left + Math.floor(cell / rowCount()) * wide, HEAT.top + (cell % rowCount()) * tall];

/** From pale to red, or from dark to bright in dark mode; waits from pale to blue. */
function heatColour(at, dark) {
  const share = heat.ends.length > 1 ? heat.ends[at] / heat.ends.at(-1) : 0.4;
  if (heat.ofWaits) return dark ? `hsl(214 60% ${20 + 46 * share}%)` : `hsl(214 70% ${90 - 48 * share}%)`;
  return dark ? `hsl(${14 + 34 * share} 85% ${16 + 50 * share}%)` : `hsl(${40 - 38 * share} 90% ${88 - 48 * share}%)`;
}

/** The sums that each colour stands for. */
function showHeatScale() {
  const dark = isDark();
  $("heat-scale").replaceChildren(...heat.ends.map((end, at) => swatched(heatColour(at, dark), `${heat.ends.length > HEAT_CLASSES - 1 ? "≤ " : ""}${burstSize(end)}`)));
}

function paintAxes(pen, { left, columns, wide, tall }) {
  pen.fillStyle = styled("--soft");
  pen.font = "10px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  const every = Math.ceil((HEAT.row - 1) / tall);
  heat.labels.forEach((label, row) => row % every || pen.fillText(shortened(label, Math.floor(left / 6)), left - 4, HEAT.top + (row + 0.5) * tall));
  if (!heat.step) [0, 0.5, 1].forEach((part) => pen.fillText(part ? spoken(part * bursts.column * 1000, "nanoseconds") : "0", left - 4, HEAT.top + 4 + part * (tall * BURST_ROWS - 8)));
  pen.textAlign = "left";
  const step = niceStep(Math.max(1, 90 / wide));
  const lasts = columnLasts() * 1000;
  for (let column = 0; column < columns; column += step) {
    pen.fillText(tickText(column * lasts, step * lasts, bursts.duration * 1000, "nanoseconds"), left + column * wide, HEAT.top + tall * rowCount() + 9);
  }
}

/** Draw a line around the cell that keys move. */
function outlineCell(pen, cell, place, colour) {
  const [x, y] = cellPlace(cell, place);
  const { wide, tall } = place;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.strokeRect(x - 1, y - 1, Math.max(wide, 2) + 1.5, tall + 2);
}

/** The cell at a position on screen; outside the grid, the nearest one. */
function cellAt(event) {
  const { canvas, left, columns, wide, tall } = heatPlace();
  const place = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - place.left - left) / wide);
  const row = Math.floor((event.clientY - place.top - HEAT.top) / tall);
  return clamp(column, columns - 1) * rowCount() + clamp(row, rowCount() - 1);
}

function chooseCells(one, other) {
  const [first, last] = [one, other].map(gridCell).sort((a, b) => a - b);
  state.range = bursts.range(first, last + Math.max(heat.step - 1, 0));
  sayRange();
  paintBursts();
}

/** The chosen part, as text and as an option of the command line. */
function sayRange() {
  if ($("bursts").hidden) return;
  const { range } = state;
  if (!range) {
    const cell = heat.cells[heat.cursor];
    $("range").textContent = document.activeElement === $("heat") ? `${heat.step ? `${heat.labels[heat.cursor % rowCount()]} ` : ""}at ${cellWords(gridCell(heat.cursor))}: ${burstSize(cell)}` : `Drag over bursts to see only them; columns are time${heat.step ? "" : ", rows fractions of a column"}.`;
    return;
  }
  if (!profile.bursts) {
    $("range").textContent = `${rangeWords(range)} · ${bursts.option(range)}`;
    return;
  }
  const sums = bursts.sums(range)[state.weight];
  const sum = sumOf(profile.rowsOf(state.event, oneThread()), sums);
  $("range").textContent = `${rangeWords(range)}: ${burstSize(sum)} · ${bursts.option(range)}`;
}

const cellWords = (cell) => (cell ? spoken(Math.min(cell * bursts.cell, bursts.duration) * 1000, "nanoseconds") : "0");
const burstSize = (sum) => spoken(Math.round(sum), profile.bursts ? chosenUnit() : "nanoseconds");

const HEAT_STEPS = { ArrowLeft: () => -rowCount(), ArrowRight: rowCount, ArrowUp: () => -1, ArrowDown: () => 1 };

function onHeatKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = HEAT_STEPS[event.key];
  if (step) {
    if (event.shiftKey && heat.anchor < 0) heat.anchor = heat.cursor;
    heat.cursor = clamp(heat.cursor + step(), heat.cells.length - 1);
    if (event.shiftKey) chooseCells(heat.anchor, heat.cursor);
    else heat.anchor = -1;
    sayRange();
    paintBursts();
  } else if (event.key === "Enter" || event.key === " ") {
    if (!event.repeat) chooseCells(heat.anchor < 0 ? heat.cursor : heat.anchor, heat.cursor);
    rebuild();
  } else if (event.key === "Escape") clearRange();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function listenToBursts() {
  const canvas = $("heat");
  let from = -1;
  canvas.onpointerdown = (event) => {
    from = heat.cursor = cellAt(event);
    if (event.shiftKey && heat.anchor >= 0) from = heat.anchor;
    heat.anchor = from;
    canvas.setPointerCapture(event.pointerId);
    chooseCells(from, heat.cursor);
  };
  canvas.onpointermove = (event) => {
    if (from < 0) return;
    heat.cursor = cellAt(event);
    chooseCells(from, heat.cursor);
  };
  canvas.onpointerup = canvas.onpointercancel = () => {
    if (from >= 0) rebuild();
    from = -1;
  };
  canvas.onkeydown = onHeatKey;
  canvas.onkeyup = (event) => event.key === "Shift" && state.range && rebuild();
  canvas.onfocus = canvas.onblur = () => bursts && (sayRange(), paintBursts());
  $("burst-toggle").onclick = () => {
    $("menu").hidePopover();
    toggleBursts();
  };
}
