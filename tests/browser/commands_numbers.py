"""Answers of the commands, in the page's words written a second time: the page's numbers are held against them."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.support.command import perf2x
from tests.support.recordings import ROOT

EXAMPLE = ROOT / "examples/deferred"
LISTED = ROOT / "tests/unit/features/annotate/data"
SWITCHES = ROOT / "tests/laws/schedules/switches.data"
RECORDINGS = {
    "threads": (EXAMPLE / "perf.data", "--symfs", EXAMPLE / "symfs", "--kallsyms", EXAMPLE / "kallsyms.xz"),
    "off-cpu": (SWITCHES, "--off-cpu", "beside"),
    "merged": (SWITCHES, "--off-cpu", "merged"),
    "inlined": (LISTED / "inlines.data", "--symfs", LISTED),
}
EVENTS = {"off-cpu": "off-cpu"}
"""The event that is chosen, where it is not the first one."""

Stacks = dict[tuple[str, ...], float]


@dataclass
class Numbers:
    """Answers of the commands for what is chosen: stacks, and functions by name and object."""

    unit: str
    samples: int
    value: float
    rows: dict[str, tuple[float, float]]
    stacks: Stacks = field(default_factory=dict)
    waits: Stacks = field(default_factory=dict)


def asked(name: str, *options: str) -> Numbers:
    words = (*RECORDINGS[name], *event_of(name), *options)
    ran = perf2x("top", *words, "--json", "-n", "0", "-q")
    assert ran.code == 0, ran.err
    top = json.loads(ran.out)
    rows = {f"{row['name']}\n{row['object']}": (row["self"], row["total"]) for row in top["rows"]}
    stacks = collapsed(words, top["event"])
    waits = collapsed((*words, "--off-cpu", "apart")) if name == "merged" else stacks if name == "off-cpu" else {}
    unit = top["unit"] if top["unit"] != "count" else top["event"]
    return Numbers(unit, top["samples"], top["value"], rows, stacks, waits)


def event_of(name: str) -> list[str]:
    return ["-e", EVENTS[name]] if name in EVENTS else []


def collapsed(words: tuple[object, ...], event: str = "") -> Stacks:
    named = [word for word in words if word not in {"samples", "--value"}]
    chosen = ["--value", "samples" if "samples" in words else "period", *(["-e", event] if event else [])]
    ran = perf2x("convert", *named, *chosen, "--to", "collapsed", "--root", "none", "-o", "-", "-q")
    assert ran.code == 0, ran.err
    lines = (line.rpartition(" ") for line in ran.out.splitlines())
    sums: Counter[tuple[str, ...]] = Counter()
    for stack, _, number in lines:
        sums[folded(tuple(stack.split(";")))] += float(number)
    return dict(sums)


def folded(stack: tuple[str, ...]) -> tuple[str, ...]:
    """Frames without a name that call each other are one box of the page."""
    return tuple(one for at, one in enumerate(stack) if not (one == "[unknown]" and at and stack[at - 1] == one))


# ---- the page's words, written a second time


def spoken(value: float, unit: str) -> str:
    if unit == "nanoseconds":
        for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")):
            if abs(value) >= size or size == 1:
                return f"{short(value / size)} {name}"
    if unit == "samples" and value < 10_000:
        return f"{value:,.0f} {'sample' if value == 1 else unit}"
    raise NotImplementedError(unit)


def short(value: float) -> str:
    """Three digits, without zeros at the end."""
    text = f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0
    if share < 0.005 or share > 100 - 1e-9:
        return f"{round(share)} %"
    return f"{min(share, 99.9):.{2 if share < 9.995 else 1}f} %"


def told(value: float, whole: float, unit: str) -> str:
    return f"{spoken(value, unit)} ({percent(value, whole)})"


# ---- what a box is, from the stacks


def outermost(stack: tuple[str, ...], name: str) -> int:
    return stack.index(name) if name in stack else -1


def size(box: dict[str, Any], stacks: Stacks) -> tuple[float, float]:
    """Its width and its own part."""
    path = tuple(box["path"])
    if box["order"] == "heavy":
        inside = {stack: value for stack, value in stacks.items() if stack[: len(path)] == path}
        return sum(inside.values()), inside.get(path, 0)
    if box["order"] == "bottom":
        return sum(value for stack, value in stacks.items() if stack[::-1][: len(path)] == path), 0
    found = own = 0.0
    for stack, value in stacks.items():
        at = outermost(stack, path[0])
        beyond = stack[: at + 1][::-1] if box["side"] == 0 else stack[at:]
        if at >= 0 and beyond[: len(path)] == path:
            found += value
            own += value if beyond == path else 0
    return found, own


def expected(box: dict[str, Any], numbers: Numbers, function: tuple[float, float]) -> tuple[list[str], list[str]]:
    """Lines of the panel and of the tooltip."""
    own, total = function
    whole, unit = numbers.value, numbers.unit
    panel = [
        "self",
        f"{spoken(own, unit)}  {percent(own, whole)}",
        "total",
        f"{spoken(total, unit)}  {percent(total, whole)}",
    ]
    tip = [f"function: self {told(own, whole, unit)}, total {told(total, whole, unit)}"]
    here, here_own = size(box, numbers.stacks)
    is_turned = box["order"] == "bottom" or box["side"] == 0
    waiting = size(box, numbers.waits)[0]
    off = f", {percent(waiting, here)} of it off CPU" if waiting else ""
    is_whole = here == (own if box["order"] == "bottom" else total) and (is_turned or here_own == own)
    if is_whole and not (is_turned and len(box["path"]) > 1):
        return panel, [tip[0] + off]
    panel += ["here", f"{spoken(here, unit)}  {percent(here, whole)}"]
    if is_turned:
        return panel, [f"{told(here, whole, unit)} of {box['path'][0]}{off}", *tip]
    panel += ["self here", f"{spoken(here_own, unit)}  {percent(here_own, whole)}"]
    more = "" if not here_own else ", all self" if here_own == here else f", self {told(here_own, whole, unit)}"
    return panel, [told(here, whole, unit) + more + off, *tip]


# ---- what is chosen, on the page and in the commands


def edited(stacks: Stacks, kind: str, name: str) -> Stacks:
    found: Counter[tuple[str, ...]] = Counter()
    for stack, value in stacks.items():
        left = tuple(frame for frame in stack if frame != name)
        if kind == "focus" and name in stack:
            found[stack] += value
        elif kind == "hide" and (left or not stack):
            found[left] += value
    return dict(found)


def functions_of(stacks: Stacks) -> dict[str, tuple[float, float]]:
    """Self and total by name alone."""
    own, total = Counter(), Counter()
    for stack, value in stacks.items():
        own[stack[-1] if stack else ""] += value
        for name in set(stack):
            total[name] += value
    return {name: (own[name], total[name]) for name in total}


def unique(rows: dict[str, tuple[float, float]]) -> list[str]:
    """Functions whose name no other object has."""
    names = Counter(key.split("\n")[0] for key in rows)
    return [key for key in rows if names[key.split("\n")[0]] == 1 and ";" not in key]
