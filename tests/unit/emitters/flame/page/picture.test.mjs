import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./scripts.mjs";

const { SvgPen, escaped } = load(["picture.js"], "SvgPen", "escaped");

test("a pen writes down what it draws", () => {
  const pen = new SvgPen((colour) => colour.toUpperCase());
  Object.assign(pen, { fillStyle: "#abc", strokeStyle: "#def", font: "600 12px mono" });
  pen.fillRect(0.123456, 1, 20, 18);
  pen.tell('<a> & "b"\u0000\ud800');
  pen.fillText("x < y", 4, 9.5);
  pen.strokeRect(1, 2, 3, 4);
  assert.deepEqual(pen.parts, [
    '<rect x="0.12" y="1" width="20" height="18" fill="#ABC"><title>&#60;a&#62; &#38; &#34;b&#34;</title></rect>',
    '<text x="4" y="13.5" font-weight="600" fill="#ABC">x &#60; y</text>',
    '<rect x="1" y="2" width="3" height="4" fill="none" stroke="#DEF" stroke-width="1"/>',
  ]);
});

test("letters of all planes stay, halves of them and signs of control do not", () => {
  assert.equal(escaped("é漢🔥\ud83d\u0007\ufffe"), "é漢🔥");
});
