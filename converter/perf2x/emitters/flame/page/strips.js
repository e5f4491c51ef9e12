"use strict";
// Boxes without a label: a level of them is a row of pixels, which the browser stretches to the height of a level. Thousands
// of rectangles would take longer than a frame lasts.

class Strips {
  /** @param {HTMLCanvasElement} canvas a row of pixels for each level on screen; never shown itself */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { willReadFrequently: true });
    /** @type {Map<string, number>} */
    this.known = new Map();
  }

  /** Make room for levels as wide as the screen; ratio: device pixels per CSS pixel. */
  fit(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.ceil(height / LEVEL) + 2;
    this.image = this.pen.createImageData(this.canvas.width, this.canvas.height);
    this.dots = new Uint32Array(this.image.data.buffer);
  }

  clear() {
    this.dots.fill(0);
    /** @type {number[]} */
    this.tops = []; // of the levels, in pixels
  }

  /** Begin a level. */
  begin(y) {
    this.tops.push(y);
  }

  /** Add a box to the level that was begun last; left and width are in pixels. */
  add(left, width, colour) {
    const row = (this.tops.length - 1) * this.canvas.width;
    const from = Math.max(0, Math.round(left * this.ratio));
    const to = Math.min(this.canvas.width, Math.max(from + 1, Math.round((left + width) * this.ratio)));
    const dot = this.dot(colour);
    for (let at = row + from; at < row + to; at += 1) this.dots[at] = dot; // fill() is slow for a few
  }

  /** A colour as a pixel of an image: red is its lowest byte. */
  dot(colour) {
    let dot = this.known.get(colour);
    if (dot === undefined) {
      this.pen.fillStyle = colour;
      const [red, green, blue] = String(this.pen.fillStyle).match(/\w\w/g).map((part) => parseInt(part, 16));
      this.known.set(colour, (dot = (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0));
    }
    return dot;
  }

  /** Draw all levels. */
  show(pen, width) {
    this.pen.putImageData(this.image, 0, 0);
    pen.imageSmoothingEnabled = false;
    this.tops.forEach((y, row) => pen.drawImage(this.canvas, 0, row, this.canvas.width, 1, 0, y, width, LEVEL - 1));
  }
}
