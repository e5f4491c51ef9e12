"use strict";
// Keys, pointer and buttons.

function localTheme() {
  try {
    if (localStorage.theme) return localStorage.theme;
  } catch {} // pages that may not store anything
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  colours.use(state.colour, theme === "dark");
  forgetColours();
}

function switchTheme() {
  applyTheme(isDark() ? "light" : "dark");
  try {
    localStorage.theme = document.documentElement.dataset.theme;
  } catch {}
  showLegend();
  showBursts();
  repaint();
}

function choose(kind, value) {
  if (value === "time" && !hasTimes()) {
    say(profile.noMoments);
    return;
  }
  state[kind] = value;
  if (kind === "event" && !haveSamples(value)) state.thread = "merged";
  if (kind === "colour") {
    applyTheme(document.documentElement.dataset.theme);
    search();
    showButtons();
    showLegend();
    showTable();
    repaint();
    steps.remember();
    return;
  }
  if (kind === "order") state.function = "";
  rebuild();
}

function listen() {
  for (const button of document.querySelectorAll(CHOICES)) {
    const [[kind, value]] = Object.entries(button.dataset);
    button.onclick = () => choose(kind, value);
  }
  for (const button of document.querySelectorAll("th button")) {
    button.onclick = () => {
      state.sort = button.dataset.sort;
      showTable();
      steps.remember();
    };
  }
  listenToThreads();
  $("search").oninput = () => {
    state.search = $("search").value;
    searched();
  };
  $("skip").onclick = () => $("canvas").focus();
  $("regex").onclick = () => {
    state.regex = state.regex === "on" ? "off" : "on";
    searched();
  };
  listenToMenu();
  $("tree").hidden = comparison !== null;
  $("tree").onclick = () => {
    state.tree = state.tree === "on" ? "off" : "on";
    showTable();
    steps.remember();
  };
  $("reset").onclick = zoomOut;
  $("theme").onclick = switchTheme;
  $("help").onclick = () => $("keys").showModal();
  $("toggle").onclick = togglePanel;
  $("side").hidden = innerWidth < 1000;
  $("scroll").onscroll = () => {
    hideTip();
    repaint();
  };
  $("rows").onkeydown = onRowKey;
  addEventListener("resize", resize);
  listenToPointer($("canvas"));
  listenToBursts();
  listenToOverview();
  listenToGrip();
  listenToSharing();
  listenToRuler($("ruler"));
  addEventListener("keydown", onKey);
  addEventListener("keyup", onRangeKeyUp);
}

/** Arrows, or a pointer, change the width of the panel; on phones, its height. */
function listenToGrip() {
  const [grip, side] = [$("grip"), $("side")];
  const place = (event) => {
    const { right, bottom, width, height } = side.parentElement.getBoundingClientRect();
    return 100 * (isSheet() ? (bottom - event.clientY) / height : (right - event.clientX) / width);
  };
  const size = (share) => {
    side.style.flexBasis = `${Math.max(10, Math.min(share, 85))}%`;
    resize();
  };
  grip.onpointerdown = (event) => grip.setPointerCapture(event.pointerId);
  grip.onpointermove = (event) => grip.hasPointerCapture(event.pointerId) && size(place(event));
  grip.onkeydown = (event) => {
    const step = { ArrowLeft: 2, ArrowUp: 2, ArrowRight: -2, ArrowDown: -2, Home: -100, End: 100 }[event.key];
    if (!step) return;
    size(panelShare() + step);
    event.preventDefault();
    event.stopPropagation();
  };
}

const isSheet = () => $("side").offsetLeft === 0;

/** The panel's width in percent of the window. */
function panelShare() {
  const side = $("side");
  const { clientWidth, clientHeight } = side.parentElement;
  return Math.round(isSheet() ? (100 * side.offsetHeight) / clientHeight : (100 * side.offsetWidth) / clientWidth);
}

function togglePanel() {
  $("side").hidden = !$("side").hidden;
  showButtons();
  resize();
}

/** The box under the pointer, −1 for none. */
function boxAt(event) {
  const place = $("canvas").getBoundingClientRect();
  const level = (event.clientY - place.top + $("scroll").scrollTop - baseLine()) / LEVEL;
  for (let lane = 0; lane < layout.lanes.length; lane += 1) {
    const { top, levels, side, grows } = layout.lanes[lane];
    const down = Math.floor(level - top);
    if (down < 0 || down >= levels.length) continue;
    painter.side = side;
    return layout.find(lane, grows === "up" || (state.direction === "flame" && !grows) ? levels.length - 1 - down : down, painter.value(event.clientX - place.left));
  }
  return -1;
}

