"use strict";
// The text and the colour of a box.

function frameName(box) {
  const frame = layout.frameOf(box);
  if (frame >= 0) return profile.names[frame] + runText(box);
  if (layout.labels.has(box)) return layout.labels.get(box);
  const one = profile.threads[profile.threads.length === 1 ? 0 : Number(state.thread)];
  return one ? one.label : "all threads";
}

/** Number of nameless frames that a box stands for; merged stacks may have fewer. */
function runText(box) {
  const run = laneOf(box).frame === profile.frame ? profile.runs[layout.node[box]] : 1;
  return run > 1 ? ` ×${run}` : "";
}

function isMatch(frame) {
  return !matcher || matcher(profile.names[frame]) || (/[(<, ]/.test(state.search) && matcher(profile.fullNames[frame])); // signs of full names
}

function isFaded(box) {
  const frame = layout.frameOf(box);
  if (layout.isTime && state.mark && (frame < 0 || !markedNodes()[layout.node[box]])) return true;
  return matcher !== null && (frame < 0 || !isMatch(frame));
}

/** What colours depend on has changed. */
const forgetColours = () => layout && (layout.colour = layout.overview = null);

/** A frame calls this tens of thousands of times. */
function colourOf(box) {
  // oxlint-disable-next-line unicorn/no-new-array -- its length alone makes it a quick one
  const known = (layout.colour ||= new Array(layout.size));
  return (known[box] ||= madeColour(box));
}

function madeColour(box) {
  const frame = layout.frameOf(box);
  const { dark } = colours;
  if (frame < 0) return dark ? "#3b3833" : "#e6e2db";
  if (layout.wait[box]) return waitColour(layout.wait[box], dark, isFaded(box));
  if (isChangeColour()) return changeColour(layout.change[box][state.colour === "change" ? "total" : "self"].strength, dark, isFaded(box));
  if (state.colour === "cpu") return cpuColour(layout.off[box] || 0, dark, isFaded(box));
  return colours.of(frame, isFaded(box));
}

/** By the change of a box including its callees ("change"), or of the box itself ("own"). */
const isChangeColour = () => comparison !== null && ["change", "own"].includes(state.colour);
