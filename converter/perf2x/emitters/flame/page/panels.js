"use strict";
// Search, legend, table, and details.

// ---- finding

function search() {
  matcher = null;
  const text = state.search;
  if (text) {
    const plain = state.regex === "on" ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    try {
      const pattern = new RegExp(plain, /[A-Z]/.test(text) ? "" : "i");
      matcher = (name) => pattern.test(name);
    } catch {
      matcher = () => false;
    }
  }
  showPressed($("regex"), state.regex === "on");
  forgetColours();
  showMatched();
}

/** The share of the total in matching frames; nested matches count once. */
function showMatched() {
  if (!matcher) {
    $("matched").textContent = "";
    return;
  }
  const nodes = profile.fold(rows, weight);
  const inside = new Uint8Array(profile.parent.length);
  let sum = 0;
  for (const node of nodes) {
    const up = profile.parent[node];
    if (up >= 0 && inside[up]) inside[node] = 1;
    else if (isMatch(profile.frame[node])) {
      inside[node] = 1;
      sum += profile.sum[node];
    }
  }
  const found = functions.filter(({ frame }) => isMatch(frame)).length;
  Object.assign($("matched"), { textContent: sum ? `${counted(found)} · ${percent(sum, total)}` : "none", title: "Functions that match, and what they and all that they call cost" });
}

/** Select the next or previous matching box; after the last one comes the first. */
function goToMatch(step) {
  if (!matcher) return;
  const { size } = layout;
  for (let more = 1, box = selected < 0 && step > 0 ? -1 : selected; more <= size; more += 1) {
    box = (box + step + size) % size;
    if (!layout.has(box) || layout.frameOf(box) < 0 || !isMatch(layout.frameOf(box))) continue;
    bringIntoView(box);
    return;
  }
}

// ---- panels

const CHOICES = ":is(nav, #bursts) .group button";

const showPressed = (button, is) => button.setAttribute("aria-pressed", String(is));

/** Menus of the view, without values that the profile does not have. */
const menuChoices = () => /** @type {HTMLSelectElement[]} */ (/** @type {unknown} */ ([...$("menu").querySelectorAll("select")]));

function listenToMenu() {
  for (const choice of menuChoices()) {
    const { kind } = choice.dataset;
    const missing = Array.from(choice.options).filter(({ value }) => !fields[kind] || fields[kind].read(value) === undefined);
    for (const option of missing) option.remove();
    choice.onchange = () => choose(kind, choice.value);
  }
  $("menu").ontoggle = () => {
    const value = /** @type {HTMLOptionElement} */ ($("menu").querySelector("[value=value]"));
    value.text = valueWord();
    dropBelow($("more"), $("menu"));
  };
}

function showButtons() {
  for (const button of document.querySelectorAll(CHOICES)) {
    const [[kind, value]] = Object.entries(button.dataset);
    showPressed(button, state[kind] === value);
    if (value === "time") offer(button, hasTimes());
  }
  for (const choice of menuChoices()) {
    choice.value = state[choice.dataset.kind];
    choice.parentElement.hidden = choice.options.length < 2;
  }
  offer($("burst-toggle"), Boolean(bursts));
  showPressed($("burst-toggle"), state.bursts === "on" && bursts !== null);
  $("event").value = String(state.event);
  showPressed($("toggle"), !$("side").hidden);
}

/** A disabled button shows its reason on hover and when it is pressed. */
function offer(button, can) {
  button.setAttribute("aria-disabled", String(!can));
  if (!can) button.title = profile.noMoments || "";
}

/** A message for the line below, which screen readers read. */
const say = (text) => ($("status").textContent = text);

/** A colour and its meaning. */
function swatched(colour, word) {
  const entry = make("span", {}, make("i"), word);
  entry.firstChild.style.background = colour;
  return entry;
}

/** The meaning of the colours of a difference. */
function showScale() {
  const dark = isDark();
  const parts = LEGEND.map(([word, strength]) => swatched(changeColour(strength, dark, false), word));
  const what = state.colour === "own" ? "the function itself" : "with all that it calls";
  refill($("legend"), ...parts, make("span", {}, `pale: within the noise of sampling · ${what}`));
  $("legend").hidden = false;
}

function showLegend() {
  if (isChangeColour()) {
    showScale();
    return;
  }
  if (state.colour === "cpu") {
    showCpu();
    return;
  }
  const waits = waitLegend();
  const parts = state.colour === "name" ? [] : legendParts();
  $("legend").hidden = state.colour === "name" && !waits.length;
  refill($("legend"), ...waits, ...parts.map(([name, { self, frame }]) => {
    const button = make("button", { title: `Only stacks with ${name}; self ${cost(self)}` }, make("i"), `${name}  `, make("span", { className: "number" }, percent(self, total)));
    button.firstChild.style.background = colours.swatch(frame);
    showPressed(button, state.edits.some(([kind, key]) => kind === "only" && key === `${name}\n${state.colour}`));
    button.onclick = () => toggleGroup("only", name);
    return button;
  }));
  rove();
}

let legend = { colour: "", parts: [] };

/** Groups in their order; groups that a click on another group hid keep their places. */
function legendParts() {
  const found = groupSums();
  if (legend.colour !== state.colour || !state.edits.some(([kind]) => kind === "only")) {
    legend = { colour: state.colour, parts: found };
    return found;
  }
  const known = new Map(found);
  return legend.parts.map(([name, { frame }]) => [name, known.get(name) || { self: 0, area: 0, frame }]);
}

/**
 * The colour groups on screen, largest area first, with their self cost and a frame of each.
 * @returns {[string, {self: number, area: number, frame: number}][]}
 */
