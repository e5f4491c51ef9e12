"""Next steps for the reader, in sentences that follow from the facts of a report, and from nothing else.

Each rule is a function from facts to a sentence or none; its limits are named below.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from perf2x.model.number_format import format_change, format_percent

_FEW_SAMPLES = 400
"""With so many samples a share of 10 % is uncertain by a third of itself (two standard deviations)."""
_UNNAMED, _LOST, _MISSING, _CUT = 10.0, 1.0, 1.0, 5.0
"""Percent of frames without names, of samples lost, of user stacks missing, of user stack dumps cut short."""
_IDLE, _KERNEL, _HOT, _FLAT, _ONE_THREAD = 0.1, 0.3, 0.1, 0.3, 0.9
"""Shares of the whole."""
_WAITING = 0.5
"""CPUs in use on average."""

Facts = dict[str, Any]


class Step(Struct, frozen=True):
    """One sentence; ``{0}``, ``{1}`` … in it stand for recorded names."""

    about: str
    text: str
    names: tuple[str, ...] = ()

    def with_names(self, quoted: Callable[[str], str]) -> str:
        """The sentence with its names, each as ``quoted`` writes it."""
        return self.text.format(*map(quoted, self.names))


def next_steps(facts: Facts) -> Iterator[Step]:
    """All sentences that apply: first on what to trust, then on what changed, then on where the time went."""
    if not facts["measured"]["samples"]:
        yield Step("samples", "There are no samples of this event to judge.")
        return
    quality, cost = (_few, _lost, _missing, _cut, _unnamed), (_idle, _waiting, _kernel, _one_thread, _hottest, _path)
    for rule in (*quality, _changed, *cost):
        step = rule(facts)
        if step is not None:
            yield step


def as_facts(steps: Sequence[Step]) -> list[dict[str, str]]:
    """Sentences for JSON."""
    return [{"about": step.about, "text": step.with_names(lambda name: f"'{name}'")} for step in steps]


def _few(facts: Facts) -> Step | None:
    samples = facts["measured"]["samples"]
    if samples >= _FEW_SAMPLES:
        return None
    spread = 100 * min(2 * math.sqrt(0.1 * 0.9 / samples), 0.9)
    text = f"There are only {samples:,} samples: a share of 10 % is uncertain by ±{spread:.0f} points."
    return Step("samples", text + " Record for longer, or at a higher frequency (perf record -F).")


def _lost(facts: Facts) -> Step | None:
    share = facts["quality"]["percent"]["lost"]
    if share < _LOST:
        return None
    text = f"{share:.1f} % of the samples were lost, so costs are too low by about as much."
    return Step("lost", text + " A larger buffer (perf record -m) or a lower frequency (-F) loses fewer.")


def _missing(facts: Facts) -> Step | None:
    share = facts["quality"]["percent"]["missing_user"]
    if share < _MISSING:
        return None
    text = f"{share:.1f} % of the samples miss their user stack: totals of functions that call others are too low."
    return Step("missing_user", text)


def _cut(facts: Facts) -> Step | None:
    stacks = facts["quality"]["copied_stacks"]
    share = 100 * (1 - stacks["whole"] / stacks["all"]) if stacks["all"] else 0.0
    if share < _CUT:
        return None
    text = f"{share:.1f} % of the user stack dumps end before their outermost function: totals of callers are too low."
    return Step("stacks", text + " Quality says what to record with.")


def _unnamed(facts: Facts) -> Step | None:
    quality = facts["quality"]
    share = quality["percent"]["unresolved"]
    if share < _UNNAMED or not quality["frames"]:
        return None
    if not quality["unnamed_objects"]:
        return Step("unnamed", f"{share:.0f} % of the frames have no name.")
    most = quality["unnamed_objects"][0]
    if most["name"] == "[unknown]":
        text = (
            f"{share:.0f} % of the frames have no name, {most['frames']:,} of {quality['frames']:,} lie in no mapping,"
        )
        return Step("unnamed", text + " as callers of code without frame pointers do: perf record --call-graph dwarf.")
    text = f"{share:.0f} % of the frames have no name, {most['frames']:,} of {quality['frames']:,} in {{0}}"
    return Step("unnamed", text + ": perf2x info --symbols -v says for each object what would help.", (most["name"],))


def _changed(facts: Facts) -> Step | None:
    found = facts["difference"]
    if found is None:
        return None
    before, after = found["value"]
    change = format_change(after - before, before)
    real = "more than sampling noise explains" if found["significant"] else "which sampling noise may explain"
    if found["normalized"]:
        text = f"{found['moved_significantly']:,} of {found['moved']:,} changed shares are more than noise"
    else:
        text = f"The whole changed by {change}, {real}; {found['moved_significantly']:,} of {found['moved']:,}"
        text += " functions that changed did so by more than noise"
    row = next((row for row in found["rows"] if row["significant"]), None)
    if row is None:
        return Step("difference", text + ".")
    moved = format_change(row["self"][1] - row["self"][0], before)
    return Step("difference", f"{text}, first of all {{0}} ({moved} of the whole before).", (row["name"],))


def _idle(facts: Facts) -> Step | None:
    found = facts["measured"]
    if found["idle"] < _IDLE * found["value"]:
        return None
    share = format_percent(found["idle"], found["value"])
    return Step("idle", f"{share} are samples of idle CPUs; --no-idle leaves them out of all shares.")


def _waiting(facts: Facts) -> Step | None:
    """A clock counts the time on CPUs; where that is little, the program waited."""
    found, recorded = facts["measured"], facts["recorded"]
    span = recorded["duration_ns"]
    if not found["event"].startswith(("cpu-clock", "task-clock")) or found["unit"] != "nanoseconds" or not span:
        return None
    if found["idle"] or found["value"] >= _WAITING * span:
        return None
    mean = f"{found['value'] / span:.2f} CPUs on average"
    text = f"Threads ran for {found['value'] / 1e9:.2f} s of {span / 1e9:.2f} s ({mean}), the rest they waited:"
    return Step("waiting", f"{text} perf record --switch-events, then perf2x convert --off-cpu beside.")


def _kernel(facts: Facts) -> Step | None:
    found = facts["measured"]
    busy = found["value"] - found["idle"]
    inside = found["kernel"] - found["idle"]
    if inside < _KERNEL * busy or busy <= 0:
        return None
    text = f"{format_percent(inside, busy)} of the cost is in the kernel, on behalf of what calls it:"
    return Step("kernel", text + " --no-kernel shows the callers' own shares.")


def _one_thread(facts: Facts) -> Step | None:
    found, rows = facts["measured"], facts["threads"]
    if facts["recorded"]["threads"] < 2 or not rows or rows[0]["self"] < _ONE_THREAD * found["value"]:
        return None
    share = format_percent(rows[0]["self"], found["value"])
    text = f"One of {facts['recorded']['threads']:,} threads, {{0}}, takes {share} of the cost: the work is not shared."
    return Step("threads", text, (rows[0]["name"],))


def _hottest(facts: Facts) -> Step | None:
    """Either one function stands out, or the profile is flat."""
    whole, rows = facts["measured"]["value"], facts["by_self"]
    if not rows:
        return None
    first, together = rows[0], sum(row["self"] for row in rows)
    if first["self"] >= _HOT * whole:
        subject = "Code without a name, {0}," if first["name"].startswith("[") else "{0}"
        text, names = f"{subject} takes {format_percent(first['self'], whole)} by itself", [first["name"]]
        if first["callers"] and first["callers"][0]["name"]:
            share = format_percent(first["callers"][0]["value"], first["total"])
            text, names = f"{text}; {share} of its total is for calls from {{1}}", [*names, first["callers"][0]["name"]]
        where = "" if first["name"].startswith("[") else " perf2x annotate says which lines cost most."
        return Step("hottest", f"{text}.{where}", tuple(names))
    if together >= _FLAT * whole:
        return None
    text = f"The cost is spread: the {len(rows):,} hottest of {facts['measured']['functions']:,} functions take"
    return Step("flat", f"{text} {format_percent(together, whole)} by themselves. Look at totals and paths instead.")


def _path(facts: Facts) -> Step | None:
    whole, paths = facts["measured"]["value"], facts["paths"]
    if not paths or paths[0]["total"] < _HOT * whole:
        return None
    names = [*paths[0]["outer"], *paths[0]["inner"]]
    if len(names) < 2:
        return None
    text = f"The hottest path ends in {{0}} and takes {format_percent(paths[0]['total'], whole)}."
    return Step("path", text, (names[-1],))
