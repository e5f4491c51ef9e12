"use strict";
// Source lines and instructions of the selected function, with their costs in the whole recording.

/** The kinds of listings, and the one that is shown. */
const code = { kind: "sources", isOpen: true, frame: -1 };
const CODE_WORDS = { sources: "Source", code: "Instructions" };

/** @param {Listings | undefined} listings @param {string} name @param {string} object */
function listingOf(listings, name, object) {
  return listings ? listings.functions.find((one) => one.name === name && one.object === object) : undefined;
}

/** Index of an event's numbers in the rows; latencies are unknown by line, so their periods are shown. */
function measureOf(listings, event, weight) {
  const value = weight === "count" ? "samples" : "period";
  return listings.measures.findIndex((one) => one[0] === event && one[1] === value);
}

/** Rows of a source file: [place, text, self, total, false, all costs]; null separates rows that are not adjacent. */
function sourceRows(source, measure) {
  const found = [];
  let before = 0;
  for (const [number, text, own, total] of source.rows) {
    if (before && number > before + 1) found.push(null);
    found.push([number ? String(number) : "?", text, own ? own[measure] : 0, total ? total[measure] : 0, false, own]);
    before = number;
  }
  return found;
}

/** Rows of instructions, each change of source line preceded by a row of the line: [place, text, self, total, isLine, all costs]. */
function codeRows(listing, measure, caller = "") {
  const targets = new Set(listing.rows.map((row) => row[3]));
  const found = [];
  let last = -1;
  for (const [at, [address, text, note, target, spot, own, total]] of listing.rows.entries()) {
    const [path, line, name, source] = listing.spots[spot];
    if (spot !== last && path) found.push(["", `${path.replace(/.*\//, "")}:${line || "?"}${name === caller ? "" : ` ${name}`}  ${source}`, 0, 0, true]);
    const arrow = target < 0 ? "" : target > at ? " ↓" : " ↑";
    found.push([`${targets.has(at) ? "▸" : ""}${address}`, `${text}${arrow}${note ? `  <${note}>` : ""}`, own ? own[measure] : 0, total ? total[measure] : 0, false, own]);
    last = spot;
  }
  return found;
}

/** @param {number} frame the selected function's, −1 for none */
function showCode(frame) {
  code.frame = frame;
  const one = frame < 0 ? undefined : listingOf(profile.listings, profile.names[frame], profile.objects[frame]);
  const kinds = one ? Object.keys(CODE_WORDS).filter((kind) => one[kind].length) : [];
  const wasHidden = $("code").hidden;
  $("code").hidden = !profile.listings || !code.isOpen; // reserved before anything is selected
  if (kinds.length && $("code").hidden) $("detail").append(openingButton());
  else if (kinds.length) fillCode(one, kinds.includes(code.kind) ? code.kind : kinds[0], kinds);
  else $("code").replaceChildren(make("p", {}, frame < 0 ? "Lines of the selected function stand here." : "No lines of this function are in this page."));
  if (wasHidden !== $("code").hidden) resize();
}

function openingButton() {
  const open = make("button", {}, "Source lines and instructions");
  open.onclick = () => {
    code.isOpen = true;
    showDetail();
  };
  return open;
}

function fillCode(one, kind, kinds) {
  const measure = measureOf(profile.listings, state.event, state.weight);
  const unit = chosenUnit();
  const tabs = kinds.map((word) => {
    const button = make("button", {}, CODE_WORDS[word]);
    showPressed(button, word === kind);
    button.onclick = () => {
      code.kind = word;
      showCode(code.frame);
    };
    return button;
  });
  const close = make("button", { title: "Close", className: "end" }, "×");
  close.onclick = () => {
    code.isOpen = false;
    showDetail();
  };
  close.setAttribute("aria-label", "Close");
  const head = make("p", {}, make("span", { className: "group" }, ...tabs), make("b", {}, nameParts(one.name)), "in the whole recording", close);
  const parts = one[kind].flatMap((part) => codeTable(part, kind === "sources" ? sourceRows(part, measure) : codeRows(part, measure, one.name), kind, unit));
  const left = kind === "code" && one.left ? [make("p", {}, `${one.left} more places with less cost are left out`)] : [];
  $("code").replaceChildren(head, ...parts, ...left);
  const shares = [...$("code").getElementsByClassName("hot")].map((row) => parseFloat(/** @type {HTMLElement} */ (row).style.getPropertyValue("--share")));
  const hottest = $("code").getElementsByClassName("hot")[shares.indexOf(Math.max(...shares))];
  $("code").scrollTop = hottest ? /** @type {HTMLElement} */ (hottest).offsetTop - $("code").clientHeight / 2 : 0;
}

function codeTable(part, rows, kind, unit) {
  const where = kind === "sources" ? part.path || "no source file" : `${part.symbol ? `${part.symbol} in ` : ""}${part.object}`;
  const title = make("p", { className: "where" }, part.reason ? `${where}: ${part.reason}` : where, part.left ? ` (${part.left} instructions far from any cost are left out)` : "");
  const most = rows.reduce((top, row) => Math.max(top, row ? row[2] : 0), 0) || 1;
  const body = make("tbody", {}, ...rows.map((row) => codeRow(row, most, unit, kind === "sources" ? part.path : "")));
  const head = ["Self", "Total", ...shownColumns.map(({ name }) => name), ...(kind === "sources" ? ["Line", "Source"] : ["Address", "Instruction"])].map((word) => make("th", { scope: "col" }, word));
  return rows.length ? [title, make("table", {}, make("thead", {}, make("tr", {}, ...head)), body)] : [title];
}

/** path: of the source file, "" for instructions */
function codeRow(row, most, unit, path) {
  if (!row) return make("tr", {}, make("td", { colSpan: 4 + shownColumns.length }, "⋮"));
  const [place, text, own, total, isLine, costs] = row;
  const cells = [own ? spoken(own, unit) : "", total ? spoken(total, unit) : "", ...lineCells(costs), place].map((word) => make("td", {}, word));
  cells.push(make("td", {}, ...(path ? coloured(text, path) : [text])));
  const line = make("tr", { className: isLine ? "line" : own ? "hot" : "" }, ...cells);
  line.style.setProperty("--share", `${(100 * own) / most}%`);
  return line;
}
