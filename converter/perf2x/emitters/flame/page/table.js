"use strict";
// Rows of the table of functions, and keys that move from one row to the next.

/** Letters at the end of a long name that are always visible, because its end distinguishes more than its middle. */
const END = 14;

/**
 * @param {FunctionCost} entry
 * @param {string[]} lines of the tooltip below the name
 * @param {(string | HTMLElement)[]} cells beside the name
 * @param {number} share of the bar behind the row
 */
function functionRow(entry, lines, cells, share) {
  const button = make("button", { tabIndex: -1 }, nameParts(entry.name), " ", make("small", {}, entry.name.startsWith("[") ? "" : entry.object));
  button.setAttribute("aria-label", [entry.name, entry.object].filter(Boolean).join(", "));
  button.dataset.name = profile.functionKey(entry.frame);
  if (button.dataset.name === (layout.isTime ? state.mark : state.function)) button.setAttribute("aria-current", "true");
  const object = comparison ? [] : [make("td", { className: "object" }, entry.object)];
  const row = make("tr", { title: [entry.name, entry.object, ...lines].join("\n") }, make("td", {}, button), ...object, ...cells.map((cell) => (typeof cell === "string" ? make("td", {}, cell) : cell)));
  row.style.setProperty("--share", `${100 * share}%`);
  row.onclick = ({ detail }) => detail < 2 && toggleFunction(entry.frame); // the second click of a double click does not count
  return row;
}

/** A long name in two parts, of which the first is shortened: its scopes or, without scopes, its start. */
function nameParts(name) {
  const short = withoutArguments(name);
  const last = short.slice(short.lastIndexOf("::") + 2);
  const isInside = last.length < short.length - 1 && last.length < 3 * END && name.endsWith(last);
  if (!isInside && name.length < 3 * END) return name;
  const at = name.length - (isInside ? last.length : END);
  return make("span", { className: "long" }, make("span", {}, name.slice(0, at)), make("span", {}, name.slice(at)));
}

const AT_ONCE = 60; // rows built at once: more than a window shows
let rowsToCome = [];

/** Show rows: the first ones at once, the others frame by frame. @param {(() => HTMLElement)[]} makers */
function fillRows(makers) {
  $("rows").replaceChildren(...makers.slice(0, AT_ONCE).map((one) => one()));
  const isComing = rowsToCome.length > 0;
  rowsToCome = makers.slice(AT_ONCE);
  if (rowsToCome.length && !isComing) requestAnimationFrame(addRows);
}

function addRows() {
  $("rows").append(...rowsToCome.splice(0, AT_ONCE).map((one) => one()));
  if (rowsToCome.length) requestAnimationFrame(addRows);
}

/** Build all rows that are still missing. */
const haveAllRows = () => $("rows").append(...rowsToCome.splice(0).map((one) => one()));

/** Rebuild the rows; the function that had the focus keeps it. */
function keepingFocus(show) {
  const { name, node } = /** @type {HTMLElement} */ (document.activeElement || document.body).dataset;
  const hadFocus = $("rows").contains(document.activeElement);
  show();
  if (hadFocus) haveAllRows();
  const buttons = [...$("rows").querySelectorAll("button")];
  const kept = buttons.find((button) => button.dataset.name === name && button.dataset.node === node) || buttons[0];
  if (!kept) return;
  kept.tabIndex = 0;
  if (hadFocus) kept.focus({ preventScroll: true });
}

/** A cost, if there is room for it, and its share. */
const costCell = (value, whole) => make("td", {}, make("span", { className: "spent" }, `${spent(value)} `), percent(value, whole));

// ---- call tree

const unfolded = { of: null, nodes: new Set() };

/** Nodes of the call tree with their parents: callees below callers; in Bottom up, callers below the functions with the most self cost. */
function tableTree() {
  const nodes = profile.fold(rows, weight);
  if (state.order !== "bottom") return { nodes, parent: profile.parent, frame: profile.frame, sum: profile.sum, own: profile.own, rank: profile.rank, place: profile.place };
  const made = callersOf(profile, nodes.filter((node) => profile.own[node] > 0), [profile.own]);
  const [sum] = made.columns;
  return { nodes: Int32Array.from(sum.keys()), parent: made.parent, frame: Int32Array.from(made.function, (number) => profile.functionFrame[number]), sum, own: null, rank: profile.rank, place: new Int32Array(sum.length) };
}

/** The tree's rows, each below its caller; initially the costliest path is unfolded while it keeps half of its initial cost. */
function showTree() {
  const { nodes, frame, sum, own, ...tree } = tableTree();
  const [order, starts] = childrenOf({ frame, sum, ...tree }, nodes);
  const children = (at) => order.subarray(starts[at + 1], starts[at + 2]);
  if (unfolded.of !== layout) {
    Object.assign(unfolded, { of: layout, nodes: new Set() });
    for (let [at] = children(-1), least = at === undefined ? 0 : sum[nodes[at]] / 2; at !== undefined && sum[nodes[at]] >= least; [at] = children(at)) unfolded.nodes.add(nodes[at]);
  }
  const found = [];
  const add = (at, depth) => {
    const node = nodes[at];
    const isOpen = unfolded.nodes.has(node);
    const entry = { name: profile.names[frame[node]], object: profile.objects[frame[node]], frame: frame[node], self: own ? own[node] : depth ? 0 : sum[node], total: sum[node] };
    found.push(() => treeRow(entry, at, depth, isOpen));
    if (isOpen) for (const child of children(at)) if (found.length < 400) add(child, depth + 1);
  };
  const treeRow = (entry, at, depth, isOpen) => {
    const row = functionRow(entry, [`here: self ${cost(entry.self)}, total ${cost(entry.total)}`], [costCell(entry.self, total), costCell(entry.total, total)], entry.total / (total || 1));
    const name = row.querySelector("button");
    const arrow = make("span", { className: "arrow", onclick: (event) => (event.stopPropagation(), unfold(nodes[at])) }, children(at).length ? (isOpen ? "▾" : "▸") : "");
    if (children(at).length) name.setAttribute("aria-expanded", String(isOpen));
    name.dataset.node = String(nodes[at]);
    name.before(arrow);
    row.style.setProperty("--depth", String(Math.min(depth, 24)));
    row.className = "node";
    return row;
  };
  for (const at of children(-1)) if (found.length < 400) add(at, 0);
  fillRows(found);
}

/** Show the callees of a row, or hide them again. */
function unfold(node) {
  if (!unfolded.nodes.delete(node)) unfolded.nodes.add(node);
  showTable();
}

const ROW_STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

/** One row is reachable by Tab, the others by arrows. */
function onRowKey(event) {
  const { node } = event.target.dataset;
  const isOpen = unfolded.nodes.has(Number(node));
  if (node && event.key === (isOpen ? "ArrowLeft" : "ArrowRight")) {
    unfold(Number(node));
    event.stopPropagation();
    return;
  }
  const step = ROW_STEPS[event.key];
  if (step !== undefined) haveAllRows();
  const buttons = [...$("rows").querySelectorAll("button")];
  const at = buttons.indexOf(event.target);
  if (step === undefined || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = buttons[clamp(at + step, buttons.length - 1)];
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  event.preventDefault();
  event.stopPropagation();
}
