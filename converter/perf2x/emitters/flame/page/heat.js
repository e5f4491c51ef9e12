"use strict";
// The heat map of bursts: draws it, and lets pointer and keys choose a part of the time.

const HEAT = { left: 46, top: 4, foot: 16 };
let bursts = null;
const heat = { cells: null, cursor: 0, anchor: -1, ends: [], ofWaits: false };

function prepareBursts() {
  if (profile.lanes) bursts = new LaneBursts(profile.lanes, profile.rows.thread);
  if (profile.bursts) bursts = new Bursts(profile.bursts, profile.rows, profile.duration);
}

/** The parts of the view that need times. */
const burstFields = () => (bursts ? { bursts: oneOf("off", "on", "off"), heat: oneOf("ran", "ran", "waits"), range: { initial: null, read: readRange, write: (range) => (range ? range.join("-") : "") } } : {});

function readRange(text) {
  const [from, to] = text.split("-").map(Number);
  return Number.isSafeInteger(to) && from >= 0 && to > from && from < bursts.duration ? [Math.floor(from), to] : undefined;
}

/** Sums per row of what is chosen: of the whole recording, or of a part of the time. */
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

/** The samples of the chosen event and threads, all of the time. */
function showBursts() {
  $("bursts").hidden = !bursts || state.bursts !== "on";
  if ($("bursts").hidden) return;
  const wanted = new Set(profile.rowsOf(state.event, oneThread()));
  const [ran, waits] = [false, true].map((ofWaits) => bursts.grid(wanted, state.weight, ofWaits));
  heat.ofWaits = isFilled(waits) && (state.heat === "waits" || !isFilled(ran));
  heat.cells = heat.ofWaits ? waits : ran;
  heat.ends = heatClasses(heat.cells);
  $("heat-kind").hidden = !isFilled(waits) || !isFilled(ran);
  showHeatScale();
  sayRange();
  paintBursts();
}

function heatPlace() {
  const canvas = $("heat");
  const width = canvas.clientWidth - HEAT.left - 4;
  return { canvas, wide: Math.min(width / bursts.columns, 64), tall: (canvas.clientHeight - HEAT.top - HEAT.foot) / BURST_ROWS };
}

function paintBursts() {
  if ($("bursts").hidden) return;
  const { canvas, wide, tall } = heatPlace();
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const dark = document.documentElement.dataset.theme === "dark";
  const style = getComputedStyle(document.documentElement);
  pen.fillStyle = style.getPropertyValue("--ground");
  pen.fillRect(HEAT.left, HEAT.top, wide * bursts.columns, tall * BURST_ROWS);
  const [first, last] = state.range ? bursts.cells(state.range) : [0, heat.cells.length];
  heat.cells.forEach((sum, cell) => {
    if (!sum) return;
    pen.globalAlpha = cell < first || cell > last ? 0.25 : 1;
    pen.fillStyle = heatColour(heat.ends.findIndex((end) => sum <= end), dark);
    const [x, y] = cellPlace(cell, wide, tall);
    pen.fillRect(x, y, Math.max(wide - (wide > 4 ? 0.5 : 0), 0.5), tall);
  });
  pen.globalAlpha = 1;
  paintAxes(pen, style, wide, tall);
  if (document.activeElement === canvas) outlineCell(pen, heat.cursor, wide, tall, style.getPropertyValue("--ink"));
}

const cellPlace = (cell, wide, tall) => [HEAT.left + Math.floor(cell / BURST_ROWS) * wide, HEAT.top + (cell % BURST_ROWS) * tall];

/** From pale to red, or from dark to bright where the page is dark; waits from pale to blue. */
function heatColour(at, dark) {
  const share = heat.ends.length > 1 ? at / (heat.ends.length - 1) : 0.4;
  if (heat.ofWaits) return dark ? `hsl(214 60% ${20 + 46 * share}%)` : `hsl(214 70% ${90 - 48 * share}%)`;
  return dark ? `hsl(${14 + 34 * share} 85% ${16 + 50 * share}%)` : `hsl(${40 - 38 * share} 90% ${88 - 48 * share}%)`;
}

