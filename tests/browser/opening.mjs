// Opens files in Chromium and tells, as JSON on standard output, how many milliseconds that took, and each view after it:
// by the clock, and of the processor in the page's main thread, which others on a busy machine hardly change.
//
//   node opening.mjs CHROMIUM SPEEDSCOPE < files.json
//
// A file is {"viewer": "page" or "speedscope", "file": …}. A view is done when the browser has drawn two frames more.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "./local_server.mjs";

const [, , executablePath, speedscope] = process.argv;
const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));

const VIEWS = {
  page: {
    "bottom up": "choose('order', 'bottom')",
    "over time": "choose('order', 'time')",
    "all lanes": "(state.lanes = 'all', showLanes(state.open))",
    "bursts": "toggleBursts()",
    "by process": "choose('rows', 'process')",
    "left heavy": "choose('order', 'heavy')",
    "by thread": "choose('thread', 'split')",
    "callers": "(choose('thread', 'merged'), openFunction(profile.functionKey(functions[0].frame)))",
    "search": "($('search').value = 'a', $('search').oninput())",
  },
  speedscope: { "left heavy": ["text=Left Heavy"], "sandwich": ["text=Sandwich"], "time order": ["text=Time Order"] },
};
const DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
const LONGEST = { timeout: 600_000 };

/** Seconds of the processor that the main thread has taken. */
async function taken(devices) {
  const { metrics } = await devices.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

async function timed(devices, act) {
  const [began, before] = [performance.now(), await taken(devices)];
  await act();
  const after = await taken(devices);
  return { clock: performance.now() - began, cpu: 1000 * (after < before ? after : after - before) };
}

async function openPage(page, { file }) {
  await page.goto(pathToFileURL(path.resolve(file)).href, LONGEST);
  await page.waitForFunction(() => typeof layout !== "undefined" && layout && !waiting, null, LONGEST);
  await page.evaluate(DRAWN);
}

async function openSpeedscope(page, { file }, origin) {
  await page.goto(origin);
  await page.setInputFiles("input[type=file]", file, LONGEST);
  await page.waitForFunction(() => document.body.innerText.includes("Left Heavy"), null, LONGEST);
  await page.evaluate(DRAWN);
}

async function run(browser, job, origin) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
  page.setDefaultTimeout(LONGEST.timeout);
  const devices = await page.context().newCDPSession(page);
  await devices.send("Performance.enable", { timeDomain: "threadTicks" });
  const open = await timed(devices, () => (job.viewer === "page" ? openPage(page, job) : openSpeedscope(page, job, origin)));
  const views = {};
  for (const [name, act] of Object.entries(VIEWS[job.viewer])) {
    views[name] = await timed(devices, async () => {
      await (Array.isArray(act) ? page.click(act[0]) : page.evaluate(`${act}, 0`));
      await page.evaluate(DRAWN);
    });
  }
  await page.close();
  return { open, views };
}

const server = await serve(speedscope);
const DRAWING = { page: ["--disable-gpu"], speedscope: ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] }; // Speedscope draws with WebGL
const told = [];
for (const job of JSON.parse(fs.readFileSync(0, "utf8"))) {
  const args = ["--no-sandbox", "--no-first-run", "--disable-background-networking", ...DRAWING[job.viewer]];
  const browser = await chromium.launch({ executablePath, args });
  told.push(await run(browser, job, `http://127.0.0.1:${server.address().port}/`));
  await browser.close();
}
server.close();
process.stdout.write(JSON.stringify(told));
