"use strict";
// Actions on one function: callers and callees, edits of the stacks and their chips, and copying.

const EDITS = { focus: "Only stacks with", hide: "Hidden", fold: "Recursion folded", only: "Only stacks with", without: "Hidden" };
/** Edits of all frames of a colour; they have the colour's name and kind instead of a function's name and object. */
const GROUP_EDITS = { only: "focus", without: "hide" };

/** Edits as text, one per line: kind, name and object of each. */
const writeEdits = (edits) => edits.map(([kind, key]) => `${kind}\n${key}`).join("\n");

function readEdits(text) {
  const lines = text.split("\n");
  const edits = [];
  for (let at = 0; at < lines.length; at += 3) edits.push([lines[at], `${lines[at + 1]}\n${lines[at + 2]}`]);
  return edits.every(([kind, key]) => Object.hasOwn(EDITS, kind) && (kind in GROUP_EDITS || profile.functionNamed.has(key))) ? edits : undefined;
}

let edited = "";

/** Apply the edits that the chips show to the profile's stacks. */
function applyEdits() {
  const text = writeEdits(state.edits);
  if (text === edited) return;
  edited = text;
  profile.use(state.edits.map(([kind, key]) => (kind in GROUP_EDITS ? [GROUP_EDITS[kind], 1, framesOf(...key.split("\n"))] : [kind, profile.functionNamed.get(key)])));
  colours.cache.clear();
}

/** 1 for each frame of a group. */
const framesOf = (group, kind) => Int32Array.from(profile.names, (_, frame) => Number(groupIn(profile, kind, frame) === group));

/** From the legend: show only stacks with a colour, or all again. */
function toggleGroup(kind, group) {
  const key = `${group}\n${state.colour}`;
  const others = state.edits.filter(([one, other]) => one !== kind || other !== key);
  state.edits = others.length < state.edits.length ? others : [...others, [kind, key]];
  rebuild();
}

/** One choice hides frames of runtimes, and frames without a name. */
function fillHide() {
  const found = new Set(profile.names.map((name) => runtimeOf(profile, name)));
  for (const runtime of Object.keys(profile.runtimes || {})) if (found.has(runtime)) $("hide").add(new Option(`the ${runtime.replace("-runtime", "")} runtime`, `${runtime} runtime\nobject`));
  if (profile.frames.resolved.includes(0)) $("hide").add(new Option(NAMELESS, `${NAMELESS}\nnameless`));
  $("hide").onchange = () => {
    state.edits = [...state.edits, ["without", $("hide").value]];
    $("hide").value = "";
    rebuild();
  };
}

const nameOf = (key) => key.split("\n")[0];

/** Show callers and callees of a function; "" returns to the previous view. */
function openFunction(key) {
  state.function = key;
  rebuild();
}

/** From a row of the table: open the function, or leave it if it is open. */
function toggleFunction(frame) {
  const key = profile.functionKey(frame);
  if (layout.isTime && profile.moments) {
    markFunction(key);
    return;
  }
  openFunction(state.function === key ? "" : key);
}

function addEdit(kind, key) {
  state.edits = [...state.edits, [kind, key]];
  if (kind === "hide" && state.function === key) state.function = "";
  rebuild();
}

/** The function of the selected box, "" for none. */
const selectedFunction = () => (selected < 0 ? (layout.isTime ? state.mark : "") : layout.frameOf(selected) < 0 ? "" : profile.functionKey(layout.frameOf(selected)));

function callsItself(key) {
  const target = profile.functionNamed.get(key);
  const { parent, frame, functionOf } = profile;
  return parent.some((up, node) => up >= 0 && functionOf[frame[node]] === target && functionOf[frame[up]] === target);
}

// ---- chips

