import assert from "node:assert/strict";
import { test } from "node:test";
import { compares, kindOf, ofFolder, outputOf, pathsOf, refusalOf, typed, wordsOf } from "../../../../converter/perf2x/cli/web/page/command_words.js";

const bytes = (text) => new TextEncoder().encode(text);
const file = (name, kind = "recording") => ({ file: { name }, kind });
const placed = (files) => pathsOf(files).map((path, row) => ({ ...files[row], path }));
const plain = { event: "", threads: "", offCpu: "", names: "short", together: "compare" };

test("files are told by their first bytes and by names that have a meaning", () => {
  const kinds = {
    "a.out": ["\x7fELF\x02", "object"], "ext4.ko.xz": ["\xfd7zXZ", "object"],
    "perf-12.map": ["7f00 10 f", "map"], "jit-12.dump": ["DTiJ", "map"],
    "symbols.txt": ["ffffffff81000000 T _stext\n", "kallsyms"], "kallsyms.gz": ["\x1f\x8b", "kallsyms"],
    "perf.data": ["PERFILE2", "recording"], "perf.data.tar.gz": ["\x1f\x8b", "recording"],
    "perf.data.tar.bz2": ["BZh9", "archive"],
    "out.folded": ["main;work 12\n", "recording"], "out.txt": ["perf 12 345.6: 1 cycles:\n", "recording"],
  };
  for (const [name, [head, kind]] of Object.entries(kinds)) assert.equal(kindOf(name, bytes(head)), kind, name);
});

test("one recording is converted, with what was chosen", () => {
  const chosen = { ...plain, event: "cycles", threads: "worker*", offCpu: "apart", names: "full" };
  const words = wordsOf(placed([file("perf.data")]), chosen, "pprof", "/output/perf.data.pb.gz");
  assert.equal(typed(words), "convert perf.data --to pprof --output /output/perf.data.pb.gz --event cycles --comm 'worker*' --off-cpu apart --names full");
});

test("two recordings are compared, or added up; three are added up", () => {
  const two = placed([file("a.data"), file("app", "object"), file("b.data")]);
  assert.deepEqual(wordsOf(two, plain, "html", "o").slice(0, 3), ["diff", "a.data", "b.data"]);
  assert.equal(outputOf(two, plain, "html"), "a.data.diff.html");
  const added = { ...plain, together: "add" };
  assert.deepEqual(wordsOf(two, added, "html", "o").slice(0, 3), ["convert", "a.data", "b.data"]);
  assert.equal(outputOf(two, added, "chrome"), "a.data.trace.json");
  assert.equal(compares([...two, file("c.data")], plain), false);
});

test("what names the samples is given as the command takes it", () => {
  const files = placed([file("app", "object"), file("perf.data"), file("perf-1.map", "map"), file("kallsyms", "kallsyms")]);
  const words = wordsOf(files, plain, "html", "o").join(" ");
  assert.match(words, /--symfs symbols,flat --buildid-dir \/objects --perf-map-dir symbols --kallsyms symbols\/kallsyms$/);
});

test("an archive of perf archive is one", () => {
  const files = placed([file("perf.data"), file("perf.data.tar.bz2", "archive")]);
  assert.match(wordsOf(files, plain, "html", "o").join(" "), /--archive symbols\/perf.data.tar.bz2$/);
});

test("of a folder what is of use is taken; a folder that is one recording is refused", () => {
  const heads = { "perf.data": "PERFILE2", "app": "\x7fELF", "README": "Read", "perf-7.map": "7f00 1 f", "x.tar.bz2": "BZh9" };
  const kept = ofFolder(Object.entries(heads).map(([name, head]) => ({ file: { name }, head: bytes(head) })));
  const kinds = kept.map(({ file: { name }, kind }) => `${name} ${kind}`);
  assert.deepEqual(kinds, ["perf.data recording", "app object", "perf-7.map map", "x.tar.bz2 archive"]);
  assert.equal(refusalOf("src", ["data", "main.c"]), "");
  assert.match(refusalOf("perf.data", ["data", "data.0", "data.1"]), /perf2x bundle perf.data$/);
});

test("files of one name, or of the folder's, keep apart", () => {
  const files = [file("perf.data"), file("perf.data"), file("symbols"), file("libc.so.6", "object")];
  assert.deepEqual(pathsOf(files), ["perf.data", "2/perf.data", "3/symbols", "symbols/libc.so.6"]);
});

test("a command can be pasted into a shell", () => {
  assert.equal(typed(["perf2x", "bundle", "it's here.data", "$(x)"]), "perf2x bundle 'it'\\''s here.data' '$(x)'");
});
