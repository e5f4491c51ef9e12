"use strict";
// Rows of the table of functions: what they hold, and keys that go from one to the next.

/** Letters of a long name that always show: its end tells more than its middle does. */
const END = 14;

/**
 * @param {FunctionCost} entry
 * @param {string[]} lines of the tooltip below the name
 * @param {string[]} cells beside the name
 * @param {number} share of the bar behind the row
 */
function functionRow(entry, lines, cells, share) {
  const button = make("button", { tabIndex: -1 }, nameParts(entry.name), " ", make("small", {}, entry.name.startsWith("[") ? "" : entry.object));
  button.setAttribute("aria-label", [entry.name, entry.object].filter(Boolean).join(", "));
  button.dataset.name = profile.functionKey(entry.frame);
  if (button.dataset.name === (layout.isTime ? state.mark : state.function)) button.setAttribute("aria-current", "true");
  const row = make("tr", { title: [entry.name, entry.object, ...lines].join("\n") }, make("td", {}, button), ...cells.map((text) => make("td", {}, text)));
  row.style.setProperty("--share", `${100 * share}%`);
  row.onclick = () => toggleFunction(entry.frame);
  return row;
}

/** A name in two parts, of which the first gives way. */
function nameParts(name) {
  if (name.length < 3 * END) return name;
  return make("span", { className: "long" }, make("span", {}, name.slice(0, -END)), make("span", {}, name.slice(-END)));
}

/** Make the rows anew; the function that had the focus keeps it. */
function keepingFocus(show) {
  const { name } = /** @type {HTMLElement} */ (document.activeElement || document.body).dataset;
  const hadFocus = $("rows").contains(document.activeElement);
  show();
  const buttons = [...$("rows").querySelectorAll("button")];
  const kept = buttons.find((button) => button.dataset.name === name) || buttons[0];
  if (!kept) return;
  kept.tabIndex = 0;
  if (hadFocus) kept.focus({ preventScroll: true });
}

const ROW_STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

/** One row is reached by Tab, the others by arrows. */
function onRowKey(event) {
  const step = ROW_STEPS[event.key];
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
