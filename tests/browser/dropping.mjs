// Opens the page of ``perf2x web`` in Chromium, takes steps on it, and tells as JSON on standard output what came of them.
//
//   node dropping.mjs CHROMIUM
//
// A line is {"site": folder, "folder": where to save, "steps"}; each has an address and caches of its own.
// Every step is a list: its name and what it needs. All requests of the browser are told, those of workers, too.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { answer } from "./answering.mjs";
import { serve } from "./local_server.mjs";

const [, , executablePath] = process.argv;
const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));
const AXE = path.resolve("node_modules/axe-core/axe.min.js");
const LONGEST = 120_000;

let [context, page, origin, folder] = [null, null, "", ""];
let [requests, errors] = [[], []];

async function open() {
  await page?.close();
  page = await context.newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(`${origin}/`);
}

/** Waits until the status says it, or a problem is shown. */
async function until(pattern) {
  const began = performance.now();
  while (performance.now() - began < LONGEST) {
    const said = await page.textContent("#status");
    if (new RegExp(pattern).test(said) || (await page.isVisible("#problem"))) return performance.now() - began;
    await new Promise((done) => {
      setTimeout(done, 20);
    });
  }
  throw new Error(`${pattern} did not come; the status is ${await page.textContent("#status")}`);
}

async function drop(files) {
  const contents = files.map((name) => [path.basename(name), [...fs.readFileSync(name)]]);
  const data = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of all) transfer.items.add(new File([new Uint8Array(bytes)], name));
    return transfer;
  }, contents);
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
}

async function save(format, name) {
  await page.selectOption("#format", format);
  const coming = page.waitForEvent("download", { timeout: LONGEST });
  const refused = page.waitForSelector("#problem", { timeout: LONGEST }).catch(() => null);
  await page.click("#save");
  const download = await Promise.race([coming, refused.then(() => null)]);
  if (!download) {
    coming.catch(() => null);
    throw new Error(`${name}: ${await page.textContent("#problem")}`);
  }
  await download.saveAs(path.join(folder, name));
  return download.suggestedFilename();
}

async function state() {
  const shown = (selector) => page.isVisible(selector);
  return {
    status: await page.textContent("#status"),
    problem: (await shown("#problem")) ? await page.textContent("#problem") : "",
    instead: (await shown("#instead")) ? await page.textContent("#instead-words") : "",
    bundle: (await shown("#nameless")) ? await page.textContent("#bundle") : "",
    lines: await page.$$eval("#lines li", (lines) => lines.map((line) => line.textContent)),
    files: await page.$$eval("#list li", (items) => items.map((item) => item.firstChild.textContent + item.children[0].textContent)),
    cancel: await shown("#cancel"),
    focus: await page.evaluate(() => document.activeElement.id),
  };
}

/** What the flame graph says in its frame, once it says anything: its elements are empty until its scripts have run. */
async function inside(selector) {
  const frame = await (await page.$("#result")).contentFrame();
  return frame.locator(selector).filter({ hasText: /\S/ }).first().textContent({ timeout: LONGEST });
}

async function complaints() {
  await page.evaluate(fs.readFileSync(AXE, "utf8"));
  const { violations } = await page.evaluate(() => window["axe"].run({ exclude: ["#result"] }));
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

/** Requests since the last time: names of the site's files, and whole addresses of all others. */
function asked() {
  const some = requests.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:"));
  requests = [];
  return some.map((url) => (url.startsWith(`${origin}/`) ? url.slice(origin.length + 1) : url));
}

const STEPS = {
  open, until, drop, save, state, inside, complaints, asked,
  files: (names) => page.setInputFiles("#files", names),
  choose: (selector, value) => page.selectOption(selector, value),
  fill: (selector, value) => page.fill(selector, value),
  focus: (selector) => page.focus(selector),
  click: (selector) => page.click(selector),
  press: (key) => page.keyboard.press(key),
  offline: (isOffline) => context.setOffline(isOffline),
  evaluate: (text) => page.evaluate(text),
  shot: (name) => page.screenshot({ path: path.join(folder, name) }).then(() => name),
};

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
await answer(async (asking) => {
  const server = await serve(asking.site);
  origin = `http://127.0.0.1:${server.address().port}`;
  [page, folder, requests, errors] = [null, asking.folder, [], []];
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.on("request", (request) => requests.push(request.url()));
  const told = [];
  try {
    for (const [name, ...needs] of asking.steps) told.push((await STEPS[name](...needs)) ?? null);
  } finally {
    await context.close();
    server.close();
  }
  return { told, errors };
});
await browser.close();
