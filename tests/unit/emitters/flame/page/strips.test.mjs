import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./scripts.mjs";

const { Layout, Painter, Strips } = load(["trees.js", "data.js", "layout.js", "strips.js", "colours.js", "draw.js"], "Layout", "Painter", "Strips");

const image = (width, height) => ({ data: new Uint8ClampedArray(width * height * 4) });

/** A canvas that keeps its dots; ``drawn`` is what another pen draws of it. */
function fakeCanvas() {
  return { getContext: () => ({ createImageData: image, putImageData() {}, fillStyle: "" }) };
}

/** Colours of the dots of a level, "" where there is none. */
function dotsOf(strips, row) {
  const bytes = new Uint8Array(strips.dots.buffer);
  return Array.from({ length: strips.canvas.width }, (_, x) => {
    const [red, green, blue, opaque] = bytes.subarray(4 * (row * strips.canvas.width + x));
    return opaque ? `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}` : "";
  }).map((colour) => ({ "": ".", "#010203": "a", "#fffefd": "b" })[colour]).join("");
}

function stripsOf(ratio = 1) {
  const strips = new Strips(fakeCanvas());
  strips.fit(20, 100, ratio);
  strips.clear();
  return strips;
}

test("boxes are dots of their colour, at least one, inside of the screen", () => {
  const strips = stripsOf();
  strips.begin(0);
  strips.add(2, 3, "#010203");
  strips.add(5.1, 0.2, "#fffefd");
  strips.begin(19);
  strips.add(-3, 5, "#fffefd");
  strips.add(18.6, 9, "#010203");
  assert.deepEqual([dotsOf(strips, 0), dotsOf(strips, 1)], ["..aaab..............", "bb.................a"]);
  strips.clear();
  assert.equal(dotsOf(strips, 0), ".".repeat(20));
});

test("a screen of two dots a pixel has edges between pixels", () => {
  const strips = stripsOf(2);
  strips.begin(0);
  strips.add(1.5, 2, "#010203");
  assert.equal(dotsOf(strips, 0), `...aaaa${".".repeat(33)}`);
});

test("levels are drawn where they are, as tall as a level is without its gap", () => {
  const strips = stripsOf();
  const drawn = [];
  for (const y of [-5, 14]) strips.begin(y);
  strips.show({ drawImage: (_, ...place) => drawn.push(place) }, 20);
  assert.deepEqual(drawn, [[0, 0, 20, 1, 0, -5, 20, 18], [0, 1, 20, 1, 0, 14, 20, 18]]);
});

test("boxes with a label are rectangles, others are dots, all of them where there are no strips", () => {
  const layout = new Layout();
  layout.addLane("", []);
  for (const [start, end] of [[0, 60], [60, 63], [70, 90]]) layout.addBox(0, 0, start, end, 0, -1, 0);
  let found;
  const strips = { add: (...box) => found.push(box) };
  const asked = [[strips, [["rect", 0, 59], [60, 3, "#010203"], [70, 19, "#010203"]]], [null, [["rect", 0, 59], ["rect", 60, 3], ["rect", 70, 19]]]];
  for (const [given, wanted] of asked) {
    found = [];
    const painter = new Painter(null, null, given);
    const view = { layout, colour: () => "#010203", label: () => "name", isFaded: () => false };
    Object.assign(painter, { from: 0, to: 100, ratio: 1, width: 100, letter: 7, view });
    painter.paintLevel({ fillRect: (x, _, width) => found.push(["rect", x, width]), fillText() {} }, layout.lanes[0].levels[0], 0);
    assert.deepEqual(found, wanted);
  }
});
