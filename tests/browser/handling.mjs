// Does with pages in Chromium what hands do, and tells, as JSON on standard output, what that costs by the browser's own trace.
//
//   node handling.mjs CHROMIUM < pages.json
//
// A page is {"file": …}. Of each act: "reply" is how long the page's code keeps the browser from the next frame after a
// press or a key at most, "task" the longest task of the main thread until the page is at rest; milliseconds of the processor.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { traced } from "./tracing.mjs";

const [, , executablePath] = process.argv;
const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));
const MOVES = 60;

/** Move the pointer across an element, with a button down or not. */
async function across(page, selector, isDrag) {
  const { x, y, width, height } = await page.locator(selector).boundingBox();
  const at = (part) => page.mouse.move(x + width * (0.2 + 0.6 * part), y + height * (isDrag ? 0.5 : 0.1 + 0.6 * part));
  await at(0);
  if (isDrag) await page.mouse.down();
  for (let move = 1; move <= MOVES; move += 1) await at(move / MOVES);
  if (isDrag) await page.mouse.up();
}

/** By name: the view to begin with, and what is done there. */
const ACTS = {
  "hover": ["", (page) => across(page, "#canvas", false)],
  "zoom": ["", (page) => page.locator("#canvas").click({ position: { x: 300, y: 70 } })],
  "function": ["", (page) => page.click("#rows button >> nth=2")],
  "sort": ["", (page) => page.click("th button[data-sort=total]")],
  "call tree": ["", (page) => page.click("#tree")],
  "object": ["", (page) => page.click("#legend button")],
  "search": ["", (page) => page.locator("#search").pressSequentially("fun", { delay: 100 })],
  "bottom up": ["", (page) => page.click("[data-order=bottom]")],
  "over time": ["", (page) => page.click("[data-order=time]")],
  "drag a range": ["#order=time", (page) => across(page, "#canvas", true)],
  "drag below": ["", (page) => across(page, "#overview", true)],
  "drag bursts": ["#bursts=on", (page) => across(page, "#heat", true)],
};
const PRESSES = new Set(["click", "pointerdown", "pointerup", "pointermove", "keydown", "input"]);

const longest = (some) => Math.max(0, ...some.map(({ tdur = 0 }) => tdur / 1000));

function costs(events) {
  const { pid, tid } = events.find(({ name }) => name === "EventDispatch");
  const own = events.filter((one) => one.ph === "X" && one.pid === pid && one.tid === tid);
  return {
    reply: longest(own.filter(({ name, args }) => name === "EventDispatch" && PRESSES.has(args.data.type))),
    task: longest(own.filter(({ name }) => name === "ThreadControllerImpl::RunTask")),
  };
}

async function run(browser, { file }) {
  const told = {};
  for (const [name, [hash, act]] of Object.entries(ACTS)) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
    await page.goto(pathToFileURL(path.resolve(file)).href + hash);
    await page.waitForFunction(() => typeof layout !== "undefined" && layout && !waiting, null, { timeout: 120_000 });
    await page.waitForTimeout(500);
    const devices = await page.context().newCDPSession(page);
    const isThere = await page.evaluate("Boolean(bursts && profile.moments)");
    if (isThere || !hash) {
      told[name] = costs(await traced(devices, ["toplevel", "devtools.timeline"], async () => {
        await act(page);
        await page.waitForTimeout(500);
        await page.waitForFunction(() => !waiting && !rowsToCome.length, null, { timeout: 60_000 });
      }));
    }
    await page.close();
  }
  return told;
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--no-first-run", "--disable-background-networking"] });
const told = [];
for (const page of JSON.parse(fs.readFileSync(0, "utf8"))) told.push(await run(browser, page));
await browser.close();
process.stdout.write(JSON.stringify(told));
