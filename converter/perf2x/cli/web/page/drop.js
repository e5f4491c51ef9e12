// The page: files are dropped, the worker converts them, and the result is shown below or saved.
import { FORMATS, compares, ofFolder, outputOf, pathsOf, refusalOf, refusalOfFile, typed, withKinds, wordsOf } from "./command_words.js";

const MAX_BYTES = 1_500_000_000; // of recordings: what is read from them and the results must fit in the 4 GiB of WebAssembly
const MAX_FILES = 2000; // below a dropped folder
// line of perf2x's summary with the share of samples that have names
const NAMED_SHARE = /([\d.]+) % of the samples and .* frames have names/;
/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);
// ids of the elements of options, by name of the option
const OPTION_IDS = { event: "event", threads: "threads", offCpu: "off-cpu", names: "names", together: "together" };

let worker = null;
let dropped = []; // files that were dropped or chosen, as {file, kind}
let job = null; // the conversion that runs, or that waits for the worker; null: there is none
let isReady = false; // whether the worker has loaded the converter
let shownUrl = ""; // of the flame graph
let refusal = ""; // why the converter cannot be loaded

function say(text) {
  $("status").textContent = text;
}

function complain(text, words = null) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
  $("instead").hidden = !words;
  $("instead-words").textContent = words ? typed(words) : "";
}

/** Starts the worker from a blob, so that it has this page's policy on network requests; a worker from a URL would have its own. */
function startWorker() {
  const script = `import ${JSON.stringify(new URL("worker.js", location.href).href)};`;
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  worker = new Worker(url, { type: "module", name: "perf2x" });
  worker.onmessage = ({ data }) => receive(data);
  worker.onerror = ({ message = "" }) => {
    const why = message || "the browser refused a script of this page"; // the error of a refused script has no message
    receive({ failed: isReady ? `perf2x failed: ${why.trim().split("\n").at(-1)}` : `The converter could not be loaded: ${why}` });
  };
}

/** Handles a message of the worker: it is ready, has made progress, has finished the job, or has failed. */
function receive(message) {
  if (message.ready) {
    isReady = true;
    say("Ready.");
    if (job) run();
  } else if (message.stage) {
    showProgress(message);
  } else if (isReady && job) {
    finish(message);
  } else {
    stop();
    job = null;
    say("");
    complain(message.failed);
    showState();
  }
}

function showProgress({ stage, done, total }) {
  say(`${stage[0].toUpperCase()}${stage.slice(1)} …`);
  if (total) [$("progress").max, $("progress").value] = [total, done];
  else $("progress").removeAttribute("value");
}

/**
 * The values of the page's options, by name.
 * @returns {any}
 */
function chosen() {
  return Object.fromEntries(Object.entries(OPTION_IDS).map(([name, id]) => [name, $(id).value.trim()]));
}

/** Convert what was dropped, to show or to save it; the worker may still be loading. */
function convert(format, isSaved = false) {
  const recordings = dropped.filter(({ kind }) => kind === "recording");
  if (!recordings.length) return;
  complain("");
  const paths = pathsOf(dropped);
  const files = dropped.map((one, row) => ({ ...one, path: paths[row] }));
  const options = chosen();
  const output = outputOf(files, options, format);
  job = { isSaved, files, output, words: wordsOf(files, options, format, `/output/${output}`), began: 0 };
  const size = recordings.reduce((all, { file }) => all + file.size, 0);
  if (size > MAX_BYTES) {
    refuse(`${(size / 1e9).toFixed(1)} GB of recordings are more than a page can hold (${MAX_BYTES / 1e9} GB).`);
  } else if (refusal) {
    refuse(refusal);
  } else if (isReady) {
    run();
  } else {
    say("Loading the converter …");
    if (!worker) startWorker();
  }
  showState();
}

function run() {
  job.began = performance.now();
  say("Reading …");
  $("progress").removeAttribute("value");
  const { files, words, output } = job;
  worker.postMessage({ files, words, output });
  showState();
}

/** The words of the job's command as a user would type it, to run it outside the browser. */
function commandElsewhere() {
  const output = job.words.indexOf("--output");
  return ["perf2x", ...job.words.toSpliced(output, 2, "--output", job.output)];
}

function refuse(text) {
  const words = commandElsewhere();
  job = null;
  say("Nothing was converted.");
  complain(text, words);
  showState();
}

