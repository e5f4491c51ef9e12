"use strict";
// Zoom, search and details of the picture. It is complete without them: this script only moves, marks and relabels its boxes.
// Names reach the page only as text nodes.
(() => {
  /** @typedef {{g: SVGGElement, rect: Element, label: Element | null, start: number, total: number, level: number, names: string[], said: string, isShown: boolean}} Box */

  const svg = /** @type {SVGSVGElement} */ (/** @type {Element} */ (document.currentScript).closest("svg"));
  const isAlone = document.documentElement === /** @type {Element} */ (svg);
  const [field, head] = ["b", "head"].map((name) => /** @type {SVGGElement} */ (svg.querySelector(`g.${name}`)));
  const facts = /** @type {Element} */ (head.querySelector(".s"));
  const [SIDE, LEVEL, TOP, NARROW, ROW] = [10, 17, 46, 640, 30];
  const HEIGHT = Number(svg.getAttribute("height"));
  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
  const said = facts.textContent || "";
  const boxes = [...field.children].map(readBox);
  const boxOfElement = new Map(boxes.map((box) => [/** @type {Element | null} */ (box.g), box]));
  const all = boxes[0];
  let width = Number(svg.getAttribute("width"));
  let zoomed = all;
  /** @type {((name: string) => boolean) | null} */
  let matches = null;

  /** @param {Element} g @returns {Box} */
  function readBox(g) {
    const [title, rect, label] = g.children;
    const [start, total] = (g.getAttribute("data-at") || "").split(" ").map(Number);
    const lines = (title.textContent || "").split("\n");
    const level = Math.abs(Number(rect.getAttribute("y")) - Number(field.children[0].children[1].getAttribute("y"))) / LEVEL;
    return { g: /** @type {SVGGElement} */ (g), rect, label: label || null, start, total, level, names: lines.slice(0, -1), said: lines[lines.length - 1], isShown: true };
  }

  /** @param {string} name @param {Record<string, string>} [attributes] @returns {Element} */
  function make(name, attributes = {}) {
    const isHtml = ["div", "input", "button", "output"].includes(name);
    const made = document.createElementNS(isHtml ? "http://www.w3.org/1999/xhtml" : "http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  /** The width of a letter in this machine's font, in pixels. */
  function measuredLetter() {
    const sample = /** @type {SVGTextElement} */ (make("text"));
    sample.textContent = "m".repeat(50);
    svg.append(sample);
    const length = sample.getComputedTextLength() / 50;
    sample.remove();
    return length || 6.62;
  }

  const letter = measuredLetter();

  /** The text, or its beginning, in at most `room` pixels; "" if three letters do not fit. @param {string} text @param {number} room */
  function fitted(text, room) {
    const cells = Math.floor(room / letter);
    if (cells < 3) return "";
    let [cellsUsed, end, fits] = [0, 0, 0];
    for (const character of text) {
      cellsUsed += WIDE.test(character) ? 2 : 1;
      if (cellsUsed > cells) return `${text.slice(0, fits)}…`;
      end += character.length;
      if (cellsUsed < cells) fits = end;
    }
    return text;
  }

  /** @param {Box} outer @param {Box} inner */
  function holds(outer, inner) {
    return outer.level <= inner.level && outer.start <= inner.start && inner.start + inner.total <= outer.start + outer.total;
  }

  /** @param {Box} box @param {number} x @param {number} size */
  function place(box, x, size) {
    box.rect.setAttribute("x", x.toFixed(1));
    box.rect.setAttribute("width", Math.max(size, 0.3).toFixed(1));
    const text = fitted(box.names[0], size - 6);
    if (!text && !box.label) return;
    if (!box.label) {
      box.label = make("text", { y: String(Number(box.rect.getAttribute("y")) + 12) });
      box.g.append(box.label);
    }
    box.label.textContent = text;
    box.label.setAttribute("x", (x + 3).toFixed(1));
  }

  function draw() {
    const scale = (width - 2 * SIDE) / Math.max(zoomed.total, 1);
    for (const box of boxes) {
      const isInner = holds(zoomed, box);
      const isOuter = !isInner && holds(box, zoomed);
      box.g.setAttribute("class", `${isOuter ? "outer" : ""}${matches && box !== all && box.names.some(matches) ? " m" : ""}`);
      box.isShown = isInner || isOuter;
      box.g.setAttribute("display", box.isShown ? "inline" : "none");
      if (isInner) place(box, SIDE + (box.start - zoomed.start) * scale, box.total * scale - 0.5);
      else if (isOuter) place(box, SIDE, width - 2 * SIDE - 0.5);
    }
    reset.disabled = zoomed === all;
    matched.textContent = matches ? `${percent(sumOfMatches(), zoomed.total)} matched` : "";
  }

  /** @param {number} part @param {number} whole */
  function percent(part, whole) {
    return `${((100 * part) / Math.max(whole, 1)).toFixed(2)} %`;
  }

  /** The share of matching boxes in the zoomed one; nested matches count once. */
  function sumOfMatches() {
    const found = boxes.filter((box) => box.isShown && box.g.matches(".m"));
    if (found.some((box) => box.level < zoomed.level)) return zoomed.total;
    found.sort((one, other) => one.start - other.start || one.level - other.level);
    let [sum, end] = [0, -1];
    for (const box of found) {
      if (box.start < end) continue;
      sum += box.total;
      end = box.start + box.total;
    }
    return sum;
  }

  // ---- the bar above the boxes, which stays visible

  const controls = make("foreignObject", { height: "28" });
  const line = make("div", { class: "c" });
  const matched = make("output", { "aria-label": "Share of matches", title: "share of the matching boxes in what is shown" });
  const input = /** @type {HTMLInputElement} */ (make("input", { type: "search", placeholder: "Search (/)", "aria-label": "Search for functions, by a regular expression" }));
  const reset = /** @type {HTMLButtonElement} */ (make("button", { type: "button", title: "(Escape)" }));
  reset.textContent = "Reset zoom";
  line.append(matched, input, reset);
  controls.append(line);

  /** Use the window's width if the picture is the whole page. */
  function resize() {
    if (isAlone) width = Math.max(Math.floor(svg.clientWidth && window.visualViewport ? window.visualViewport.width * window.visualViewport.scale : innerWidth), 200);
    const below = width < NARROW ? ROW : 0;
    for (const [key, value] of [["width", width], ["height", HEIGHT + below]]) svg.setAttribute(String(key), String(value));
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT + below}`);
    field.setAttribute("transform", `translate(0 ${below})`);
    head.children[0].setAttribute("height", String(TOP - 2 + below));
    controls.setAttribute("x", String(below ? SIDE : width - 390));
    controls.setAttribute("y", String(below ? TOP - 2 : 4));
    controls.setAttribute("width", String(below ? width - 2 * SIDE : 380));
    draw();
    follow();
  }

  function follow() {
    if (isAlone) head.setAttribute("transform", `translate(0 ${scrollY})`);
  }

  /** Describe a box or, for null, the picture. @param {Box | null} box */
  function tell(box) {
    if (!box) facts.textContent = said;
    else facts.textContent = `${box.said}${zoomed === all ? "" : `, ${percent(Math.min(box.total, zoomed.total), zoomed.total)} of what is shown`} · ${box.names[box.names.length - 1]}`;
  }

  // ---- zoom and search, kept in the address

  /** @param {Box} box */
  function zoomTo(box) {
    zoomed = box;
    draw();
    remember("pushState");
  }

  function find() {
    const text = input.value;
    matches = text ? matcher(text) : null;
    draw();
  }

  /** A regular expression, or plain text if it is not a valid one; capitals make it case-sensitive. @param {string} text @returns {(name: string) => boolean} */
  function matcher(text) {
    try {
      const pattern = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
      return (name) => pattern.test(name);
    } catch {
      return (name) => name.toLowerCase().includes(text.toLowerCase());
    }
  }

  /** @param {"pushState" | "replaceState"} how */
  function remember(how) {
    const words = new URLSearchParams();
    if (zoomed !== all) words.set("box", String(boxes.indexOf(zoomed)));
    if (input.value) words.set("search", input.value);
    try {
      history[how](null, "", `#${words}`);
    } catch {
      // a frame without an address of its own still keeps the view
    }
  }

  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    zoomed = boxes[Number(words.get("box"))] || all;
    input.value = words.get("search") || "";
    find();
  }

  // ---- pointer and keys

  /** @param {Event} event @returns {Box | null} */
  function boxOf(event) {
    return boxOfElement.get(/** @type {Element} */ (event.target).closest("[data-at]")) || null;
  }

  /** The next box in a direction: the widest callee, the caller, or a neighbour. @param {Box} from @param {string} key @returns {Box | undefined} */
  function beside(from, key) {
    const shown = boxes.filter((box) => box.isShown);
    const isFlame = boxes.length > 1 && Number(boxes[1].rect.getAttribute("y")) < Number(all.rect.getAttribute("y"));
    if (key === (isFlame ? "ArrowDown" : "ArrowUp")) return shown.find((box) => box.level === from.level - 1 && holds(box, from));
    if (key === "ArrowUp" || key === "ArrowDown") {
      const inner = shown.filter((box) => box.level === from.level + 1 && holds(from, box));
      return inner.reduce((/** @type {Box | undefined} */ best, box) => (best && best.total >= box.total ? best : box), undefined);
    }
    const level = shown.filter((box) => box.level === from.level).sort((one, other) => one.start - other.start);
    return level[level.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
  }

  /** @param {Box} box */
  function focus(box) {
    for (const old of field.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
    box.g.setAttribute("tabindex", "0");
    box.g.focus();
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const isFind = event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey));
    if (event.target === input) {
      if (event.key === "Escape" || event.key === "Enter") focus(zoomed);
      return;
    }
    if (event.altKey || ((event.ctrlKey || event.metaKey) && !isFind)) return;
    const box = boxOf(event);
    const next = event.key.startsWith("Arrow") && beside(box || zoomed, event.key);
    if (isFind) input.select();
    else if (event.key === "Escape") zoomTo(all);
    else if (box && (event.key === "Enter" || event.key === " ")) zoomTo(box);
    else if (next) focus(next);
    else return;
    event.preventDefault();
  }

  function begin() {
    svg.classList.add("live");
    svg.setAttribute("role", "group");
    facts.setAttribute("role", "status");
    head.append(controls);
    for (const box of boxes) {
      box.g.setAttribute("role", "button");
      box.g.setAttribute("tabindex", box === all ? "0" : "-1");
    }
    input.oninput = () => {
      find();
      remember("replaceState");
    };
    reset.onclick = () => zoomTo(all);
    field.addEventListener("click", (event) => {
      const box = boxOf(event);
      if (box) zoomTo(box);
    });
    for (const kind of ["pointerover", "focusin"]) field.addEventListener(kind, (event) => tell(boxOf(event)));
    for (const kind of ["pointerleave", "focusout"]) field.addEventListener(kind, () => tell(null));
    addEventListener("keydown", onKey);
    addEventListener("hashchange", recall);
    addEventListener("popstate", recall);
    addEventListener("resize", resize);
    addEventListener("scroll", follow);
    recall();
    resize();
    if (isAlone && Number(all.rect.getAttribute("y")) > TOP) scrollTo(0, HEIGHT);
  }

  if (all) begin();
})();
