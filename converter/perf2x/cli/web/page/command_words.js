// Makes a perf2x command line of dropped files: their kinds, their paths, and the words of the command.

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

/** Options of the command by names of the page's options. */
const COMMAND_OPTIONS = { event: "--event", threads: "--comm", offCpu: "--off-cpu", names: "--names" };

/**
 * Kind of a file by its name and its first bytes (head): "recording", or a source of symbols: "object" (ELF file), "kallsyms",
 * "map" (perf map or jitdump), "archive" (of perf archive).
 */
export function kindOf(name, head) {
  const text = String.fromCharCode(...head);
  if (text.startsWith("\x7fELF") || /\.ko(\.(gz|xz|zst))?$/.test(name)) return "object";
  if (/^(perf-\d+\.map|jit-\d+\.dump)$/.test(name)) return "map";
  if (name.startsWith("kallsyms") || /^[0-9a-f]{8,16} [a-zA-Z] /.test(text)) return "kallsyms";
  if (text.startsWith("BZh") || name.endsWith(".tar.bz2")) return "archive";
  return "recording";
}

/** First bytes of files that are dropped by mistake, by what a message calls them. */
const REFUSED = {
  "a picture": /^(\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|\s*<svg)/s,
  "a document": /^%PDF/,
  "a zip archive": /^PK[^\w\s]/,
  "a web page": /^\s*<(!doctype html|html)/i,
};

/** Sentence on a file that can be neither a recording nor a source of symbols; "" for other files. */
export function refusalOfFile(name, head) {
  const text = String.fromCharCode(...head);
  const [kind] = Object.entries(REFUSED).find(([, pattern]) => pattern.test(text)) ?? [""];
  return kind && `${name} is ${kind}, not a recording.`;
}

/** Files ({file, head}) with their kinds, as {file, kind}. */
export function withKinds(files) {
  return files.map(({ file, head }) => ({ file, kind: kindOf(file.name, head) }));
}

/**
 * The perf.data files and sources of symbols among the files of a folder, with their kinds; all other files are left out.
 *
 * kindOf calls any other file a recording, because texts can be converted, too. That would be wrong for most files in a folder.
 */
export function ofFolder(files) {
  const perfData = new Set(files.filter(({ head }) => String.fromCharCode(...head.slice(0, 8)) === "PERFILE2").map(({ file }) => file));
  return withKinds(files).filter(({ file, kind }) => kind !== "recording" || perfData.has(file));
}

/** Sentence on a folder that is one recording, made by perf record --threads; "" for other folders. "names" are those of its files. */
export function refusalOf(folder, names) {
  if (!names.includes("data") || !names.includes("data.0")) return "";
  return `${folder} is a recording in several files. Make one of them: ${typed(["perf2x", "bundle", folder])}`;
}

/**
 * Paths of files below the folder that the worker mounts. Recordings have their own names; sources of symbols are in symbols/.
 * Of files with the same path, the second and later ones are put into numbered folders.
 */
export function pathsOf(files) {
  const used = new Set();
  return files.map(({ file, kind }, number) => {
    const preferred = kind === "recording" ? file.name : `symbols/${file.name}`;
    const path = used.has(preferred) || preferred === "symbols" ? `${number + 1}/${preferred}` : preferred;
    used.add(path);
    return path;
  });
}

/**
 * Words of the command for files ({kind, path}), the chosen options, a format and the output's path.
 *
 * /objects is the build-id cache into which the worker links objects.
 */
export function wordsOf(files, options, format, output) {
  const pathsOfKind = (kind) => files.filter((file) => file.kind === kind).map(({ path }) => path);
  const recordings = pathsOfKind("recording");
  const words = [compares(files, options) ? "diff" : "convert", ...recordings, "--to", format, "--output", output];
  for (const [name, option] of Object.entries(COMMAND_OPTIONS)) if (options[name]) words.push(option, options[name]);
  if (pathsOfKind("object").length) words.push("--symfs", "symbols,flat", "--buildid-dir", "/objects");
  if (pathsOfKind("map").length) words.push("--perf-map-dir", "symbols");
  for (const path of pathsOfKind("archive")) words.push("--archive", path);
  if (pathsOfKind("kallsyms").length) words.push("--kallsyms", pathsOfKind("kallsyms").at(-1));
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

/** The words as one line to type into a shell, quoted where necessary. */
export function typed(words) {
  return words.map((word) => (/^[\w./,:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
