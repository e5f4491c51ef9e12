// The page's scripts for tests under node: one after another in one scope, as the page has them, without a page.
import fs from "node:fs";

const FOLDER = new URL("../../../../../converter/perf2x/emitters/flame/page/", import.meta.url);

/** Names out of scripts that touch no page: load(["data.js"], "Profile", "percent"). */
export function load(scripts, ...names) {
  const text = scripts.map((name) => fs.readFileSync(new URL(name, FOLDER), "utf8")).join("\n");
  return new Function(`${text}\nreturn { ${names.join(", ")} };`)();
}

/** A profile of rows [thread, event, stack, value, count]; a stack is "outermost;…;innermost". */
export function profileOf(Profile, rows) {
  const strings = [""];
  const frames = { name: [], full: [], object: [], file: [], mode: [], inlined: [], resolved: [], jit: [] };
  const nodes = { parent: [], frame: [] };
  const known = new Map();
  const columns = { thread: [], event: [], node: [], value: [], count: [] };

  const frameOf = (name) => {
    let at = frames.name.findIndex((row) => strings[row] === name);
    if (at >= 0) return at;
    at = frames.name.push(strings.push(name) - 1) - 1;
    for (const [key, value] of Object.entries({ full: 0, object: 0, file: 0, mode: 2, inlined: 0, resolved: 1, jit: 0 })) frames[key].push(value);
    return at;
  };
  const nodeOf = (names) => {
    const key = names.join(";");
    if (names.length === 0) return -1;
    if (known.has(key)) return known.get(key);
    const parent = nodeOf(names.slice(0, -1));
    const node = nodes.parent.push(parent) - 1;
    nodes.frame.push(frameOf(names.at(-1)));
    known.set(key, node);
    return node;
  };
  for (const [thread, event, stack, value, count] of rows) {
    const node = nodeOf(stack.split(";"));
    for (const [key, one] of Object.entries({ thread, event, node, value, count })) columns[key].push(one);
  }
  return new Profile({ strings, frames, nodes, rows: columns });
}

/** Numbers of a layout's boxes, as they were made: lane by lane, and in a lane from left to right or level by level. */
export function boxesOf(layout) {
  layout.lanes.forEach((_, lane) => layout.fill(lane));
  return layout.lanes.flatMap(({ levels }) => levels.flat()).sort((one, other) => one - other);
}
