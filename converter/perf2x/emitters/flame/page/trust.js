"use strict";
// The line beside the heading on how far the numbers can be trusted; each part of it opens an explanation with advice.

const STACK_MISSING = "[user stack missing]";
const NOTICED = 0.01; // the share from which on numbers are wrong
const NOTICED_CUTS = 0.05; // as in perf2x report
/** Why stacks end before their outermost function, and remedies; docs/stacks.md. */
const CUTS = {
  "[truncated stack]": "more was on it than perf record copied. --call-graph dwarf,65528 copies the most.",
  "[no unwind info]": "the object does not say how to find its callers. --symfs, --debug-dir or --debuginfod find debug files; perf inject --jit helps for code compiled at run time.",
  "[stack not copied]": "the callers are on another stack, or beyond a page that nobody had touched.",
  "[unknown caller]": "the return address is not in code.",
  "[corrupt stack]": "the caller's frame would be where no stack can be.",
  "[stack too deep]": "it has more frames than a record holds.",
  "[registers not recorded]": "record without --user-regs.",
};
/** Advice by the part of the line that shows it; other advice is a part of its own, {} being its share. */
const ADVICE_OF = { samples: "samples", unnamed: "names" };
const ADVICE_WORDS = { no_stacks: "no call stacks", kernel_stacks: "kernel stacks alone", no_kernel: "user code alone", cut_stacks: "{} of user stacks cut", missing_callers: "callers missing in {} of samples" };
const ADVICE_MEANS = {
  cut_stacks: "Self costs are right; totals of callers are too small.",
  missing_callers: "Self costs are right. The total of a missing caller is too small: what it called stands below the caller of that one.",
};

/** Rows with running time, of the event that is shown first, or else of the first event that has some. */
function rowsThatRan() {
  const { rows, events, defaultEvent } = profile;
  for (const event of [defaultEvent, ...events.keys()]) {
    const ran = profile.rowsOf(event, null).filter((row) => !rows.off || !rows.off[row]);
    if (ran.length) return { event: events[event], ran };
  }
  return { event: events[defaultEvent] || { name: "", unit: "", samples: 0 }, ran: [] };
}

/** Whether the numbers come from folded stacks, and may be anything. */
const isFolded = () => !profile.compare && profile.events.length > 0 && profile.events.every(({ name, unit }) => name === "weight" && unit === "count");

/** Costs of all rows, of those whose innermost function has a name, of those whose user stack is missing, and of cut-off ones. */
function trustSums(ran) {
  const { value } = profile.rows;
  const sums = { all: sumOf(ran, value), named: 0, missing: 0, cut: 0, cuts: new Map() };
  for (const node of profile.fold(ran, value)) {
    const frame = profile.frame[node];
    if (profile.frames.resolved[frame]) sums.named += profile.own[node];
    const name = profile.names[frame];
    if (name === STACK_MISSING) sums.missing += profile.sum[node];
    if (!CUTS[name] || profile.objects[frame]) continue;
    sums.cut += profile.sum[node];
    sums.cuts.set(name, (sums.cuts.get(name) || 0) + profile.sum[node]);
  }
  return sums;
}

/** @returns {[string, boolean, ...string[]]} */
function adviceOfItsOwn([about, text]) {
  const [share = "some"] = text.match(/\d+ %/) || [];
  return [(ADVICE_WORDS[about] || about).replace("{}", share), false, text, ...(ADVICE_MEANS[about] ? [ADVICE_MEANS[about]] : [])];
}

/**
 * Text, whether it makes numbers wrong, and sentences.
 * @returns {[string, boolean, ...string[]][]}
 */
