"use strict";
// Keyboard focus: a group of buttons is one Tab stop, and arrows move from one button to the next.

const GROUPS = ["#trust > button", "#bar .group button, #bar > button", "#bursts button", "#chips button", "#gutter button", "#legend button", "#acts button"];

/** @param {string} group */
const buttonsOf = (group) => [...document.querySelectorAll(group)].filter((one) => one.offsetParent);

/** Make one button of each group reachable by Tab: the one that was focused last. */
function rove() {
  for (const group of GROUPS) {
    const buttons = buttonsOf(group);
    const kept = buttons.find((one) => one === document.activeElement) || buttons.find((one) => "kept" in one.dataset) || buttons[0];
    for (const one of buttons) one.tabIndex = one === kept ? 0 : -1;
  }
  $("legend").tabIndex = $("legend").querySelector("button") ? -1 : 0; // without buttons, it scrolls itself
}

const GROUP_STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** Handle a key for a group of buttons; return whether it was one. */
function onGroupKey(event) {
  const step = GROUP_STEPS[event.key];
  const group = step && !event.shiftKey && GROUPS.find((one) => event.target.matches(one));
  if (!group) return false;
  const buttons = buttonsOf(group);
  for (const one of buttons) delete one.dataset.kept;
  const next = buttons[clamp(buttons.indexOf(event.target) + step, buttons.length - 1)];
  next.dataset.kept = "";
  next.focus();
  rove();
  event.preventDefault();
  return true;
}

/** Fill a group anew; focus the button that was focused before, or the one in its place. */
function refill(group, ...inside) {
  const at = [...group.querySelectorAll("button")].indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  group.replaceChildren(...inside);
  const buttons = group.querySelectorAll("button");
  if (at >= 0) (buttons[Math.min(at, buttons.length - 1)] || $("canvas")).focus();
}