function listenToPointer(canvas) {
  let drag = null;
  const fingers = new Map(); // where each finger touched, and what was in sight
  const placeOf = (event) => ({ x: event.clientX - canvas.getBoundingClientRect().left, value: timeAt(event) });
  canvas.onpointerdown = (event) => {
    boxAt(event);
    fingers.set(event.pointerId, placeOf(event));
    drag = { x: event.clientX, from: painter.from, to: painter.to, moved: fingers.size > 1, range: drawsRange(event) ? [timeAt(event), state.range] : null };
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    if (drag && Math.abs(event.clientX - drag.x) > 4) drag.moved = true;
    if (fingers.size === 2) {
      fingers.get(event.pointerId).x = placeOf(event).x;
      moveTo(...pinched([...fingers.values()], painter.width));
    } else if (!drag || !drag.moved) showTip(event);
    else if (drag.range) proposeRange(drag.range[0], timeAt(event));
    else dragTo(drag, event.clientX);
  };
  canvas.onpointerup = (event) => {
    const done = drag;
    drag = null;
    fingers.delete(event.pointerId);
    if (!done || fingers.size) return;
    if (done.moved) {
      if (isProposed) chooseRange();
      else steps.remember("move");
      return;
    }
    const [box, lane] = [boxAt(event), layout.isTime && laneAt(event)];
    if (lane) toggleLane(lane.track);
    else if (box >= 0) zoomTo(box);
    else zoomOut();
  };
  canvas.onpointercancel = (event) => {
    fingers.delete(event.pointerId);
    if (isProposed) [, state.range] = drag.range;
    if (isProposed) chooseRange();
    drag = null;
  };
  canvas.onpointerleave = () => {
    hideTip();
    if (!isProposed) showStatus(selected);
    repaint();
  };
  canvas.addEventListener("wheel", onWheel, { passive: false });
}

function dragTo(drag, x) {
  const moved = ((x - drag.x) / painter.width) * (drag.to - drag.from);
  moveTo(drag.from - moved, drag.to - moved);
}

/** Zoom if there is nothing to scroll, and with Ctrl, which a pinch on a touchpad sends; sideways, move. */
function onWheel(event) {
  const { scrollHeight, clientHeight } = $("scroll");
  const pixels = event.deltaMode ? LEVEL : 1; // some browsers count in lines
  const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
  const isZoom = event.ctrlKey || event.metaKey || (!sideways && scrollHeight <= clientHeight);
  if (!isZoom && !sideways) return;
  event.preventDefault();
  boxAt(event);
  if (isZoom) zoomBy(Math.exp(event.deltaY * pixels * 0.003), event.clientX - $("canvas").getBoundingClientRect().left);
  else panBy((sideways * pixels) / painter.width);
}

/** Hide the tooltip: its box is no longer under the pointer. */
function hideTip() {
  hovered = -1;
  $("tip").hidden = true;
}

