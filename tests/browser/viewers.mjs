// Opens files in real viewers and tells, as JSON on standard output, what they show.
//
//   node viewers.mjs CHROMIUM SPEEDSCOPE_RELEASE_DIR
//
// A line is {"jobs", "shots": folder, "scale": pixels for one of the page's}.
// A job is {"viewer": "page" | "speedscope", "file": …, "steps": [["key", "o"], ["click", x, y], ["down", selector, share of width, of height], …], "shot": name}.
// Everything is served from loopback or opened from disk; requests to anywhere else are refused and reported.
// A line's jobs of a viewer share one page, which rests on about:blank between them: a page of its own costs a job a process.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { answer } from "./answering.mjs";
import { serve } from "./local_server.mjs";

const [, , executablePath, speedscope] = process.argv;
const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));

const READY = () => typeof layout !== "undefined" && layout && gliding === 0 && !waiting; // scripts are unpacked after the page has loaded, then the data
const held = new Set();

async function step(page, [kind, ...words]) {
  if (kind === "key") await page.keyboard.press(words[0]);
  if (kind === "type") await page.keyboard.type(words[0]);
  if (kind === "click") await page.mouse.click(...words);
  if (kind === "move") await page.mouse.move(...words);
  if (kind === "focus") await page.focus(words[0]);
  if (kind === "down" || kind === "up") {
    const place = await page.locator(words[0]).boundingBox();
    await page.mouse.move(place.x + words[1] * place.width, place.y + words[2] * place.height);
    await page.mouse[kind]();
  }
  if (kind === "thread") {
    await page.click("#thread");
    await page.keyboard.type(words[0]);
    await page.keyboard.press("Enter");
  }
  if (kind === "wheel") await page.mouse.wheel(...words);
  if (kind === "hold") {
    await page.keyboard.down(words[0]);
    held.add(words[0]);
  }
  if (kind === "release") await page.keyboard.up(words[0]);
  if (kind === "fingers") await fingers(page, words);
  if (kind === "choose") await page.selectOption(words[0], words[1]);
  if (kind === "leave") await Promise.all([page.waitForNavigation(), page.selectOption(words[0], words[1])]);
  if (kind === "press") await page.click(words[0]);
  if (kind === "back") await page.goBack();
  if (kind === "reload") await page.reload();
  if (kind === "forward") await page.goForward();
  if (kind === "run") await page.evaluate(words[0]);
}

/** Moves fingers on the screen: each place is where they all are, [[x, y], …]; then they leave. */
async function fingers(page, places) {
  const devices = await page.context().newCDPSession(page);
  const touch = (type, points) => devices.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  await touch("touchStart", places[0]);
  for (const place of places.slice(1)) await touch("touchMove", place);
  await touch("touchEnd", []);
}

/** Waits until what a step asked for is on screen. Speedscope's only step leads to its table, whose rows come last. */
async function settled(page, viewer, words) {
  if (viewer === "page") await page.waitForFunction(READY, null, { polling: 10, timeout: 20000 });
  else {
    while (!(await page.evaluate("/Symbol Name\\s+\\S/.test(document.body.innerText)"))) {
      await page.waitForTimeout(350);
      await step(page, words);
    }
  }
}

/** What axe-core finds on the page, a line for each kind of trouble. */
async function complaints(page) {
  await page.evaluate(fs.readFileSync("node_modules/axe-core/axe.min.js", "utf8"));
  const { violations } = await page.evaluate("axe.run({ resultTypes: ['violations'] })");
  return violations.map(({ impact, id, nodes }) => `${impact} ${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** A page of a browser; what it says and asks for goes to the job that is on. */
async function open(browser, origin, scale) {
  const view = { page: await browser.newPage({ deviceScaleFactor: scale }), told: null };
  view.page.on("console", (message) => view.told.console.push(message.text()));
  view.page.on("pageerror", (error) => view.told.errors.push(String(error)));
  await view.page.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith(origin) || /^(file|data|blob):/.test(url)) return route.continue();
    view.told.outside.push(url);
    return route.abort();
  });
  return view;
}

/** Leaves what a job before has opened, and lets go of its keys and of the mouse. */
async function rest(page) {
  await page.goto("about:blank");
  for (const key of held) await page.keyboard.up(key);
  held.clear();
  await page.mouse.up();
  await page.mouse.move(0, 0);
}

async function run(view, origin, job, shots) {
  const { page } = view;
  await rest(page);
  await page.setViewportSize(job.size || { width: 1280, height: 760 });
  await page.emulateMedia({ colorScheme: job.scheme || "light", reducedMotion: job.motion || "no-preference" });
  view.told = { console: [], errors: [], outside: [] };
  const { told } = view;
  if (job.viewer === "speedscope") {
    await page.goto(origin);
    await page.setInputFiles("input[type=file]", job.file);
    await page.waitForFunction(() => document.body.innerText.includes("Left Heavy"), null, { timeout: 20000 });
  } else {
    await page.goto(pathToFileURL(path.resolve(job.file)).href + (job.hash || ""));
    await settled(page, job.viewer);
  }
  for (const one of job.steps || []) {
    await step(page, one);
    await settled(page, job.viewer, one);
  }
  told.title = await page.title();
  told.text = await page.evaluate(() => document.body.innerText);
  if (job.axe) told.complaints = await complaints(page);
  if (job.evaluate) told.value = await page.evaluate(job.evaluate);
  if (job.shot) await page.screenshot({ path: path.join(shots, job.shot) });
  return told;
}

const ARGUMENTS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const DRAWING = { page: ["--disable-gpu"], speedscope: ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] }; // Speedscope draws with WebGL
const server = await serve(speedscope);
const origin = `http://127.0.0.1:${server.address().port}/`;
const browsers = {};
await answer(async ({ jobs, shots, scale }) => {
  const views = {};
  const told = [];
  for (const job of jobs) {
    browsers[job.viewer] ||= await chromium.launch({ executablePath, args: [...ARGUMENTS, ...DRAWING[job.viewer]] });
    views[job.viewer] ||= await open(browsers[job.viewer], origin, scale);
    told.push(await run(views[job.viewer], origin, job, shots));
  }
  for (const { page } of Object.values(views)) await page.close();
  return told;
});
for (const browser of Object.values(browsers)) await browser.close();
server.close();
