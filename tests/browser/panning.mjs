// Pans pages in Chromium and tells, as JSON on standard output, what their frames cost by the browser's own trace.
//
//   node panning.mjs CHROMIUM FRAMES < views.json
//
// A view is {"file": …, "hash": …, "size": {width, height}}. A frame is all that the page's main thread does for it: the page's
// own code (``script``), and, where no graphics card does, the dots of the canvas (``dots``). Times are milliseconds of
// the processor; ``wall`` is by the clock.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { traced } from "./tracing.mjs";

const [, , executablePath, frames] = process.argv;
const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));
const CATEGORIES = ["toplevel", "devtools.timeline", "blink", "cc"];

/** The middle, and what one frame in twenty is above. */
function summary(numbers) {
  const sorted = [...numbers].sort((one, other) => one - other);
  const [median, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(share * sorted.length)]);
  return { median, p95 };
}

/** Moves the pointer to and fro with a button down; the browser takes a move a frame. Over time Shift makes it a move. */
async function pan(page, isTime) {
  const { x, y, width, height } = await page.locator("#canvas").boundingBox();
  if (isTime) await page.keyboard.down("Shift");
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  for (let frame = 1; frame <= frames; frame += 1) await page.mouse.move(x + width * (0.5 + 0.4 * Math.sin(frame / 12)), y + height / 2);
  await page.mouse.up();
  if (isTime) await page.keyboard.up("Shift");
}

const within = (frame, parts) => parts.filter(({ ts }) => ts >= frame.ts && ts < frame.ts + frame.dur);
const sum = (parts) => parts.reduce((all, { tdur }) => all + tdur / 1000, 0);

/** Costs of the frames that ran the page's code. */
function costs(events) {
  const some = (name) => events.filter((one) => one.name === name && one.ph === "X");
  const { pid, tid } = some("FireAnimationFrame")[0];
  const [begins, scripts, dots] = ["ProxyMain::BeginMainFrame", "FireAnimationFrame", "LayerTreeHost::DoUpdateLayers"]
    .map((name) => some(name).filter((one) => one.pid === pid && one.tid === tid));
  const drawn = begins.filter((frame) => within(frame, scripts).length);
  return {
    frames: drawn.length,
    cpu: summary(drawn.map((frame) => sum([frame]))),
    script: summary(drawn.map((frame) => sum(within(frame, scripts)))),
    dots: summary(drawn.map((frame) => sum(within(frame, dots)))),
    wall: summary(drawn.map(({ dur }) => dur / 1000)),
  };
}

async function run(browser, view) {
  const page = await browser.newPage({ viewport: view.size || { width: 1280, height: 760 } });
  const devices = await page.context().newCDPSession(page);
  const began = performance.now();
  await page.goto(pathToFileURL(path.resolve(view.file)).href + (view.hash || ""));
  await page.waitForFunction(() => typeof layout !== "undefined" && layout && !waiting, null, { timeout: 120_000 });
  const loaded = performance.now() - began;
  for (let times = 0; times < 2; times += 1) await page.keyboard.press("w");
  const isTime = await page.evaluate("layout.isTime");
  const events = await traced(devices, CATEGORIES, () => pan(page, isTime));
  const seen = await page.evaluate("[profile.events[state.event].samples, layout.size, painter.from > 0 || painter.to < layout.width]");
  await page.close();
  if (!seen[2]) throw new Error(`${view.file} was not panned`);
  return { samples: seen[0], boxes: seen[1], loaded, ...costs(events) };
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--no-first-run", "--disable-background-networking"] });
const told = [];
for (const view of JSON.parse(fs.readFileSync(0, "utf8"))) told.push(await run(browser, view));
await browser.close();
process.stdout.write(JSON.stringify(told));