function showTip(event) {
  const box = boxAt(event);
  const tip = $("tip");
  if (box !== hovered) {
    hovered = box;
    repaint();
    if (box >= 0) {
      showStatus(box);
      const frame = layout.frameOf(box);
      const about = frame < 0 ? [] : [make("span", { className: "about" }, describe(frame))];
      tip.replaceChildren(make("b", {}, frameName(box)), ...sizes(box).map((line) => make("span", {}, line)), ...about);
    }
  }
  const lane = box < 0 && layout.isTime && laneAt(event);
  if (lane && lane.use) tip.replaceChildren(make("b", {}, lane.label), ...laneLines(lane, event.clientX - $("canvas").getBoundingClientRect().left).map((line) => make("span", {}, line)));
  tip.hidden = box < 0 && !lane;
  if (tip.hidden) return;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18}px`;
}

const KEYS = {
  "/": () => $("search").select(),
  "?": () => $("keys").showModal(),
  Escape: stepOut, Backspace: stepOut,
  Enter: () => selected >= 0 && zoomTo(selected),
  o: () => choose("order", { heavy: hasTimes() ? "time" : "bottom", time: "bottom", bottom: "heavy" }[state.order]),
  u: () => choose("order", state.order === "bottom" ? "heavy" : "bottom"),
  x: withFunction(openFunction),
  k: withFunction((key) => addEdit("focus", key)),
  i: withFunction((key) => addEdit("hide", key)),
  r: withFunction((key) => callsItself(key) && addEdit("fold", key)),
  y: withFunction(() => selected >= 0 && copy(stackText(), $("acts").lastChild)),
  f: () => choose("direction", state.direction === "icicle" ? "flame" : "icicle"),
  c: () => choose("colour", { change: "own", own: "object", object: "mode", mode: "name", name: comparison ? "change" : profile.rows.off ? "cpu" : "object", cpu: "object" }[state.colour]),
  b: () => comparison && choose("shown", state.shown === "after" ? "before" : "after"),
  n: () => comparison && choose("scale", state.scale === "absolute" ? "shares" : "absolute"),
  v: () => choose("weight", { value: "count", count: profile.rows.latency ? "latency" : "value", latency: "value" }[state.weight]),
  e: () => layout.isTime && showLanes(layoutTracks.some(isOpenLane) ? "" : layoutTracks.join("_")),
  l: togglePanel,
  h: toggleBursts,
  t: switchTheme,
  w: () => zoomBy(0.7, painter.width / 2), s: () => zoomBy(1.4, painter.width / 2),
  a: () => panBy(-0.2), d: () => panBy(0.2),
  "[": () => stepThread(-1), "]": () => stepThread(1),
  ArrowDown: () => walk(below),
  ArrowUp: () => walk(above),
  ArrowLeft: () => walk((box) => beside(box, -1)),
  ArrowRight: () => walk((box) => beside(box, 1)),
  Home: () => walk((box) => beside(box, -Infinity)),
  End: () => walk((box) => beside(box, Infinity)),
  PageDown: () => walk(below, 10),
  PageUp: () => walk(above, 10),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector(":is(dialog[open], :popover-open)") || $("code").contains(event.target)) return;
  const typing = event.target.matches("input, select");
  if (typing) {
    if (event.key === "Escape") $("canvas").focus();
    if (event.key === "Enter" && event.target === $("search")) goToMatch(event.shiftKey ? -1 : 1);
    return;
  }
  if (event.key === "Enter" && event.target !== $("canvas")) return;
  if (onRangeKey(event) || onGroupKey(event)) return;
  const action = KEYS[event.key];
  if (!action) return;
  hideTip();
  event.preventDefault();
  action();
}

/** Select the box that a step leads to, repeating the step up to a number of times, and bring it into view. */
function walk(step, times = 1) {
  let next = selected < 0 ? (layout.has(0) ? 0 : -1) : step(selected);
  if (next < 0) return;
  for (let more = 1, on = step(next); more < times && on >= 0; more += 1, on = step(next)) next = on;
  bringIntoView(next);
}

/** Select a box, and bring it into view. */
function bringIntoView(next) {
  select(next);
  if (layout.end[next] <= painter.from || layout.start[next] >= painter.to) goTo(layout.start[next], layout.end[next], "walk");
  else steps.rememberSoon("walk");
  const top = painter.y(layout.lane[next], layout.depth[next]);
  const scroll = $("scroll");
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  if (top + LEVEL > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + LEVEL - scroll.clientHeight;
}

/** Whether callees are drawn above. */
function growsUp(box) {
  const { grows } = laneOf(box);
  return grows ? grows === "up" : state.direction === "flame";
}

const above = (box) => (growsUp(box) ? inner(box) : outer(box));
const below = (box) => (growsUp(box) ? outer(box) : inner(box));

/** The caller's box; callers and callees meet at the function, which is on both sides. */
function outer(box) {
  if (layout.up[box] >= 0 || !layout.isSandwich) return layout.up[box];
  const [root] = layout.lanes[1 - layout.lane[box]].levels[0];
  return root;
}

function inner(box) {
  const level = laneOf(box).levels[layout.depth[box] + 1] || [];
  let best = -1;
  for (let at = layout.firstAfter(level, layout.start[box]); at < level.length && layout.start[level[at]] < layout.end[box]; at += 1) {
    if (best < 0 || sizeOf(level[at]) > sizeOf(best)) best = level[at];
  }
  return best;
}

function beside(box, step) {
  const level = laneOf(box).levels[layout.depth[box]];
  const at = layout.firstAfter(level, layout.start[box]);
  const to = Number.isFinite(step) ? at + step : step < 0 ? 0 : level.length - 1;
  return level[to] === undefined ? -1 : level[to];
}

queueMicrotask(start); // when the scripts below have run: Firefox looks for their variables before it waits
