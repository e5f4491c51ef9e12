// perf2x in a web worker: Python (Pyodide) reads the dropped files in place, and runs one command after another.
const HERE = new URL("./", import.meta.url).href;
const NATIVE = ["numpy", "msgspec", "protobuf"]; // packages with compiled code, which Pyodide provides
// folders in Pyodide's file system
const DROPPED = "/dropped";
const OUTPUT = "/output";
const STATS = `${OUTPUT}/stats.json`;

const quiet = () => {};
const report = (stage, done, total) => postMessage({ stage, done, total });
const ready = start();
ready.catch((error) => postMessage({ failed: `The converter could not be loaded: ${reason(error)}` }));

/** The last line of an error's text; of an error in Python, that is the line after the traceback. */
function reason(error) {
  return String(error.message).trim().split("\n").at(-1);
}

/** Loads Pyodide and perf2x; posts {ready} once commands can run, and then imports what the first one needs. */
async function start() {
  const sources = fetch(`${HERE}perf2x.sources`).then((answer) => answer.arrayBuffer());
  const { loadPyodide } = await import(`${HERE}pyodide/pyodide.mjs`);
  const env = { HOME: "/home", PERF2X_SYSROOT: "/none" };
  const python = await loadPyodide({ indexURL: `${HERE}pyodide/`, env, stdout: quiet, stderr: quiet });
  await python.loadPackage(NATIVE, { messageCallback: quiet, errorCallback: quiet });
  python.unpackArchive(await sources, "gztar", { extractDir: "/sources" });
  python.runPython("import sys; sys.path.insert(0, '/sources')");
  for (const folder of [DROPPED, OUTPUT]) python.FS.mkdirTree(folder);
  const { run, prepare, link_by_build_id: link } = python.pyimport("perf2x.cli.web.in_browser");
  postMessage({ ready: true });
  setTimeout(prepare);
  return { python, run, link };
}

/** Run a command on files ({file, kind, path}); post one message with the outcome. */
async function convert({ files, words, output }) {
  const { python, run, link } = await ready;
  const { FS } = python;
  FS.mount(FS.filesystems.WORKERFS, { blobs: files.map(({ file, path }) => ({ name: path, data: file })) }, DROPPED);
  try {
    FS.chdir(DROPPED);
    if (files.some(({ kind }) => kind === "object")) link(`${DROPPED}/symbols`, "/objects");
    const isOne = words[0] === "convert";
    const [code, said] = run([...words, ...(isOne ? ["--stats", STATS] : ["--format", "json"])], report).toJs();
    const path = `${OUTPUT}/${output}`;
    const content = code === 0 ? FS.readFile(path) : null;
    const facts = code === 0 && isOne ? JSON.parse(FS.readFile(STATS, { encoding: "utf8" })) : null;
    postMessage({ code, said, content, facts }, { transfer: content ? [content.buffer] : [] });
  } finally {
    FS.chdir("/");
    for (const name of FS.readdir(OUTPUT)) if (!name.startsWith(".")) FS.unlink(`${OUTPUT}/${name}`);
    FS.unmount(DROPPED);
  }
}

addEventListener("message", ({ data }) => {
  convert(data).catch((error) => postMessage({ failed: `perf2x failed: ${reason(error)}` }));
});