function showChips() {
  const chips = state.edits.map(([kind, key], at) => {
    const remove = () => {
      state.edits = state.edits.filter((_, other) => other !== at);
      rebuild();
    };
    const option = chipOption(kind, key);
    return option ? withOption(chip(EDITS[kind], key, remove), option.split(" ")[0], option) : chip(EDITS[kind], key, remove);
  });
  if (state.range) chips.unshift(rangeChip());
  if (layout.isTime && (layout.left || state.lanes === "all")) chips.unshift(lanesChip());
  if (layout.isTime && state.mark) chips.unshift(chip("When on the stack:", state.mark, () => markFunction(state.mark)));
  if (state.function) chips.unshift(chip("Callers and callees of", state.function, () => openFunction("")));
  const left = sumOf(rows, sums.count);
  const all = profile.rows.event.reduce((sum, event, row) => sum + (event === state.event ? sums.count[row] : 0), 0);
  if (state.edits.some(([kind]) => kind === "focus" || kind === "only" || left < all)) chips.push(make("span", { className: "share" }, `${percent(left, all)} of all samples`));
  refill($("chips"), ...chips);
}

function chip(word, key, remove) {
  const button = make("button", { title: "Remove", onclick: remove }, "×");
  button.setAttribute("aria-label", `Remove: ${word} ${nameOf(key)}`);
  return make("span", { className: "chip", title: key.replace("\n", " · ") }, make("span", {}, word), make("b", {}, nameParts(nameOf(key))), button);
}

/** The option that has the same effect as a chip; "" if there is none. */
function chipOption(kind, key) {
  const name = nameOf(key);
  if (!(kind in GROUP_EDITS)) return kind === "fold" ? "" : optionText(kind, name);
  if (key.endsWith(" runtime\nobject")) return `--${GROUP_EDITS[kind]} ${name.split(" ")[0]}`;
  return profile.objects.includes(name) && key.endsWith("\nobject") ? optionText(GROUP_EDITS[kind], name) : "";
}

/** The option that has the effect of a chip on functions with a given name, quoted for a shell. */
const optionText = (kind, name) => `--${kind} '${`^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`.replaceAll("'", "'\\''")}'`;

/** A chip with a button that copies an option. */
function withOption(made, word, option) {
  const button = make("button", { className: "word", title: `Copy ${option}` }, `Copy ${word}`);
  button.onclick = () => copy(option, button);
  made.lastChild.before(button);
  return made;
}

// ---- actions for the selected box

function showActions() {
  const key = selectedFunction();
  $("acts").hidden = !key;
  if (!key) return;
  const offers = [
    state.function !== key && ["Callers and callees", "Who calls it and what it calls, merged over all places (x)", () => openFunction(key)],
    ["Focus", "Only stacks with this function (k)", () => addEdit("focus", key)],
    ["Hide", "Without its frames: its cost and what it calls go to its callers (i)", () => addEdit("hide", key)],
    callsItself(key) && ["Fold recursion", "One frame where it calls itself (r)", () => addEdit("fold", key)],
    selected >= 0 && ["Copy stack", "The selected box and its callers, innermost first (y)", () => copy(stackText(), $("acts").lastChild)],
  ].filter(Boolean);
  refill($("acts"), ...offers.map(([word, title, onclick]) => make("button", { title, onclick }, word)));
}

/** Apply an action to the function of the selected box, if there is one. */
const withFunction = (act) => () => {
  const key = selectedFunction();
  if (key) act(key);
  else say("Select a box first: click it, or go to it with arrow keys.");
};

// ---- copying

const objectText = (frame) => (profile.objects[frame] ? ` (${profile.objects[frame]})` : "");

/** Functions of the selected box's stack, innermost first. */
function stackText() {
  const boxes = [];
  for (let box = selected; box >= 0; box = layout.up[box]) if (layout.frameOf(box) >= 0) boxes.push(box);
  if (laneOf(selected).isTurned) boxes.reverse();
  return boxes.map((box) => `${frameName(box)}${objectText(layout.frameOf(box))}\n`).join("");
}

/** Copy a text to the clipboard, and confirm it on the button for a while. */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByHand(text);
  }
  const word = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = word), 1200);
}

/** For pages that may not use the clipboard's own interface. */
function copyByHand(text) {
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
