"use strict";
// Search, legend, table, and details.

// ---- finding

function search() {
  matcher = null;
  const text = state.search;
  if (text) {
    let pattern;
    try {
      pattern = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
    } catch {
      pattern = null;
    }
    const low = text.toLowerCase();
    matcher = pattern ? (name) => pattern.test(name) : (name) => name.toLowerCase().includes(low);
  }
  showPressed($("full"), state.names === "full");
  forgetColours();
  showMatched();
}

/** Share of the whole that lies in matching frames; a match inside a match counts once. */
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
  $("matched").textContent = sum ? percent(sum, total) : "none";
}

// ---- panels

const CHOICES = ":is(nav, #bursts) .group button";

const showPressed = (button, is) => button.setAttribute("aria-pressed", String(is));

function showButtons() {
  for (const button of document.querySelectorAll(CHOICES)) {
    const [[kind, value]] = Object.entries(button.dataset);
    showPressed(button, state[kind] === value);
    if (value === "value") button.textContent = valueWord();
    if (value === "time") offer(button, hasTimes());
  }
  offer($("burst-toggle"), Boolean(bursts));
  showPressed($("burst-toggle"), state.bursts === "on" && bursts !== null);
  $("event").value = String(state.event);
  showPressed($("toggle"), !$("side").hidden);
}

/** A button that cannot do its work says why: to whoever rests on it, and to whoever presses it. */
function offer(button, can) {
  button.setAttribute("aria-disabled", String(!can));
  if (!can) button.title = profile.noMoments || "";
}

/** Something for the line below, which screen readers read. */
const say = (text) => ($("status").textContent = text);

/** A colour, and what it means. */
function swatched(colour, word) {
  const entry = make("span", {}, make("i"), word);
  entry.firstChild.style.background = colour;
  return entry;
}

/** What the colours of a difference mean. */
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
  const sums = new Map();
  for (const entry of functions) {
    const group = colours.group(entry.frame);
    const self = comparison ? entry[state.shown === "before" ? "was" : "now"].self : entry.self;
    const known = sums.get(group) || { self: 0, frame: entry.frame };
    // a named frame has the group's colour; nameless ones are grey
    const frame = profile.frames.resolved[known.frame] ? known.frame : entry.frame;
    sums.set(group, { self: known.self + self, frame });
  }
  const parts = [...sums].filter(([name, { self }]) => name && self > 0).sort((a, b) => b[1].self - a[1].self).slice(0, 24);
  const waits = waitLegend();
  $("legend").hidden = state.colour === "name" && !waits.length;
  const shown = state.colour === "name" ? [] : parts;
  refill($("legend"), ...waits, ...shown.map(([name, { self, frame }]) => {
    const button = make("button", { title: `Only ${name}` }, make("i"), `${name}  ${percent(self, total)}`);
    button.firstChild.style.background = colours.swatch(frame);
    showPressed(button, state.group === name);
    button.onclick = () => {
      state.group = state.group === name ? "" : name;
      search();
      showLegend();
      repaint();
      steps.remember();
    };
    return button;
  }));
  rove();
}

/** How much of all is off the CPU. */
function showCpu() {
  const dark = isDark();
  const off = rows.reduce((sum, row) => sum + profile.rows.off[row] * weight[row], 0);
  $("legend").replaceChildren(...[["on CPU", 0, total - off], ["half of each", 0.5, 0], ["off CPU", 1, off]].map(([word, share, sum]) => swatched(cpuColour(share, dark, false), sum ? `${word}  ${percent(sum, total)}` : word)), ...waitLegend());
  $("legend").hidden = false;
}

/** What the colours of waits mean, where some are drawn. */
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
  keepingFocus(comparison ? showChanges : showCosts);
  for (const button of document.querySelectorAll("th button")) {
    const head = button.parentElement;
    if (button.dataset.sort === state.sort) head.setAttribute("aria-sort", state.sort === "name" ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

/** The head of the column beside the chosen number. */
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
  $("rows").replaceChildren(...shown.slice(0, 400).map((entry) => {
    const lines = [`self ${cost(entry.self)}, total ${cost(entry.total)}`, ...columnLines(entry.frame).map(([name, text]) => `${name} ${text}`)];
    const cells = [percent(entry.self, whole), percent(entry.total, whole), ...(profile.rows.latency ? [percent(entry.other, wholes.other)] : []), ...functionCells(entry.frame)];
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
    const line = event ? `${comparison ? samplesOf(state.event) : counted(sumOf(rows, sums.count))} samples of ${event.name}` : "";
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