/** Shows or saves the result of the job. "said" is what the command wrote to standard error, "facts" the JSON of --stats. */
function finish({ code = 1, said = "", content, facts, failed }) {
  const lines = said.replaceAll("/output/", "").split("\n").filter(Boolean);
  showLines(code === 0 ? lines : lines.slice(0, -1));
  const text = failed || lines.at(-1)?.replace(/^perf2x: /, "") || "";
  if (code !== 0 || failed) {
    if (failed) restart();
    refuse(text);
    return;
  }
  const { output, isSaved, began } = job;
  job = null;
  const blob = new Blob([content], { type: isSaved ? "application/octet-stream" : "text/html" });
  if (isSaved) save(blob, output);
  else show(blob);
  if (facts) $("events").replaceChildren(...facts.events.map(({ name }) => new Option(name)));
  say(`${isSaved ? `${output} is written` : "Shown"}, after ${((performance.now() - began) / 1000).toFixed(1)} s.`);
  showMissingNames(said);
  showState();
}

function show(blob) {
  URL.revokeObjectURL(shownUrl);
  shownUrl = URL.createObjectURL(blob);
  $("result").src = shownUrl;
  $("result").hidden = false;
  document.body.classList.add("shown");
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function showLines(lines) {
  $("lines").replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
  $("said").hidden = !lines.length;
}

function showMissingNames(said) {
  const [, share] = NAMED_SHARE.exec(said) ?? [0, 100];
  const { file } = dropped.find(({ kind }) => kind === "recording");
  $("nameless").hidden = Number(share) >= 95;
  $("bundle").textContent = typed(["perf2x", "bundle", file.name]);
}

function cancel() {
  job = null;
  restart();
  say("Cancelled. The converter is loading again …");
  showState();
}

function stop() {
  worker?.terminate();
  worker = null;
  isReady = false;
}

function restart() {
  stop();
  startWorker();
}

/** Shows the elements, and enables the actions, that make sense for the dropped files and the job. */
function showState() {
  const recordings = dropped.filter(({ kind }) => kind === "recording");
  const isDifference = compares(dropped, chosen());
  $("chosen").hidden = !dropped.length;
  $("options").hidden = !recordings.length;
  $("together-label").hidden = recordings.length !== 2;
  for (const id of ["show", "save"]) $(id).disabled = Boolean(job);
  $("cancel").hidden = !job;
  $("progress").hidden = !job;
  for (const option of $("format").options) option.disabled = isDifference && !FORMATS[option.value].compares;
  if ($("format").selectedOptions[0]?.disabled) $("format").value = "html";
}

function showFiles() {
  const isDifference = compares(dropped, chosen());
  const recordings = dropped.filter(({ kind }) => kind === "recording");
  const called = (one) => (isDifference && one.kind === "recording" ? ["before", "after"][recordings.indexOf(one)] : one.kind);
  $("list").replaceChildren(...dropped.map((one, row) => {
    const item = document.createElement("li");
    const kind = Object.assign(document.createElement("small"), { textContent: ` ${called(one)}` });
    const remove = Object.assign(document.createElement("button"), { type: "button", textContent: "Remove", onclick: () => removeFile(row) });
    remove.setAttribute("aria-label", `Remove ${one.file.name}`);
    item.append(one.file.name, kind, remove);
    return item;
  }));
  showState();
}

function removeFile(row) {
  dropped = dropped.toSpliced(row, 1);
  showFiles();
  $("files").focus();
}

function clear() {
  if (job) cancel();
  dropped = [];
  URL.revokeObjectURL(shownUrl);
  for (const id of ["result", "said", "nameless"]) $(id).hidden = true;
  document.body.classList.remove("shown");
  complain("");
  say(isReady ? "Ready." : "Loading the converter …");
  showFiles();
}

/** Files with their first bytes. */
function withHeads(files) {
  return Promise.all(files.map(async (file) => ({ file, head: new Uint8Array(await file.slice(0, 40).arrayBuffer()) })));
}

/** All files below a folder; throws an error with a sentence for unsupported entries. */
async function filesBelow(folder) {
  const found = [];
  for (const folders = [folder]; folders.length;) {
    const current = folders.pop();
    const entries = [];
    const reader = current.createReader();
    for (let batch; !batch || batch.length; entries.push(...batch)) {
      batch = await new Promise((done, fail) => reader.readEntries(done, fail)); // about a hundred at a time
    }
    const refused = refusalOf(current.name, entries.map(({ name }) => name));
    if (refused) throw new Error(refused);
    folders.push(...entries.filter(({ isDirectory }) => isDirectory));
    for (const entry of entries) if (entry.isFile) found.push(await new Promise((done, fail) => entry.file(done, fail)));
    if (found.length > MAX_FILES) {
      throw new Error(`${folder.name} has more than ${MAX_FILES} files. Drop the programs that were recorded.`);
    }
  }
  return ofFolder(await withHeads(found));
}

/** Accept files and folders that are dropped together. */
async function takeDropped(transfer) {
  const items = [...transfer.items].filter(({ kind }) => kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry?.()); // invalid after the first await
  const files = [...transfer.files].filter((_, row) => !entries[row]?.isDirectory);
  const folders = entries.filter((entry) => entry?.isDirectory);
  await take(files, (await Promise.all(folders.map(filesBelow))).flat());
  if (folders.length && !dropped.length) complain("There is no recording in the folder, and nothing that names one.");
}

/** Adds files, and those that were found in folders, to the dropped ones, and shows the result; does nothing during a job. */
async function take(list, fromFolders = []) {
  if (!(list.length + fromFolders.length) || job?.began) return;
  const files = await withHeads([...list]);
  const refused = files.filter(({ file, head }) => refusalOfFile(file.name, head));
  dropped = [...dropped, ...withKinds(files.filter((one) => !refused.includes(one))), ...fromFolders];
  showFiles();
  if (dropped.length && !dropped.some(({ kind }) => kind === "recording")) say("Now drop the recording that these files name.");
  if (refused.length < files.length + fromFolders.length) convert("html");
  if (refused.length) complain(refused.map(({ file, head }) => refusalOfFile(file.name, head)).join(" "));
}

/** Show the recording that comes with the page. */
async function takeExample() {
  const answer = await fetch("example.gzipped");
  await take([new File([await answer.blob()], "example")]);
}

function listen() {
  for (const [name, { title }] of Object.entries(FORMATS)) $("format").add(new Option(title, name));
  $("files").onchange = async () => {
    await take($("files").files);
    $("files").value = "";
  };
  $("example").onclick = takeExample;
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    takeDropped(event.dataTransfer).catch((error) => complain(`This cannot be read: ${error.message}`));
  });
  $("options").onsubmit = (event) => {
    event.preventDefault();
    convert("html");
  };
  $("save").onclick = () => convert($("format").value, true);
  $("together").onchange = () => {
    showFiles();
    convert("html");
  };
  $("cancel").onclick = cancel;
  $("clear").onclick = clear;
}