function trustParts() {
  const { facts, elapsed, losses = [], advice = [] } = profile;
  const { event, ran } = rowsThatRan();
  const { all, named, missing, cut, cuts } = trustSums(ran);
  const samples = profile.events.reduce((sum, one) => sum + one.samples, 0);
  const waits = profile.rows.off ? profile.rows.off.reduce((sum, off, row) => sum + off * profile.rows.count[row], 0) : 0;
  const lost = losses.reduce((sum, [name, number]) => sum + (name.startsWith("lost_") ? number : 0), 0);
  const recorded = lost + samples - waits; // perf2x made the waits itself
  const isTime = event.unit === "nanoseconds";
  const cost = `${spoken(all, unitOf(event))}${isTime ? " CPU" : ""}`;
  const what = isTime ? "time" : unitOf(event);
  const told = (part) => advice.filter(([about]) => ADVICE_OF[about] === part).map(([, text]) => text);
  /** @type {([string, boolean, ...string[]] | false)[]} */
  const parts = [
    isFolded() ? [`weights of ${spoken(all, "")}`, false, "Texts of folded stacks do not say what their numbers count: samples, time or bytes.", ...facts.slice(1)] : [`${counted(samples)} sample${samples === 1 ? "" : "s"}`, false, facts.slice(1).join(" · "), ...told("samples")],
    ran.length > 0 && !isFolded() && [`${cost}${elapsed ? ` in ${spoken(elapsed, "nanoseconds")}` : ""}`, false,
      isTime ? "CPU time is what samples stand for, added up over all threads." : `The periods of all samples of ${event.name}, added up.`,
      ...(elapsed ? [`Elapsed time goes from the first sample to the last.${isTime ? ` On average, ${trimmed(all / elapsed)} CPUs were busy.` : ""}`] : [])],
    losses.length > 0 && [lost ? `${percent(lost, recorded)} lost` : losses[0][2], !lost || lost >= NOTICED * recorded, ...losses.map(([, , words]) => words),
      lost ? "Shares are right as far as the losses are spread evenly; sums are too small. perf record -m 16M has a larger buffer, a lower -F has fewer samples." : "What comes behind is not in the numbers."],
    missing > 0 && [`${percent(missing, all)} without callers`, missing >= NOTICED * all, `The user part of these stacks was lost, or the program ended before the kernel wrote it: they stand below ${STACK_MISSING}.`],
    cut > 0 && [`${percent(cut, all)} in cut stacks`, cut >= NOTICED_CUTS * all, "Self costs are right; totals of the callers that are missing are too small.", ...[...cuts].map(([name, sum]) => `${percent(sum, all)} stand below ${name}: ${CUTS[name]}`)],
    ...advice.filter(([about]) => !ADVICE_OF[about]).map(adviceOfItsOwn),
    all > 0 && [`names for ${percent(named, all)} of the ${what}`, false, "The share in functions that have a name. Others stand below their object, as [libc.so.6].", ...told("names")],
  ];
  const shown = parts.filter((part) => part !== false);
  return isNarrow() ? shown.sort((one, other) => Number(other[1]) - Number(one[1])) : shown; // on a phone, wrong numbers come first
}

const isNarrow = () => matchMedia("(max-width: 900px)").matches;

const FEW = 100; // fewer samples show little

/** @returns {[string, boolean, ...string[]][]} */
function comparedParts() {
  const { before, after } = comparison.samples(state.event);
  const { wholes, factor } = comparison;
  const [was, now] = [wholes.before, wholes.after / factor];
  const isScaled = state.scale === "shares";
  const [least, most] = [before, after].sort((one, other) => one - other);
  const words = `${counted(before)} → ${counted(after)} samples`;
  /** @type {[string, boolean, ...string[]][]} */
  const parts = [[words, false, ...profile.facts], [`${spent(was)} → ${spent(now)}`, false, `In all, ${was ? comparison.signed(now - was) : "new"}.`]];
  if (isScaled) parts.push([`shares compared, after ×${trimmed(factor)}`, false, "Costs after are scaled to the whole before. View, Scale, As recorded compares costs."]);
  if (least < FEW) parts.push(["too few samples", true, `One side has ${counted(least)} samples: only large changes can be told from chance.`]);
  else if (!isScaled && most > 10 * least) parts.push(["sides of very different size", true, "One side has more than ten times the samples of the other. View, Scale, Shares compares shares of the whole."]);
  return parts;
}

function showTrust() {
  const parts = profile.compare ? comparedParts() : trustParts();
  $("trust").replaceChildren(...parts.flatMap(([words, isWrong, ...lines], at) => {
    const box = make("div", { id: `trust-${at}`, popover: "auto" }, ...lines.map((line) => make("p", {}, line)));
    const button = make("button", { className: isWrong ? "wrong" : "", popoverTargetElement: box, title: lines.join("\n") }, words);
    box.ontoggle = () => dropBelow(button, box);
    return [button, box];
  }));
}

/** Place an opened box below its button, or above one at the bottom, inside the window. */
function dropBelow(button, box) {
  const { left, top, bottom } = button.getBoundingClientRect();
  const isLow = bottom + box.offsetHeight + 4 > innerHeight;
  box.style.left = `${clamp(left, innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${isLow ? Math.max(4, top - box.offsetHeight - 4) : bottom + 4}px`;
}
