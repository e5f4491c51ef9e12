"use strict";
// Changes by function: the table of a difference, and the callers of changed functions.

const MOST_CALLERS = 12;

/** Functions by significance or by size of their change; self and total are changes, in percent of the total before. */
function showChanges() {
  const key = state.sort === "total" ? "total" : "self";
  const shown = functions.filter((entry) => isMatch(entry.frame));
  const size = (entry) => Math.abs(entry[key]);
  const orders = {
    name: () => 0,
    self: (a, b) => size(b) - size(a),
    total: (a, b) => size(b) - size(a),
    significance: moreSure,
  };
  shown.sort((a, b) => orders[state.sort](a, b) || (a.name < b.name ? -1 : 1));
  const most = shown.reduce((top, entry) => Math.max(top, size(entry)), 0) || 1;
  fillRows(shown.slice(0, 400).map((entry) => () => {
    const lines = ["self", "total"].map((word) => `${word} ${spoken(entry.was[word], layout.unit)} → ${spoken(entry.now[word], layout.unit)}, ${sure(entry, word)} σ`);
    const row = functionRow(entry, lines, [comparison.signed(entry.self), comparison.signed(entry.total), sure(entry, "self")], size(entry) / most);
    row.className = entry[key] > 0 ? "grew" : "shrank";
    return row;
  }));
}

const isSure = (entry) => Number(entry.self !== 0 && !entry.noisy.self);

/** Changes beyond chance, most significant first, then the others, largest first. */
function moreSure(a, b) {
  const own = isSure(a) && isSure(b) ? Math.abs(b.deviations.self) - Math.abs(a.deviations.self) : isSure(b) - isSure(a);
  return own || Math.abs(b.self) - Math.abs(a.self) || Math.abs(b.total) - Math.abs(a.total);
}

/** Standard deviations as text, marked as in perf2x diff if chance alone can explain them. @param {FunctionCost} entry */
const sure = ({ deviations: all, noisy }, key) => `${noisy[key] ? "~" : ""}${trimmed(Math.abs(all[key]))}`;

/** Callers of a function with its cost below each of them, largest change first; a click opens the caller. */
function callerList(frame) {
  const callers = comparison.callers(rows, profile.functionOf[frame]);
  const lines = callers.slice(0, MOST_CALLERS).map((entry) => {
    const costs = `${weighed(entry.was.total)} → ${weighed(entry.now.total)}`;
    const change = make("span", { className: entry.total > 0 ? "grew" : entry.total < 0 ? "shrank" : "" }, `${entry.noisy.total ? "~" : ""}${comparison.signed(entry.total)}`);
    const name = entry.frame < 0 ? make("span", {}, "nobody: it is the root") : make("button", { title: `${entry.name}\n${entry.object}`, onclick: () => openFunction(profile.functionKey(entry.frame)) }, nameParts(entry.name));
    if (entry.frame >= 0) name.setAttribute("aria-label", entry.name);
    return make("li", {}, change, name, make("small", {}, costs));
  });
  const left = callers.length - lines.length;
  return make("section", { className: "callers" }, make("h3", {}, "Called by, largest change first"), make("ul", {}, ...lines), left ? `${left} more` : "");
}
