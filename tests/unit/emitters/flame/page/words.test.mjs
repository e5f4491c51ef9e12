import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./scripts.mjs";

const { lineParts } = load(["words.js"], "lineParts");

/** Parts that have a colour, as "kind part". */
const told = (line, path = "a.c") => lineParts(line, path).filter(([kind]) => kind).map((part) => part.join(" "));

test("a line is all of its parts, whatever it holds", () => {
  const lines = ["", "  for (;;) x /= 2; // it's", "say(\"a // \\\" b\", 'x')", "/* one */ int two; /* three", "a * b / c", "fn f<'a>(x: &'a str) {", "\"never ends", "`tick", "<b>if</b>"];
  for (const line of lines) for (const path of ["a.c", "a.py", ""]) assert.equal(lineParts(line, path).map(([, part]) => part).join(""), line);
});

test("comments, texts and words have their kinds", () => {
  assert.deepEqual(told("  for (i = 0;) x /= 2; // return it's"), ["word for", "note // return it's"]);
  assert.deepEqual(told("say(\"a // \\\" b\", 'x')"), ["text \"a // \\\" b\"", "text 'x'"]);
  assert.deepEqual(told("/* one */ int two; /* three"), ["note /* one */", "word int", "note /* three"]);
  assert.deepEqual(told("fn f<'a>(x: &'a str, c: '\\n')"), ["word fn", "text '\\n'"]);
  assert.deepEqual(told("printing = iffy + format"), []);
});

test("a hash begins a comment where the file's language says so", () => {
  assert.deepEqual(told("x = 1 # if so", "/a/b.py"), ["note # if so"]);
  assert.deepEqual(told("#define x if", "/a/b.h"), ["word if"]);
});
