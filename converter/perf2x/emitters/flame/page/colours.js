"use strict";
// The colours of boxes, lanes and legend, by group of frames.

const HUES = [24, 205, 145, 268, 340, 48, 180, 100, 300, 230, 8, 78];
const MODES = ["unknown", "kernel", "user", "hypervisor", "guest kernel", "guest user"];
const MODE_HUES = [0, 212, 32, 290, 250, 160];

const WAITS = { 1: "blocked", 2: "preempted", 3: "waiting" };
const WAIT_HUES = { 1: 222, 2: 4, 3: 222 };

function hash(text) {
  let value = 2166136261;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return (value >>> 0) / 4294967296;
}

/** Colours of frames: by object, CPU mode or name; lightness varies a little by name to distinguish neighbours. */
class Colours {
  constructor(profile) {
    this.profile = profile;
    this.ranks = new Map(); // object → place in the legend
    this.cache = new Map();
    /** @type {string[]} */
    this.groups = []; // by frame
  }

  use(kind, dark) {
    if (this.kind !== kind) this.groups = [];
    this.kind = kind;
    this.dark = dark;
    this.cache.clear();
    this.frames = null; // one of each group, computed on first use
  }

  /** The colour of a group of a closed lane; "" is unknown. */
  ofGroup(group) {
    this.frames ||= new Map(this.profile.names.map((_, frame) => [this.group(frame), frame]));
    return group ? this.swatch(this.frames.get(group)) : `hsl(30 10% ${this.dark ? 42 : 70}%)`;
  }

  /** The group that determines a frame's colour: the entry of the legend. */
  group(frame) {
    return (this.groups[frame] ??= groupIn(this.profile, this.kind, frame));
  }

  hue(group, frame) {
    if (this.kind === "mode") return group === "just-in-time" ? 135 : MODE_HUES[Math.max(0, MODES.indexOf(group.replace(" inlined", "")))];
    if (this.kind === "name") return 360 * hash(this.profile.names[frame]);
    const rank = this.ranks.get(group);
    return rank !== undefined && rank < HUES.length ? HUES[rank] : 360 * hash(group);
  }

  of(frame, faded) {
    const key = faded ? -2 - frame : frame;
    let colour = this.cache.get(key);
    if (!colour) this.cache.set(key, (colour = this.make(frame, faded)));
    return colour;
  }

  make(frame, faded) {
    const { profile, dark } = this;
    const group = this.group(frame);
    const grey = group === "[unknown]" || group === "unresolved";
    const spread = hash(profile.names[frame]);
    const hue = this.hue(group, frame) + (this.kind === "name" ? 0 : (spread - 0.5) * 14);
    const isPale = this.kind === "object" && !profile.frames.resolved[frame]; // an object, but no name
    const saturation = faded ? 6 : grey ? 5 : (dark ? 42 : 74) / (isPale ? 2.2 : 1);
    // text must be readable on it: green and yellow look brighter than blue of the same lightness
    const glare = Math.max(0, Math.cos(((hue - 120) * Math.PI) / 225));
    let light = dark ? 25 + 7 * spread - 8 * glare : 72 + 8 * spread;
    if (profile.frames.inlined[frame]) light += dark ? 3 : 6;
    if (faded) light = dark ? 18 : 93;
    return `hsl(${hue.toFixed(0)} ${saturation}% ${light.toFixed(0)}%)`;
  }

  /** A frame's group colour, without the variation by name. */
  swatch(frame) {
    const group = this.group(frame);
    if (this.kind === "name") return this.of(frame, false);
    const isGrey = group === "[unknown]" || group === "unresolved";
    return `hsl(${this.hue(group, frame).toFixed(0)} ${isGrey ? 5 : this.dark ? 42 : 74}% ${this.dark ? 30 : 76}%)`;
  }
}

const NAMELESS = "frames without a name";

/**
 * The group of a frame by object: all JIT-compiled code is one group, and so is each runtime; synthetic frames are grouped
 * by their names. By mode, it is the kernel's CPU mode. By name, there are no groups.
 */
function groupIn(profile, kind, frame) {
  const { objects, names, frames } = profile;
  if (kind === "mode") return frameKind(profile, frame);
  if (kind === "nameless") return frames.resolved[frame] ? "" : NAMELESS;
  if (kind !== "object") return "";
  if (frames.jit[frame]) return names[frame].startsWith("py::") ? "Python functions" : "JIT code";
  const runtime = runtimeOf(profile, names[frame]);
  if (runtime) return `${runtime} runtime`;
  return objects[frame] || (names[frame].startsWith("[") ? names[frame] : "[unknown]");
}

/** The runtime that a function belongs to, as in --hide. */
function runtimeOf(profile, name) {
  profile.runtimeTests ??= Object.entries(profile.runtimes || {}).map(([runtime, text]) => /** @type {[string, RegExp]} */ ([runtime, new RegExp(text)]));
  const found = profile.runtimeTests.find(([, test]) => test.test(name));
  return found ? found[0] : "";
}

/** Boxes of waits have a colour of their own, whatever determines the others, because nothing ran there. */
function waitColour(wait, dark, faded) {
  if (faded) return dark ? "hsl(222 6% 18%)" : "hsl(222 6% 93%)";
  return `hsl(${WAIT_HUES[wait]} ${dark ? "20% 26%" : "34% 86%"})`;
}

/** A blend between the colours of running and waiting, by share. */
const CPU_COLOURS = { light: [[240, 184, 148], [150, 186, 236]], dark: [[112, 72, 42], [42, 74, 124]] };

function cpuColour(share, dark, faded) {
  if (faded) return waitColour(1, dark, true);
  const [on, off] = CPU_COLOURS[dark ? "dark" : "light"];
  return `#${on.map((part, at) => Math.round(part + (off[at] - part) * share).toString(16)).join("")}`;
}

function frameKind(profile, frame) {
  if (!profile.frames.resolved[frame]) return "unresolved";
  if (profile.frames.jit[frame]) return "just-in-time";
  return MODES[profile.frames.mode[frame]] + (profile.frames.inlined[frame] ? " inlined" : "");
}
