// Run inside the page: chooses views, selects boxes, moves the pointer over them, and reads every number from the document.
((orders, keys, wanted) => {
  const textOf = (id) => $(id).textContent;
  const boxes = (key) => [...Array(layout.size).keys()].filter((box) => layout.has(box) && layout.frameOf(box) >= 0 && profile.functionKey(layout.frameOf(box)) === key);
  const widest = (key) => boxes(key).sort((a, b) => sizeOf(b) - sizeOf(a) || a - b)[0];
  const stack = (box) => {
    const names = [];
    for (let at = box; at >= 0; at = layout.up[at]) if (layout.frameOf(at) >= 0) names.unshift(profile.names[layout.frameOf(at)]);
    return names;
  };
  const plain = (names) => names.every((name) => profile.names.indexOf(name) === profile.names.lastIndexOf(name));

  /** What panel, tooltip and status line say of a box. */
  const told = (box) => {
    select(box);
    const lane = layout.lane[box];
    painter.side = layout.lanes[lane].side;
    moveTo(layout.start[box], layout.end[box]);
    painter.paint(view());
    $("scroll").scrollTop = painter.y(lane, layout.depth[box]);
    const place = $("canvas").getBoundingClientRect();
    hideTip();
    showTip({ clientX: place.left + 5, clientY: place.top + painter.y(lane, layout.depth[box]) - $("scroll").scrollTop + LEVEL / 2 });
    return {
      name: frameName(box), key: profile.functionKey(layout.frameOf(box)), path: stack(box), plain: plain(stack(box)), thread: layout.lanes[lane].label, side: layout.isSandwich ? lane : -1,
      panel: [...document.querySelectorAll("#detail .bars > span")].map((one) => one.textContent),
      tip: [...$("tip").children].filter((one) => one.localName === "span" && one.className !== "about").map((one) => one.textContent),
      status: textOf("status"), about: describe(layout.frameOf(box)), share: [...document.querySelectorAll("#detail .bars i")].map((one) => parseFloat(one.style.width)),
    };
  };
  const row = (key) => {
    haveAllRows();
    const found = [...$("rows").rows].find((one) => one.querySelector("button").dataset.name === key);
    return found && [...[...found.cells].slice(1).map((cell) => cell.textContent), found.title];
  };
  const legend = () => textOf("legend") && [...$("legend").children].map((one) => one.textContent);

  /** What the heat map says of its cells one by one, with the time of each; of all of them, and of its rows. */
  const heatMap = () => {
    const { range } = state;
    state.range = null;
    const filled = [...heat.cells.keys()].filter((cell) => heat.cells[cell]);
    const single = [0, 0.3, 0.6, 1].map((part) => filled[Math.floor(part * (filled.length - 1))]).map((cell) => {
      $("heat").focus();
      heat.cursor = cell;
      sayRange();
      return [textOf("range").split(": ")[1], bursts.option(bursts.range(cell, cell))];
    });
    const sum = () => heat.cells.reduce((all, one) => all + one, 0);
    const kept = { cells: { sum: sum(), ends: heat.ends }, single, scale: [...$("heat-scale").children].map((one) => one.textContent), "rows of heat": {} };
    for (const rows of ["process", ...(bursts.cpu ? ["cpu"] : [])]) {
      state.rows = rows;
      showBursts();
      kept["rows of heat"][rows] = heat.labels.map((label, row) => [label, heat.cells.reduce((all, one, at) => all + (at % heat.labels.length === row ? one : 0), 0)]);
    }
    state.rows = "parts";
    state.range = range;
    showBursts();
    return kept;
  };

  /** What the tooltips of closed lanes say of each quarter of the time, by thread. */
  const quarters = () => {
    choose("order", "time");
    showLanes("");
    const found = layout.lanes.filter(({ closed }) => closed).map((lane) => {
      lane.use = useOf(profile, [lane.track, lane.track + 1], homeRange(), 4, null, (frame) => colours.group(frame));
      return [profile.threads[lane.track].tid, [0.5, 1.5, 2.5, 3.5].map((at) => laneLines(lane, (painter.width * at) / 4).slice(1))];
    });
    choose("order", "heavy");
    return found;
  };

  Object.assign(state, { ...readFragment("", fields), ...wanted });
  if (wanted.event) state.event = profile.events.findIndex((one) => one.name === wanted.event);
  draw();
  const said = { tid: oneThread() === null ? "" : String(profile.threads[oneThread()].tid), event: profile.events[state.event].name, options: state.range ? bursts.option(state.range) : "", chips: [...document.querySelectorAll("#chips .share")].map((one) => one.textContent), copies: state.edits.length ? [...document.querySelectorAll("#chips .word[title*='--hide'], #chips .word[title*='--focus']")].map((one) => one.title.replace("Copy ", "")) : [], detail: textOf("detail"), caption: caption(), boxes: [], rows: {}, matched: {}, legends: {} };
  said.threads = threadList.choices.slice(3).map(({ text, share }) => [text, share]);
  said.events = [...$("event").options].map((one) => one.text);
  said.names = [...$("event").options].map((one) => profile.events[Number(one.value)].name);
  said.trust = [...document.querySelectorAll("#trust button")].map((one) => one.textContent);
  said.facts = document.querySelector("#trust p").textContent;
  if (bursts) {
    choose("bursts", "on");
    said.heat = textOf("range");
    if (!wanted.edits) Object.assign(said, heatMap());
  }
  said.colours = profile.rows.off ? ["object", "mode", "cpu"] : ["object", "mode"];
  for (const colour of said.colours) {
    choose("colour", colour);
    said.legends[colour] = legend();
  }
  choose("colour", "object");
  if (profile.moments && !Object.keys(wanted).length) said.lanes = quarters();
  for (const key of keys) {
    said.rows[key] = row(key) || null;
    state.search = `^${profile.names[profile.functionFrame[profile.functionNamed.get(key)]].replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
    state.regex = "on";
    search();
    said.matched[key] = textOf("matched");
    state.search = "";
    search();
  }
  for (const order of orders) {
    if (order !== "function") choose("order", order);
    if (order === "time") showLanes(layoutTracks.join("_"));
    for (const key of keys) {
      if (order === "function") openFunction(key);
      if (order === "function" && layout.size) {
        const far = (lane) => [...Array(layout.size).keys()].filter((box) => layout.has(box) && layout.lane[box] === lane).sort((a, b) => layout.depth[b] - layout.depth[a] || a - b)[0];
        for (const box of [0, far(0), far(1)]) said.boxes.push({ order, of: key, ...told(box) });
      } else if (order !== "function" && widest(key) !== undefined) said.boxes.push({ order, ...told(widest(key)) });
    }
    openFunction("");
  }
  return said;
})
