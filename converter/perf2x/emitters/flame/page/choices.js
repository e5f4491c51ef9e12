"use strict";
// Menus of events and threads, costliest first, and a field that filters a long list.

const WHOLE = new Set(["merged", "split", "process"]); // choices of threads that are not single threads
const MOST_CHOICES = 300; // more are hard to scan; typing finds the others
const threadList = { choices: [], shown: [], active: -1 };

/** The cost of rows, by process. */
function costsByProcess(rows = profile.rowsOf(profile.defaultEvent, null)) {
  const costs = new Map();
  for (const row of rows) {
    const process = processLabel(profile.threads[profile.rows.thread[row]]);
    costs.set(process, (costs.get(process) || 0) + profile.rows.value[row]);
  }
  return costs;
}

/** Whether many processes share the costs, as in a recording of a whole system, where merged stacks would mix them. */
function isManyProcesses() {
  if (profile.compare) return false;
  const all = [...costsByProcess().values()];
  return all.length > 3 && Math.max(...all) < 0.8 * all.reduce((a, b) => a + b, 0);
}

const EVENT_LETTERS = 27; // of the choice of events, which cuts longer texts at their end, where the samples are

function eventOption({ name }, samples, row) {
  const words = `  (${samples})`;
  return Object.assign(new Option(`${shortened(name, EVENT_LETTERS - words.length)}${words}`, String(row)), { title: name });
}

function fillHeader() {
  $("title").textContent = $("title").title = profile.title;
  if (!comparison) showTrust();
  profile.events.forEach((event, row) => isSampled(row) && $("event").add(eventOption(event, samplesOf(row), row)));
  for (const { name } of profile.columns) $("column").add(new Option(name));
  fillHide();
  $("column").onchange = () => toggleColumn($("column").value);
  for (const choice of [$("event"), $("column"), $("hide"), $("recording")]) choice.parentElement.hidden = choice.options.length < 2;
}

/** The parts of the view that are valid for another recording, too; numbers of threads and events are not. */
function sharedFragment() {
  const { event, thread, range, zoom, box, open } = readFragment("", fields);
  return writeFragment({ ...state, event, thread, range, zoom, box, open }, fields);
}

/** Only events with samples can be chosen; an empty recording still has its default event. */
const isSampled = (event) => event === profile.defaultEvent || profile.events[event].samples > 0;

/** The chosen event, among those with samples. */
function eventField() {
  const { initial, read } = numberBelow(profile.defaultEvent, profile.events.length);
  return { initial, read: (text) => (isSampled(read(text) ?? profile.defaultEvent) ? read(text) : undefined) };
}

function samplesOf(event) {
  if (!comparison) return counted(profile.events[event].samples);
  const { before, after } = comparison.samples(event);
  return `${counted(before)} → ${counted(after)}`;
}

/**
 * All threads together, and each thread with a cost, costliest first.
 * @param {Profile} profile
 * @param {number} event
 * @param {Column[]} columns whose sum is the cost of a row
 * @returns {{value: string, text: string, share?: string}[]}
 */
function threadChoices(profile, event, columns) {
  const costs = new Float64Array(profile.threads.length);
  const { thread } = profile.rows;
  for (const row of profile.rowsOf(event, null)) for (const column of columns) costs[thread[row]] += column[row];
  const all = costs.reduce((a, b) => a + b, 0);
  const order = [...costs.keys()].filter((row) => costs[row] > 0).sort((a, b) => costs[b] - costs[a]);
  return [
    { value: "merged", text: "All, merged" }, { value: "split", text: "Side by side" }, { value: "process", text: "By process" },
    ...order.map((row) => ({ value: String(row), text: profile.threads[row].label, share: percent(costs[row], all) })),
  ];
}

/** Choices that contain all typed words, in any order. */
function filtered(choices, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}

function fillThreads() {
  const { beforeValue } = profile.rows;
  threadList.choices = threadChoices(profile, state.event, beforeValue ? [profile.rows.value, beforeValue] : [sums[state.weight]]);
  closeThreads();
}

/** The text of the chosen threads, even if they have no samples of the event or the time. */
function threadText() {
  const chosen = threadList.choices.find(({ value }) => value === state.thread);
  return chosen ? chosen.text : profile.threads[Number(state.thread)].label;
}

/** Whether the chosen threads have samples of an event. */
const haveSamples = (event) => WHOLE.has(state.thread) || profile.rowsOf(event, Number(state.thread)).length > 0;

function stepThread(step) {
  const values = threadList.choices.map(({ value }) => value);
  choose("thread", values[clamp(values.indexOf(state.thread) + step, values.length - 1)]);
}

function openThreads(typed) {
  const found = filtered(threadList.choices, typed);
  threadList.shown = found.slice(0, MOST_CHOICES);
  const options = threadList.shown.map(({ value, text, share = "" }, at) => {
    const option = make("li", { id: `thread-${at}`, role: "option" }, make("span", {}, text), make("span", {}, share));
    option.setAttribute("aria-selected", String(value === state.thread));
    option.onpointerdown = (event) => {
      event.preventDefault(); // the field keeps the focus
      chooseThread(at);
    };
    return option;
  });
  const left = found.length - options.length;
  const note = left ? `${counted(left)} more: type a part of the name` : found.length ? "" : "No thread has this name.";
  $("thread-list").replaceChildren(...options);
  $("thread-note").textContent = note;
  $("thread-box").hidden = false;
  $("thread").setAttribute("aria-expanded", "true");
  pointAt(typed ? 0 : threadList.shown.findIndex(({ value }) => value === state.thread));
}

/** Mark an option as the one that Enter selects. */
function pointAt(at) {
  const { children } = $("thread-list");
  if (children[threadList.active]) children[threadList.active].classList.remove("active");
  threadList.active = Math.max(-1, Math.min(at, children.length - 1));
  const active = children[threadList.active];
  if (!active) {
    $("thread").removeAttribute("aria-activedescendant");
    return;
  }
  active.classList.add("active");
  active.scrollIntoView({ block: "nearest" });
  $("thread").setAttribute("aria-activedescendant", active.id);
}

function closeThreads() {
  $("thread-box").hidden = true;
  $("thread").setAttribute("aria-expanded", "false");
  $("thread").removeAttribute("aria-activedescendant");
  $("thread").value = $("thread").title = threadText();
}

function chooseThread(at) {
  if (!threadList.shown[at]) return;
  const { value } = threadList.shown[at];
  if (value === state.thread) closeThreads();
  else choose("thread", value);
  $("thread").select();
}

function onThreadKey(event) {
  const isOpen = !$("thread-box").hidden;
  const { key } = event;
  if (key === "ArrowDown" || key === "ArrowUp") {
    if (isOpen) pointAt(threadList.active + (key === "ArrowDown" ? 1 : -1));
    else openThreads("");
  } else if (key === "Enter") {
    if (isOpen) chooseThread(threadList.active);
    else openThreads("");
  } else if (key === "Escape" && isOpen) {
    closeThreads();
    $("thread").select();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function listenToThreads() {
  const field = $("thread");
  field.onfocus = () => field.select();
  field.onclick = () => $("thread-box").hidden && openThreads("");
  field.oninput = () => openThreads(field.value);
  field.onblur = closeThreads;
  field.onkeydown = onThreadKey;
  $("recording").onchange = () => location.assign(`${$("recording").value}#${sharedFragment()}`);
  $("event").onchange = () => choose("event", Number($("event").value));
}
