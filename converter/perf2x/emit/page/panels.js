"use strict";
// Search, legend, table, details, and the view kept in the address.

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
  colours.cache.clear();
  showMatched();
}

/** Share of the whole that lies in matching frames; a match inside a match counts once. */
function showMatched() {
  if (!matcher) {
    $("matched").textContent = "";
    return;
  }
  const nodes = profile.fold(rows, profile.rows[state.weight]);
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

function showButtons() {
  for (const button of document.querySelectorAll("nav .group button")) {
    const [[kind, value]] = Object.entries(button.dataset);
    button.setAttribute("aria-pressed", String(state[kind] === value));
    if (value === "time") {
      button.disabled = !profile.moments;
      button.title = profile.moments ? "(o)" : profile.noMoments;
    }
  }
  $("event").value = state.event;
  $("toggle").setAttribute("aria-pressed", String(!$("side").hidden));
}

function showLegend() {
  const sums = new Map();
  for (const entry of functions) {
    const group = colours.group(entry.frame);
    const known = sums.get(group) || { self: 0, frame: entry.frame };
    // a named frame has the group's colour; nameless ones are grey
    const frame = profile.frames.resolved[known.frame] ? known.frame : entry.frame;
    sums.set(group, { self: known.self + entry.self, frame });
  }
  const parts = [...sums].filter(([name, { self }]) => name && self > 0).sort((a, b) => b[1].self - a[1].self).slice(0, 24);
  $("legend").hidden = state.colour === "name";
  $("legend").replaceChildren(...parts.map(([name, { self, frame }]) => {
    const button = make("button", { title: `Only ${name}` }, make("i"), `${name}  ${percent(self, total)}`);
    button.firstChild.style.background = colours.swatch(name, frame);
    button.setAttribute("aria-pressed", String(state.group === name));
    button.onclick = () => {
      state.group = state.group === name ? null : name;
      search();
      showLegend();
      repaint();
    };
    return button;
  }));
}

function make(tag, fields, ...inside) {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...inside);
  return element;
}

function showTable() {
  const key = state.sort;
  const shown = functions.filter((entry) => isMatch(entry.frame));
  shown.sort((a, b) => (key === "name" ? (a.name < b.name ? -1 : 1) : b[key] - a[key] || b.total - a.total || (a.name < b.name ? -1 : 1)));
  const whole = total || 1;
  $("rows").replaceChildren(...shown.slice(0, 400).map((entry) => {
    const row = make("tr", { title: `${entry.name}\n${entry.object}\nself ${spoken(entry.self, layout.isTime ? "" : layout.unit)}, total ${spoken(entry.total, layout.isTime ? "" : layout.unit)}` },
      make("td", {}, entry.name, " ", make("small", {}, entry.name.startsWith("[") ? "" : entry.object)), make("td", {}, percent(entry.self, whole)), make("td", {}, percent(entry.total, whole)));
    row.style.setProperty("--share", `${(100 * entry[key === "name" ? "self" : key]) / whole}%`);
    row.onclick = () => find(entry.name);
    return row;
  }));
  for (const button of document.querySelectorAll("th button")) {
    const head = button.parentElement;
    if (button.dataset.sort === key) head.setAttribute("aria-sort", key === "name" ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  }
}

/** Search for exactly this function, or stop when it was searched for already. */
function find(name) {
  const pattern = `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  state.search = state.search === pattern ? "" : pattern;
  $("search").value = state.search;
  searched();
}

function searched() {
  search();
  if (state.search.startsWith("^") && state.search.endsWith("$")) showDetail();
  else showTable();
  repaint();
  writeHash();
}

function showDetail() {
  const detail = $("detail");
  if (selected < 0) {
    const event = profile.events[state.event];
    const line = event ? `${rows.reduce((sum, row) => sum + profile.rows.count[row], 0).toLocaleString("en")} samples of ${event.name}` : "";
    detail.replaceChildren(make("h2", {}, profile.title), make("p", {}, line), make("p", {}, "Click a box to look closer."));
    return;
  }
  const node = layout.node[selected];
  const size = sizeOf(selected);
  const parts = [make("h2", {}, frameName(selected))];
  if (node >= 0) parts.push(make("p", {}, describe(profile.frame[node])));
  const bars = make("div", { className: "bars" });
  const whole = wholeOf(selected);
  for (const [word, value] of [["total", size], ["self", layout.own[selected]]]) {
    const bar = make("b", {}, make("i"));
    bar.firstChild.style.width = `${(100 * value) / (whole || 1)}%`;
    bars.append(make("span", {}, word), bar, make("span", {}, `${weighed(value)}  ${percent(value, whole)}`));
  }
  detail.replaceChildren(...parts, bars);
}

function describe(frame) {
  const { frames } = profile;
  const words = [profile.objects[frame] || "no object", frameKind(profile, frame)];
  if (profile.files[frame]) words.push(profile.files[frame]);
  return words.join(" · ");
}

function select(box) {
  selected = box;
  showDetail();
  showStatus(box);
  repaint();
}

function showStatus(box) {
  if (box < 0) return;
  const node = layout.node[box];
  const words = node >= 0 ? ` ${describe(profile.frame[node])}` : "";
  $("status").replaceChildren(make("b", {}, frameName(box)), `${words} · ${numbers(box)}`);
}

function numbers(box) {
  const own = layout.own[box];
  const size = sizeOf(box);
  const when = layout.isTime ? `from ${weighed(layout.start[box])}, ` : "";
  return `${when}${weighed(size)} (${percent(size, wholeOf(box))})${own && own < size ? `, self ${weighed(own)} (${percent(own, wholeOf(box))})` : own ? ", all self" : ""}`;
}

// ---- addresses: the view in the page's fragment, so that a link shows what its sender saw

function writeHash() {
  const words = new URLSearchParams();
  for (const key of ["event", "thread", "order", "direction", "colour", "weight", "search"]) words.set(key, state[key]);
  history.replaceState(null, "", `#${words}`);
}

function readHash() {
  const words = new URLSearchParams(location.hash.slice(1));
  const fits = { order: ["heavy", "time"], direction: ["icicle", "flame"], colour: ["object", "mode", "name"], weight: ["value", "count"] };
  for (const [key, value] of words) {
    if (fits[key] ? fits[key].includes(value) : ["thread", "search"].includes(key)) state[key] = value;
    if (key === "event" && profile.events[Number(value)]) state.event = Number(value);
  }
  if (state.thread !== "merged" && state.thread !== "split" && state.thread !== "process" && !profile.threads[Number(state.thread)]) state.thread = "merged";
  $("search").value = state.search;
}
