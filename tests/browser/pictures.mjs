// Opens SVG pictures in Chromium and tells, as JSON on standard output, what they show after each step.
//
//   node pictures.mjs CHROMIUM < jobs.json
//
// A job is {"file": …, "size": {width, height}, "steps": [["key", "/"], ["type", "word"], ["click", name], ["back"]], "inside": "img"}.
// Requests for anything but the file are refused and reported.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = await import(pathToFileURL(path.resolve("node_modules/playwright-core/index.mjs")));
const browser = await chromium.launch({
  executablePath: process.argv[2],
  args: ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** What a reader sees: boxes by name with their widths, the bar, the box with the focus. */
function look() {
  // oxlint-disable-next-line unicorn/consistent-function-scoping -- look() is sent to the page as a whole
  const name = (group) => group.querySelector("title").textContent.split("\n")[0];
  const shown = [...document.querySelectorAll("[data-at]")].filter((group) => group.getBoundingClientRect().width > 0);
  // oxlint-disable-next-line unicorn/consistent-function-scoping
  const isOver = (group) => {
    const label = group.querySelector("text");
    const [words, room] = [label?.getBBox(), group.querySelector("rect").getBBox()];
    return label?.textContent && words.x + words.width > room.x + room.width;
  };
  return {
    boxes: Object.fromEntries(shown.map((group) => [name(group), Math.round(group.querySelector("rect").getBBox().width)])),
    labels: Object.fromEntries(shown.map((group) => [name(group), group.querySelector("text")?.textContent || ""])),
    over: shown.filter(isOver).map(name),
    marked: shown.filter((group) => group.matches(".m")).map(name),
    faded: shown.filter((group) => group.matches(".outer")).map(name),
    said: document.querySelector(".s").textContent,
    matched: document.querySelector("output")?.textContent,
    focus: document.activeElement?.matches("[data-at]") ? name(document.activeElement) : document.activeElement?.localName,
    width: document.documentElement.scrollWidth,
    hash: decodeURIComponent(location.hash),
    ran: "ran" in window,
  };
}

async function step(page, [kind, word]) {
  if (kind === "key") await page.keyboard.press(word);
  if (kind === "type") await page.keyboard.type(word);
  if (kind === "back") await page.goBack();
  if (kind === "click" || kind === "hover") await page.locator("[data-at]").filter({ hasText: new RegExp(`^${word}`) }).locator("rect")[kind]();
}

/** One page for all jobs: each has its own address, listeners write to the job's answer. */
const page = await browser.newPage();
let [told, address] = [null, ""];
page.on("pageerror", (error) => told.errors.push(String(error)));
await page.route("**/*", (route) => {
  if (route.request().url().split("#")[0] === address || /^(data|about):/.test(route.request().url())) return route.continue();
  told.outside.push(route.request().url());
  return route.abort();
});

async function run(job) {
  [told, address] = [{ errors: [], outside: [], views: [] }, pathToFileURL(path.resolve(job.file)).href];
  await page.setViewportSize(job.size || { width: 1280, height: 760 });
  await page.emulateMedia({ colorScheme: job.scheme || "light" });
  await page.goto("about:blank");
  if (job.inside === "img") {
    // a page around the picture, as on a code host
    await page.setContent(`<img alt="" src="data:image/svg+xml;base64,${fs.readFileSync(job.file).toString("base64")}">`);
    told.size = await page.evaluate(() => document.images[0].decode().then(() => [document.images[0].naturalWidth, document.images[0].naturalHeight]));
    return told;
  }
  await page.goto(address + (job.hash || ""));
  told.views.push(await page.evaluate(look));
  for (const one of job.steps || []) {
    await step(page, one);
    told.views.push(await page.evaluate(look));
  }
  return told;
}

const answers = [];
for (const job of JSON.parse(fs.readFileSync(0, "utf8"))) answers.push(await run(job));
await browser.close();
process.stdout.write(JSON.stringify(answers));