/** Waits until the service worker has cached every file. Throws if one is missing or has other contents than expected. */
async function cacheFiles(workers) {
  let failure = ""; // which file could not be cached, and why
  workers.addEventListener("message", ({ data }) => {
    if (data.total) say(`Loading the converter: ${data.cached} of ${data.total} files …`);
    else failure = `${data.failedUrl}: ${data.reason}`;
  });
  workers.startMessages();
  const registration = await workers.register("service_worker.js").catch(() => null);
  if (!registration) return; // the server sends the files each time
  const first = registration.active ? null : registration.installing ?? registration.waiting;
  if (first) {
    await new Promise((done, fail) => {
      first.onstatechange = () => {
        if (first.state === "activated") done(true);
        if (first.state === "redundant") setTimeout(() => fail(new Error(failure)), 200); // its message may be under way
      };
    });
  }
  if (workers.controller) return;
  /** @type {Promise<Event>} */
  const claimed = new Promise((done) => {
    workers.addEventListener("controllerchange", done, { once: true });
  });
  registration.active.postMessage("claim");
  await claimed;
}

/** Throws where nothing can bring Pyodide from another address: over plain http there is no service worker. */
async function requireOwnPyodide() {
  const { ok } = await fetch("pyodide/pyodide.mjs", { method: "HEAD" });
  if (!ok) throw new Error("without https, a page cannot load Pyodide from its CDN. Serve it with https, or on localhost, or with perf2x web --pyodide FOLDER");
}

listen();
showFiles();
try {
  if (navigator.serviceWorker) await cacheFiles(navigator.serviceWorker);
  if (!navigator.serviceWorker?.controller) await requireOwnPyodide();
  startWorker();
} catch (/** @type {any} */ error) {
  refusal = `The converter could not be loaded: ${error.message}`;
  say("");
  complain(refusal);
}
