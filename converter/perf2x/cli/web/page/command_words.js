// Dropped files as a perf2x command line: their kinds, their names, and the words of the command.

/** Formats of downloads: suffix, label of the choice, and whether they support a difference. */
export const FORMATS = {
  html: { suffix: ".html", title: "this page (HTML)", compares: true },
  pprof: { suffix: ".pb.gz", title: "pprof", compares: true },
  chrome: { suffix: ".trace.json", title: "Chrome trace", compares: false },
  collapsed: { suffix: ".folded", title: "collapsed stacks", compares: true },
  firefox: { suffix: ".firefox.json", title: "Firefox Profiler", compares: false },
  speedscope: { suffix: ".speedscope.json", title: "Speedscope", compares: false },
  perfetto: { suffix: ".pftrace", title: "Perfetto", compares: false },
};

const OPTIONS = { event: "--event", threads: "--comm", offCpu: "--off-cpu", names: "--names" };

/** Kind by name and first bytes: "recording", or a source of symbols: "object", "kallsyms", "map", "archive" (of perf archive). */
export function kindOf(name, head) {
  const text = String.fromCharCode(...head);
  if (text.startsWith("\x7fELF") || /\.ko(\.(gz|xz|zst))?$/.test(name)) return "object";
  if (/^(perf-\d+\.map|jit-\d+\.dump)$/.test(name)) return "map";
  if (name.startsWith("kallsyms") || /^[0-9a-f]{8,16} [a-zA-Z] /.test(text)) return "kallsyms";
  if (text.startsWith("BZh") || name.endsWith(".tar.bz2")) return "archive";
  return "recording";
}

const OTHERS = {
  "a picture": /^(\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|\s*<svg)/s,
  "a document": /^%PDF/,
  "a zip archive": /^PK[^\w\s]/,
  "a web page": /^\s*<(!doctype html|html)/i,
};

/** Sentence on a file that is something else than a recording or a source of symbols; "" for other files. */
export function refusalOfFile(name, head) {
  const text = String.fromCharCode(...head);
  const [kind] = Object.entries(OTHERS).find(([, pattern]) => pattern.test(text)) ?? [""];
  return kind && `${name} is ${kind}, not a recording.`;
}

/** Files ({file, head}) with their kinds, as {file, kind}. */
export function withKinds(files) {
  return files.map(({ file, head }) => ({ file, kind: kindOf(file.name, head) }));
}

/** The recordings and sources of symbols in a folder, with their kinds; all other files are left out. */
export function ofFolder(files) {
  const isPerfs = new Set(files.filter(({ head }) => String.fromCharCode(...head.slice(0, 8)) === "PERFILE2").map(({ file }) => file));
  return withKinds(files).filter(({ file, kind }) => kind !== "recording" || isPerfs.has(file));
}

/** Sentence on a folder that is one recording, made by perf record --threads; "" for other folders. */
export function refusalOf(folder, names) {
  if (!names.includes("data") || !names.includes("data.0")) return "";
  return `${folder} is a recording in several files. Make one of them: ${typed(["perf2x", "bundle", folder])}`;
}

/** Paths of files below the folder that the worker mounts: their own names, in numbered folders if two are equal. */
export function pathsOf(files) {
  const used = new Set();
  return files.map(({ file, kind }, number) => {
    const plain = kind === "recording" ? file.name : `symbols/${file.name}`;
    const path = used.has(plain) || plain === "symbols" ? `${number + 1}/${plain}` : plain;
    used.add(path);
    return path;
  });
}

/** Words of the command for files ({kind, path}), the chosen options, a format and the output's path. */
export function wordsOf(files, options, format, output) {
  const some = (kind) => files.filter((one) => one.kind === kind).map(({ path }) => path);
  const recordings = some("recording");
  const words = [compares(files, options) ? "diff" : "convert", ...recordings, "--to", format, "--output", output];
  for (const [name, option] of Object.entries(OPTIONS)) if (options[name]) words.push(option, options[name]);
  if (some("object").length) words.push("--symfs", "symbols,flat", "--buildid-dir", "/objects");
  if (some("map").length) words.push("--perf-map-dir", "symbols");
  for (const path of some("archive")) words.push("--archive", path);
  if (some("kallsyms").length) words.push("--kallsyms", some("kallsyms").at(-1));
  return words;
}

/** Whether the recordings are before and after, not parts of one profile. */
export function compares(files, { together }) {
  return together === "compare" && files.filter(({ kind }) => kind === "recording").length === 2;
}

/** Name of the output: that of the first recording with the format's suffix. */
export function outputOf(files, options, format) {
  const first = files.find(({ kind }) => kind === "recording");
  return `${first.file.name}${compares(files, options) ? ".diff" : ""}${FORMATS[format].suffix}`;
}

/** Quote words for a shell. */
export function typed(words) {
  return words.map((word) => (/^[\w./,:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
