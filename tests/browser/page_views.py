"""Views of the page beside what the commands say of them, for the law of numbers (test_numbers.py)."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.browser.commands_numbers import (
    RECORDINGS,
    Numbers,
    Stacks,
    asked,
    edited,
    event_of,
    functions_of,
    percent,
    unique,
)
from tests.support.command import perf2x

checks: Counter[str] = Counter()
"""The number of comparisons made, by kind."""


@dataclass
class View:
    """A view of the page, and the commands' numbers of it: all of it, before chips, and in samples."""

    name: str
    said: dict[str, Any]
    keys: list[str]
    edits: list[list[str]]
    options: list[str]
    numbers: Numbers
    before: Numbers
    samples: Stacks
    all_samples: int

    def check(self, what: str, found: object, wanted: object) -> None:
        checks[what] += 1
        assert found == wanted, (self.name, what)


def view_of(title: str, one: dict[str, Any]) -> View:
    name, said, wanted = title.split(", ")[0], one["value"], one["wanted"]
    edits = wanted.get("edits", [])
    options = [*said["options"].split(), *(["--tid", said["tid"]] if said["tid"] else [])]
    before = asked(name, *options, *(["--value", "samples"] if wanted.get("weight") else []))
    numbers = Numbers(before.unit, before.samples, before.value, before.rows, before.stacks, before.waits)
    counted = asked(name, *options, "--value", "samples")
    samples = counted.stacks
    for kind, key in edits:
        if kind == "only":
            only = [*options, "--focus", f"^{re.escape(key.split(chr(10))[0])}$"]
            numbers.stacks = asked(name, *only, *(["--value", "samples"] if wanted.get("weight") else [])).stacks
            samples = asked(name, *only, "--value", "samples").stacks
            numbers.waits = numbers.stacks if numbers.waits else {}
            continue
        numbers.stacks = edited(numbers.stacks, kind, key.split("\n")[0])
        numbers.waits = edited(numbers.waits, kind, key.split("\n")[0])
        samples = edited(samples, kind, key.split("\n")[0])
    if edits:
        costs = functions_of(numbers.stacks)
        numbers.rows = {key: costs[name] for key in unique(before.rows) if (name := key.split("\n")[0]) in costs}
        numbers.value, numbers.samples = sum(numbers.stacks.values()), int(sum(samples.values()))
    return View(title, said, one["keys"], edits, options, numbers, before, samples, counted.samples)


def words_of(view: View) -> list[object]:
    """The recording and options of a view, and its event."""
    name = view.name.split(",")[0]
    return [*RECORDINGS[name], *event_of(name), *view.options, *value_of(view)]


def rows_by_thread(view: View, event: str) -> list[dict[str, Any]]:
    """Threads of the whole recording, idle ones too."""
    words = (*RECORDINGS[view.name.split(",")[0]], "-e", event, "--by", "thread", "--json", "-n", "0", "-q")
    return list(json.loads(perf2x("top", *words).out)["rows"])


def thread_of(view: View) -> list[str]:
    return ["--tid", view.said["tid"]] if view.said["tid"] else []


def value_of(view: View) -> list[str]:
    return ["--value", "samples"] if view.numbers.unit == "samples" else []


def threads(view: View) -> dict[str, str]:
    """Shares by the numbers of thread and process: a thread may change its name."""
    ran = perf2x("top", *words_of(view), "--by", "thread", "--json", "-n", "0", "-q")
    costs: Counter[str] = Counter()
    for row in json.loads(ran.out)["rows"]:
        numbers = row["name"].rpartition(" ")[2]
        pid, tid = numbers.split("/")
        costs[f"({pid if pid == tid else numbers})"] += row["self"]
    return {numbers: percent(own, view.numbers.value) for numbers, own in costs.items()}


def innermost(trace: Path) -> dict[int, list[tuple[float, float, str]]]:
    """When which function was the innermost one, by thread: begin, end and name, in microseconds from the first."""
    events = [one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "X"]
    first = min(one["ts"] for one in events)
    found: dict[int, list[tuple[float, float, str]]] = {}
    for tid in {one["tid"] for one in events}:
        own = sorted((one for one in events if one["tid"] == tid), key=lambda one: (one["ts"], -one["dur"]))
        spans, stack = [], []
        at = 0.0
        for one in [*own, {"ts": float("inf"), "dur": 0, "name": ""}]:
            while stack and stack[-1][0] <= one["ts"]:
                end, name = stack.pop()
                spans.append((at, end, name))
                at = end
            if stack:
                spans.append((at, one["ts"], stack[-1][1]))
            at = one["ts"]
            stack.append((one["ts"] + one["dur"], one["name"]))
        found[tid] = [(begin - first, end - first, name) for begin, end, name in spans if end > begin]
    return found
