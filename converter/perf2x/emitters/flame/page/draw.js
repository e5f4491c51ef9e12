"use strict";
// Draws boxes. Only the levels and the range on screen are drawn; boxes smaller than a device pixel are merged.

const LEVEL = 19;
const FONT = '12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** The drawing context of a canvas with its size on screen, cleared. */
function penOf(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  const pixels = (length) => Math.max(1, Math.round(length * ratio)); // a hidden page has no width, but a canvas without pixels cannot be copied
  [canvas.width, canvas.height] = [pixels(width), pixels(height)];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

function copyOf(canvas) {
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  copy.getContext("2d").drawImage(canvas, 0, 0);
  return copy;
}

const isDark = () => document.documentElement.dataset.theme === "dark";

/** A colour from the page's style. */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

class Painter {
  /** used for boxes without a label; without it, they are drawn as rectangles like all others */
  constructor(canvas, ruler, strips = null) {
    this.canvas = canvas;
    this.ruler = ruler;
    this.strips = strips;
    this.sides = [{ from: 0, to: 1 }]; // ranges on screen: callers and callees have one each, all other views have one
    this.side = 0; // the active one
    this.gutter = 0; // width in pixels for names of lanes, in pictures only: the page uses elements
  }

  get from() {
    return this.sides[this.side].from;
  }

  set from(value) {
    this.sides[this.side].from = value;
  }

  get to() {
    return this.sides[this.side].to;
  }

  set to(value) {
    this.sides[this.side].to = value;
  }

  /** Do something with the side that a lane belongs to. */
  onSide(side, act) {
    const kept = this.side;
    this.side = side;
    act();
    this.side = kept;
  }

  /** Match the canvases to their places on screen. */
  fit(width, height) {
    this.ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    for (const [canvas, tall] of [[this.canvas, height], [this.ruler, 22]]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(tall * this.ratio);
      canvas.style.height = `${tall}px`;
    }
    if (this.strips) this.strips.fit(width, height, this.ratio);
  }

  x(value) {
    return ((value - this.from) / (this.to - this.from)) * this.width;
  }

  value(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  /** The top edge of a level, in pixels of the whole drawing. */
  y(lane, depth) {
    const { layout, flame } = this.view;
    const { top, levels, grows } = layout.lanes[lane];
    return this.view.base + (top + (grows === "up" || (flame && !grows) ? levels.length - 1 - depth : depth)) * LEVEL;
  }

  paint(view) {
    this.view = view;
    this.ink = styled("--ink");
    this.soft = styled("--soft");
    this.line = styled("--line");
    this.accent = styled("--accent");
    this.ground = styled("--ground");
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, this.gutter * this.ratio, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = FONT;
    pen.textBaseline = "middle";
    this.letter = this.letter || pen.measureText("m".repeat(50)).width / 50;
    this.paintTicks(pen);
    if (this.strips) this.strips.clear();
    view.layout.lanes.forEach((lane, index) => this.onSide(lane.side, () => this.paintLane(pen, lane, index)));
    if (this.strips) this.strips.show(pen, this.width);
    if (view.range) this.paintRange(pen, view.range.map((end) => this.x(end)));
    this.paintOutline(pen, view.selected, this.accent, 2);
    this.paintOutline(pen, view.hovered, this.ink, 1);
  }

  /** Redraw the same picture with another part of the time; while the user chooses it, nothing else changes. */
  paintProposed(view) {
    const { from, to, width, height } = this;
    const key = [from, to, view.scroll, width, height].join();
    if (this.kept?.key !== key || this.kept.layout !== view.layout) {
      this.paint({ ...view, range: null });
      this.kept = { key, layout: view.layout, chart: copyOf(this.canvas), ruler: copyOf(this.ruler) };
    }
    const pen = this.canvas.getContext("2d");
    const top = this.ruler.getContext("2d");
    for (const [one, image, tall] of [[pen, this.kept.chart, height], [top, this.kept.ruler, 22]]) {
      one.clearRect(0, 0, width, tall);
      one.drawImage(image, 0, 0, width, tall);
    }
    this.paintRange(pen, view.range.map((end) => this.x(end)));
  }

  /** Shade everything outside the chosen part of the time. */
  paintRange(pen, [left, right]) {
    pen.globalAlpha = 0.75;
    pen.fillStyle = this.ground;
    if (left >= 1) pen.fillRect(0, 0, left, this.height);
    if (right <= this.width - 1) pen.fillRect(right, 0, this.width - right, this.height);
    pen.globalAlpha = 1;
    const top = this.ruler.getContext("2d");
    top.fillStyle = pen.fillStyle = this.accent;
    top.fillRect(left, 19, Math.max(right - left, 1), 3);
    for (const end of [left, right - 1]) pen.fillRect(end, 0, 1, this.height);
  }

  paintLane(pen, lane, index) {
    const { scroll, layout } = this.view;
    const isHead = lane.label && (layout.isSandwich || this.gutter);
    if (isHead) this.paintHead(pen, lane, this.view.base + (lane.top - (layout.isSandwich ? 1 : 0)) * LEVEL - scroll);
    if (lane.closed) this.paintClosed(pen, lane);
    const edge = this.view.base + lane.top * LEVEL - scroll;
    if (edge >= this.height || edge + lane.levels.length * LEVEL <= 0) return;
    this.view.layout.fill(index);
    lane.levels.forEach((level, depth) => {
      const y = this.y(index, depth) - scroll;
      if (y <= -LEVEL || y >= this.height) return;
      if (this.strips) this.strips.begin(y);
      this.paintLevel(pen, level, y);
    });
  }

  /** Draw the name of a lane: above callers and callees, in the gutter of a picture over time. */
  paintHead(pen, lane, y) {
    if (y <= -LEVEL || y >= this.height) return;
    pen.fillStyle = this.line;
    pen.fillRect(-this.gutter, y, this.width + this.gutter, 1);
    pen.fillStyle = this.ink;
    pen.font = `600 ${FONT}`;
    pen.fillText(shortened(lane.label, Math.floor(((this.gutter || this.width) - 12) / this.letter)), 6 - this.gutter, y + LEVEL / 2 + 2);
    pen.font = FONT;
  }

  /** Draw how much a thread ran. */
  paintClosed(pen, lane) {
    const y = this.view.base + lane.top * LEVEL - this.view.scroll;
    if (y >= this.height || y + LANE * LEVEL <= 0) return;
    const shares = this.view.useOf(lane, [this.from, this.to], Math.max(1, Math.floor(this.width / 2)));
    paintUse(pen, shares, 0, this.width, y, LANE * LEVEL, this.view.useColours);
    pen.fillStyle = this.line;
    pen.fillRect(0, y + LANE * LEVEL, this.width, 1);
  }

  paintLevel(pen, level, y) {
    const { layout } = this.view;
    const { from, to, width } = this; // read once, because a frame examines about ten thousand boxes
    const scale = width / (to - from);
    const least = 1 / this.ratio; // one device pixel
    let painted = -1; // right edge of what is already drawn
    let melted = Infinity; // left edge of boxes smaller than a device pixel, which the next one merges
    for (let at = layout.firstAfter(level, from); at < level.length; at += 1) {
      const box = level[at];
      if (layout.start[box] >= to) break;
      const right = Math.min((layout.end[box] - from) * scale, width + 4);
      const start = Math.max((layout.start[box] - from) * scale, -4);
      if (right < painted + least) {
        melted = Math.min(melted, start);
        at = layout.firstAfter(level, from + (painted + least) / scale, at + 1) - 1;
        continue;
      }
      const left = start < painted + 1.5 * least ? Math.min(start, melted) : start;
      melted = Infinity;
      this.paintBox(pen, box, left, Math.max(right - left, 0.5), y);
      painted = right;
    }
  }

  paintBox(pen, box, left, width, y) {
    const wide = width > 4 ? width - 1 : width; // a gap separates neighbours
    const room = Math.floor((Math.min(width, this.width - Math.max(left, 0)) - 8) / this.letter);
    const colour = this.view.colour(box);
    if (room < 3 && this.strips) {
      this.strips.add(left, wide, colour);
      return;
    }
    pen.fillStyle = colour;
    pen.fillRect(left, y, wide, LEVEL - 1);
    if (pen.tell) pen.tell(this.view.tell(box));
    if (room < 3) return;
    const text = this.view.label(box);
    pen.fillStyle = this.view.isFaded(box) ? this.soft : this.ink;
    pen.fillText(fitted(text, room), Math.max(left, 0) + 4, y + LEVEL / 2);
  }

  paintOutline(pen, box, colour, thick) {
    if (box < 0) return;
    const { layout, scroll } = this.view;
    const lane = layout.lane[box];
    this.onSide(layout.lanes[lane].side, () => {
      const left = this.x(layout.start[box]);
      const width = Math.max(this.x(layout.end[box]) - left - 1, 1);
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.strokeRect(left + thick / 2, this.y(lane, layout.depth[box]) - scroll + thick / 2, width - thick, LEVEL - 1 - thick);
    });
  }

  paintTicks(pen) {
    const top = this.ruler.getContext("2d");
    top.setTransform(this.ratio, 0, 0, this.ratio, this.gutter * this.ratio, 0);
    top.clearRect(0, 0, this.width, 22);
    top.font = "11px system-ui, sans-serif";
    top.textBaseline = "middle";
    if (this.view.layout.isSandwich) return; // its sides have no common scale
    const step = niceStep((this.to - this.from) / Math.max(2, this.width / 130));
    const zero = this.view.layout.isTime ? 0 : this.from; // a box that fills the window begins at 0
    for (let tick = Math.ceil((this.from - zero) / step) * step; tick <= this.to - zero; tick += step) {
      const x = Math.round(this.x(zero + tick)) + 0.5;
      pen.fillStyle = top.fillStyle = this.line;
      pen.fillRect(x, 0, 1, this.height);
      top.fillRect(x, 14, 1, 8);
      top.fillStyle = this.soft;
      top.fillText(this.view.tick(tick, step), x + 4, 11);
    }
  }
}

/** A text shortened to a number of letters: the start and the end remain, which distinguish templates and paths. */
function shortened(text, letters) {
  if (text.length <= letters) return text;
  const end = letters < 8 ? 0 : Math.floor((letters - 1) * 0.45);
  return `${text.slice(0, letters - 1 - end)}…${end ? text.slice(-end) : ""}`;
}

/** A name without its template arguments. */
function withoutArguments(name) {
  if (name.includes("operator")) return name;
  let short = name;
  for (let next = ""; next !== short; next = short.replace(/<[^<>]+>/g, "\0")) short = next || short;
  return short.replaceAll("\0", "<…>");
}

/** A name without its parameters. */
const withoutParameters = (name) => name.replace(/(?<=[\w>])\([^()]*\)( const)?$/, "");

/** A name shortened to a number of letters: template arguments are removed first, then parameters, scopes, letters. */
function fitted(name, letters) {
  if (name.length <= letters) return name;
  const short = withoutArguments(name);
  const parts = (short.length <= letters ? short : withoutParameters(short)).split(/(?<=::|\/)/);
  while (parts.length > 1 && parts.join("").length > letters && !parts[1].startsWith("{")) parts.shift();
  return shortened(parts.join(""), letters);
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) || 10);
}