/** Which sums each colour stands for. */
function showHeatScale() {
  const dark = document.documentElement.dataset.theme === "dark";
  $("heat-scale").replaceChildren(...heat.ends.map((end, at) => {
    const entry = make("span", {}, make("i"), `${heat.ends.length > HEAT_CLASSES - 1 ? "≤ " : ""}${burstSize(end)}`);
    entry.firstChild.style.background = heatColour(at, dark);
    return entry;
  }));
}

function paintAxes(pen, style, wide, tall) {
  pen.fillStyle = style.getPropertyValue("--soft");
  pen.font = "10px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  [0, 0.5, 1].forEach((part) => pen.fillText(part ? spoken(part * bursts.column * 1000, "nanoseconds") : "0", HEAT.left - 4, HEAT.top + 4 + part * (tall * BURST_ROWS - 8)));
  pen.textAlign = "left";
  const step = niceStep(Math.max(1, 90 / wide));
  for (let column = 0; column < bursts.columns; column += step) {
    pen.fillText(tickText(column * bursts.column * 1000, step * bursts.column * 1000, bursts.duration * 1000, "nanoseconds"), HEAT.left + column * wide, HEAT.top + tall * BURST_ROWS + 9);
  }
}

/** A line around the cell that keys move. */
function outlineCell(pen, cell, wide, tall, colour) {
  const [x, y] = cellPlace(cell, wide, tall);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.strokeRect(x - 1, y - 1, Math.max(wide, 2) + 1.5, tall + 2);
}

/** The cell at a place on screen, the nearest one outside of the grid. */
function cellAt(event) {
  const { canvas, wide, tall } = heatPlace();
  const place = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - place.left - HEAT.left) / wide);
  const row = Math.floor((event.clientY - place.top - HEAT.top) / tall);
  return clamp(column, bursts.columns - 1) * BURST_ROWS + clamp(row, BURST_ROWS - 1);
}

const clamp = (value, most) => Math.max(0, Math.min(value, most));

function chooseCells(one, other) {
  state.range = bursts.range(one, other);
  sayRange();
  paintBursts();
}

/** What is chosen, in words, and as an option of the command line. */
function sayRange() {
  if ($("bursts").hidden) return;
  const { range } = state;
  if (!range) {
    const cell = heat.cells[heat.cursor];
    $("range").textContent = document.activeElement === $("heat") ? `at ${cellWords(heat.cursor)}: ${burstSize(cell)}` : "Drag over bursts to see only them; columns are time, rows fractions of a column.";
    return;
  }
  if (!profile.bursts) {
    $("range").textContent = `${rangeWords(range)} · ${bursts.option(range)}`;
    return;
  }
  const sums = bursts.sums(range)[state.weight];
  const sum = profile.rowsOf(state.event, oneThread()).reduce((all, row) => all + sums[row], 0);
  $("range").textContent = `${rangeWords(range)}: ${burstSize(sum)} · ${bursts.option(range)}`;
}

const cellWords = (cell) => (cell ? spoken(Math.min(cell * bursts.cell, bursts.duration) * 1000, "nanoseconds") : "0");
const burstSize = (sum) => spoken(Math.round(sum), profile.bursts ? chosenUnit() : "nanoseconds");

const HEAT_STEPS = { ArrowLeft: -BURST_ROWS, ArrowRight: BURST_ROWS, ArrowUp: -1, ArrowDown: 1 };

function onHeatKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = HEAT_STEPS[event.key];
  if (step) {
    if (event.shiftKey && heat.anchor < 0) heat.anchor = heat.cursor;
    heat.cursor = clamp(heat.cursor + step, heat.cells.length - 1);
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
  $("burst-toggle").onclick = toggleBursts;
}