function groupSums() {
  const sums = new Map();
  for (const node of profile.fold(rows, weight)) {
    const frame = profile.frame[node];
    const group = colours.group(frame);
    if (!sums.has(group)) sums.set(group, { self: 0, area: 0, frame });
    const known = sums.get(group);
    known.self += profile.own[node];
    known.area += profile.sum[node];
  }
  return [...sums].filter(([, { area }]) => area > 0).sort((a, b) => b[1].area - a[1].area);
}

/** The share of off-CPU time. */
function showCpu() {
  const dark = isDark();
  const off = rows.reduce((sum, row) => sum + profile.rows.off[row] * weight[row], 0);
  $("legend").replaceChildren(...[["on CPU", 0, total - off], ["half of each", 0.5, 0], ["off CPU", 1, off]].map(([word, share, sum]) => swatched(cpuColour(share, dark, false), sum ? `${word}  ${percent(sum, total)}` : word)), ...waitLegend());
  $("legend").hidden = false;
}

/** The meaning of the colours of waits, if any are drawn. */
function waitLegend() {
  const dark = isDark();
  return [...layout.waits].sort().map((kind) => swatched(waitColour(kind, dark, false), WAITS[kind]));
}

function make(tag, fields, ...inside) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...inside);
  return element;
}

function showTable() {
  if (profile.rows.latency) showOther();
  showColumns();
  showPressed($("tree"), state.tree === "on");
  keepingFocus(comparison ? showChanges : state.tree === "on" ? showTree : showCosts);
  for (const button of document.querySelectorAll("th button")) {
    const head = button.parentElement;
    if (button.dataset.sort === state.sort) head.setAttribute("aria-sort", state.sort === "name" ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

/** The heading of the column beside the chosen number. */
function showOther() {
  const [name, what] = otherWeight() === "value" ? [valueWord(), "periods"] : ["Latency", "latencies"];
  Object.assign($("other"), { textContent: name, title: `Self, as a share of all ${what}` });
}

function showCosts() {
  const key = state.sort;
  const shown = functions.filter((entry) => isMatch(entry.frame));
  shown.sort((a, b) => (key === "name" ? (a.name < b.name ? -1 : 1) : b[key] - a[key] || b.total - a.total || (a.name < b.name ? -1 : 1)));
  const whole = total || 1;
  const wholes = { other: profile.rows.latency ? sumOf(rows, sums[otherWeight()]) || 1 : 1 };
  fillRows(shown.slice(0, 400).map((entry) => () => {
    const lines = [`self ${cost(entry.self)}, total ${cost(entry.total)}`, ...columnLines(entry.frame).map(([name, text]) => `${name} ${text}`)];
    const cells = [costCell(entry.self, whole), costCell(entry.total, whole), ...(profile.rows.latency ? [percent(entry.other, wholes.other)] : []), ...functionCells(entry.frame)];
    return functionRow(entry, lines, cells, entry[key === "name" ? "self" : key] / (wholes[key] || whole));
  }));
}

function searched() {
  search();
  showTable();
  repaint();
  steps.remember("search");
}

function showDetail() {
  const detail = $("detail");
  const marked = selected < 0 && layout.isTime && state.mark ? frameOfKey(state.mark) : -1;
  if (selected < 0 && marked < 0) {
    const event = profile.events[state.event];
    const line = isFolded() ? `${spoken(total, "")} in all` : event ? `${comparison ? samplesOf(state.event) : counted(sumOf(rows, sums.count))} samples of ${event.name}` : "";
    detail.replaceChildren(make("h2", {}, profile.title), make("p", {}, line), ...(comparison ? profile.facts.slice(2).map((fact) => make("p", {}, fact)) : []), make("p", {}, `Click a box to look closer, a function below to see ${layout.isTime && profile.moments ? "when it ran" : "its callers and callees"}.`));
    showCode(-1);
    return;
  }
  const frame = marked < 0 ? layout.frameOf(selected) : marked;
  const name = marked < 0 ? frameName(selected) : profile.names[marked];
  const bars = make("div", { className: "bars" });
  for (const [word, text, share] of marked < 0 ? panelLines(selected) : functionLines(costOf(marked))) {
    const bar = make("b", {}, make("i"));
    bar.firstChild.style.width = `${100 * share}%`;
    bars.append(make("span", {}, word), bar, make("span", {}, text));
  }
  const about = frame < 0 ? [] : [make("details", {}, make("summary", { title: "All of it" }, describe(frame)))];
  detail.replaceChildren(make("h2", { title: name }, name), bars, ...about, ...(comparison && frame >= 0 ? [callerList(frame)] : []));
  showCode(frame);
}

function describe(frame) {
  const words = [profile.objects[frame] || "no object", frameKind(profile, frame)];
  if (profile.files[frame]) words.push(profile.files[frame]);
  if (profile.fullNames[frame]) words.unshift(profile.fullNames[frame]);
  return words.join(" · ");
}

function select(box) {
  selected = box;
  painter.side = laneOf(box).side;
  showDetail();
  showStatus(box);
  showActions();
  repaint();
}

function showStatus(box) {
  const frame = box < 0 ? -1 : layout.frameOf(box);
  if (box < 0) say(`${state.range && profile.bursts ? `${rangeWords(state.range)}: ` : ""}${spoken(total, chosenUnit())}`);
  else $("status").replaceChildren(make("b", {}, nameParts(frameName(box))), ` ${[...sizes(box), ...(frame >= 0 ? [describe(frame)] : [])].join(" · ")}`);
}
