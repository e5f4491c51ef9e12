"""Next steps for the reader, in sentences that follow from the facts of a report, and from nothing else.

Each rule is a function from facts to a sentence or none; its limits are named below.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from perf2x.model.advice import Advice
from perf2x.model.number_format import format_change, format_percent

_LOST, _MISSING, _CUT = 1.0, 1.0, 5.0
"""Percent of samples lost, of user stacks missing, of user stack dumps cut short."""
_IDLE, _KERNEL, _HOT, _FLAT, _ONE_THREAD = 0.1, 0.3, 0.1, 0.3, 0.9
"""Shares of the whole."""
_WAITING = 0.5
"""CPUs in use on average."""

Facts = dict[str, Any]


def next_steps(facts: Facts, recording: Sequence[Advice] = ()) -> Iterator[Advice]:
    """All sentences that apply: first on what to trust, then on what changed, then on where the time went.

    ``recording`` is the advice on the recording.
    """
    if not facts["measured"]["samples"]:
        yield Advice("samples", "There are no samples of this event to judge.")
        return
    yield from recording
    quality, cost = (_lost, _missing, _cut), (_idle, _waiting, _kernel, _one_thread, _hottest, _path)
    for rule in (*quality, _changed, *cost):
        step = rule(facts)
        if step is not None:
            yield step


def as_facts(steps: Sequence[Advice]) -> list[dict[str, str]]:
    """Sentences for JSON."""
    return [{"about": step.about, "text": step.words()} for step in steps]


def _lost(facts: Facts) -> Advice | None:
    share = facts["quality"]["percent"]["lost"]
    if share < _LOST:
        return None
    text = f"{share:.1f} % of the samples were lost, so costs are too low by about as much."
    return Advice("lost", text + " A larger buffer (perf record -m) or a lower frequency (-F) loses fewer.")


def _missing(facts: Facts) -> Advice | None:
    share = facts["quality"]["percent"]["missing_user"]
    if share < _MISSING:
        return None
    text = f"{share:.1f} % of the samples miss their user stack: totals of functions that call others are too low."
    return Advice("missing_user", text)


def _cut(facts: Facts) -> Advice | None:
    stacks = facts["quality"]["copied_stacks"]
    share = 100 * (1 - stacks["whole"] / stacks["all"]) if stacks["all"] else 0.0
    if share < _CUT:
        return None
    text = f"{share:.1f} % of the user stack dumps end before their outermost function: totals of callers are too low."
    return Advice("stacks", text + " Quality says what to record with.")


def _changed(facts: Facts) -> Advice | None:
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
        return Advice("difference", text + ".")
    moved = format_change(row["self"][1] - row["self"][0], before)
    return Advice("difference", f"{text}, first of all {{0}} ({moved} of the whole before).", (row["name"],))


def _idle(facts: Facts) -> Advice | None:
    found = facts["measured"]
    if found["idle"] < _IDLE * found["value"]:
        return None
    share = format_percent(found["idle"], found["value"])
    return Advice("idle", f"{share} are samples of idle CPUs; --no-idle leaves them out of all shares.")


def _waiting(facts: Facts) -> Advice | None:
    """A clock counts the time on CPUs; where that is little, the program waited, or other programs had the CPUs."""
    found, recorded = facts["measured"], facts["recorded"]
    span = recorded["duration_ns"]
    if not found["event"].startswith(("cpu-clock", "task-clock")) or found["unit"] != "nanoseconds" or not span:
        return None
    if found["idle"] or found["value"] >= _WAITING * span:
        return None
    mean = f"{found['value'] / span:.2f} CPUs on average"
    text = f"Threads ran for {found['value'] / 1e9:.2f} s of {span / 1e9:.2f} s ({mean})."
    text += " Samples do not say whether they waited the rest of the time, or others had the CPUs:"
    return Advice("waiting", f"{text} perf record --switch-events does, then perf2x convert --off-cpu beside.")


def _kernel(facts: Facts) -> Advice | None:
    found = facts["measured"]
    busy = found["value"] - found["idle"]
    inside = found["kernel"] - found["idle"]
    if inside < _KERNEL * busy or busy <= 0:
        return None
    text = f"{format_percent(inside, busy)} of the cost is in the kernel, on behalf of what calls it:"
    return Advice("kernel", text + " --frames user shows the callers' own shares.")


def _one_thread(facts: Facts) -> Advice | None:
    found, rows = facts["measured"], facts["threads"]
    if facts["recorded"]["threads"] < 2 or not rows or rows[0]["self"] < _ONE_THREAD * found["value"]:
        return None
    share = format_percent(rows[0]["self"], found["value"])
    text = f"One of {facts['recorded']['threads']:,} threads, {{0}}, takes {share} of the cost: the work is not shared."
    return Advice("threads", text, (rows[0]["name"],))


def _hottest(facts: Facts) -> Advice | None:
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
        return Advice("hottest", f"{text}.{where}", tuple(names))
    if together >= _FLAT * whole:
        return None
    text = f"The cost is spread: the {len(rows):,} hottest of {facts['measured']['functions']:,} functions take"
    return Advice("flat", f"{text} {format_percent(together, whole)} by themselves. Look at totals and paths instead.")


def _path(facts: Facts) -> Advice | None:
    whole, paths = facts["measured"]["value"], facts["paths"]
    if not paths or paths[0]["total"] < _HOT * whole:
        return None
    names = [*paths[0]["outer"], *paths[0]["inner"]]
    if len(names) < 2:
        return None
    text = f"The hottest path ends in {{0}} and takes {format_percent(paths[0]['total'], whole)}."
    return Advice("path", text, (names[-1],))
