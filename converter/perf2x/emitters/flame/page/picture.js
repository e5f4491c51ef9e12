"use strict";
// The graph as a file: all its levels, with the width and zoom of the screen, as SVG or PNG.

const HEADING = 46;
const RULER = 22;
const MOST_PIXELS = 16000; // per side: the limit of browsers' canvases

/** Implements the drawing calls of a canvas, and writes them as elements of an SVG. */
class SvgPen {
  /** @param {(colour: string) => string} plain converts colours to a form that every SVG reader supports */
  constructor(plain) {
    this.plain = plain;
    this.parts = [];
    this.font = this.fillStyle = this.strokeStyle = this.textBaseline = "";
    this.lineWidth = 1;
  }

  setTransform() {} // a picture has no device pixels

  clearRect() {} // and nothing under it

  fillRect(x, y, width, height) {
    this.parts.push(`<rect${placed(x, y, width, height)} fill="${this.plain(this.fillStyle)}"/>`);
  }

  beginPath() {}

  rect(x, y, width, height) {
    this.fillRect(x, y, width, height);
  }

  fill() {} // each rectangle is filled when it is added

  strokeRect(x, y, width, height) {
    this.parts.push(`<rect${placed(x, y, width, height)} fill="none" stroke="${this.plain(this.strokeStyle)}" stroke-width="${this.lineWidth}"/>`);
  }

  fillText(text, x, y) {
    const look = `${this.font.startsWith("600") ? ' font-weight="600"' : ""}${this.font.includes("system-ui") ? ' font-family="system-ui, sans-serif" font-size="11"' : ""}`;
    this.parts.push(`<text x="${short(x)}" y="${short(y + 4)}"${look} fill="${this.plain(this.fillStyle)}">${escaped(text)}</text>`);
  }

  /** A tooltip for the last rectangle. */
  tell(text) {
    this.parts.push(this.parts.pop().replace(/\/>$/, `><title>${escaped(text)}</title></rect>`));
  }
}

const short = (value) => Number(value.toFixed(2));
const placed = (x, y, width, height) => ` x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
/** Escape text for XML; characters that XML does not allow are removed. */
const escaped = (text) => text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A description of the picture. */
function caption() {
  const event = profile.events[state.event];
  const order = { heavy: "left heavy", bottom: "bottom up", time: "over time" }[state.order];
  const edits = state.edits.map(([kind, key]) => `${EDITS[kind]} ${nameOf(key)}`);
  const view = state.function ? `callers and callees of ${nameOf(state.function)}` : order;
  return [event ? `${event.name}, ${spoken(total, chosenUnit())}` : "", threadText(), view, state.range ? rangeWords(state.range) : "", ...edits].filter(Boolean).join(" · ");
}

const fakeCanvas = (pen) => /** @type {any} */ ({ getContext: () => pen });

/** Paint all levels with another drawing context than the screen's. */
function paintPicture(chart, ruler, ratio) {
  const copied = new Painter(fakeCanvas(chart), fakeCanvas(ruler));
  Object.assign(copied, { sides: painter.sides, side: painter.side, width: painter.width, height: pictureHeight(), letter: painter.letter, gutter: gutterWidth(), ratio });
  copied.paint({ ...view(), selected: -1, hovered: -1, scroll: 0, base: 0 });
}

const pictureHeight = () => Math.ceil(layout.height() * LEVEL) + 8;
const gutterWidth = () => $("gutter").offsetWidth;
const rulerHeight = () => (layout.isSandwich ? 0 : RULER);

function svgText() {
  const probe = document.createElement("canvas").getContext("2d");
  const plain = (colour) => ((probe.fillStyle = colour), String(probe.fillStyle));
  const [chart, ruler] = [new SvgPen(plain), new SvgPen(plain)];
  paintPicture(chart, ruler, 1);
  const { ink, soft, ground } = themeColours();
  const [width, top] = [painter.width + gutterWidth(), HEADING + rulerHeight()];
  const text = (x, y, fill, words, more = "") => `<text x="${x}" y="${y}" fill="${fill}" font-family="system-ui, sans-serif"${more}>${escaped(words)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + pictureHeight()}" viewBox="0 0 ${width} ${top + pictureHeight()}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12">`,
    `<title>${escaped(profile.title)}</title><rect width="100%" height="100%" fill="${ground}"/>`,
    text(6, 19, ink, profile.title, ' font-size="15" font-weight="650"'), text(6, 37, soft, caption()),
    `<g transform="translate(${gutterWidth()} ${HEADING})">`, ...ruler.parts, "</g>", `<g transform="translate(${gutterWidth()} ${top})">`, ...chart.parts, "</g></svg>\n",
  ].join("\n");
}

function themeColours() {
  const [ink, soft, ground] = ["--ink", "--soft", "--ground"].map((name) => styled(name).trim());
  return { ink, soft, ground };
}

/** @returns {Promise<Blob>} */
function pngBlob() {
  const [width, tall, top] = [painter.width + gutterWidth(), pictureHeight(), HEADING + rulerHeight()];
  const ratio = Math.min(2, MOST_PIXELS / Math.max(width, top + tall));
  const canvas = (height) => Object.assign(document.createElement("canvas"), { width: Math.round(width * ratio), height: Math.max(1, Math.round(height * ratio)) });
  const [whole, chart, ruler] = [canvas(top + tall), canvas(tall), canvas(RULER)];
  paintPicture(chart.getContext("2d"), ruler.getContext("2d"), ratio);
  const pen = whole.getContext("2d");
  const { ink, soft, ground } = themeColours();
  pen.fillStyle = ground;
  pen.fillRect(0, 0, whole.width, whole.height);
  if (rulerHeight()) pen.drawImage(ruler, 0, Math.round(HEADING * ratio));
  pen.drawImage(chart, 0, Math.round(top * ratio));
  pen.scale(ratio, ratio);
  const write = (words, font, colour, y) => {
    Object.assign(pen, { font: `${font} system-ui, sans-serif`, fillStyle: colour });
    pen.fillText(words, 6, y);
  };
  write(profile.title, "650 15px", ink, 19);
  write(caption(), "12px", soft, 37);
  return new Promise((done) => whole.toBlob(done));
}

function saveFile(suffix, blob) {
  const [[process] = [""]] = [...costsByProcess()].sort((one, other) => other[1] - one[1]);
  const title = /^perf\b/.test(profile.title) ? process.replace(/ \([^)]*\)$/, "") : profile.title; // the options of a command add little
  const name = title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60).replace(/^[-.]+|-+$/g, "") || "profile";
  const link = make("a", { href: URL.createObjectURL(blob), download: `${name}${suffix}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function listenToSharing() {
  $("link").onclick = () => copy(steps.link(), $("link"));
  $("svg").onclick = () => saveFile(".svg", new Blob([svgText()], { type: "image/svg+xml" }));
  $("png").onclick = async () => saveFile(".png", await pngBlob());
}
