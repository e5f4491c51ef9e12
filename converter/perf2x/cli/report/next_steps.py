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
    if not facts["by_self"]["samples"]:
        yield Advice("samples", "There are no samples of this event to judge.")
        return
    yield from recording
    for rule in (_quality, _changed, _idle, _waiting, _kernel, _one_thread, _hottest, _path):
        yield from rule(facts)


def _quality(facts: Facts) -> Iterator[Advice]:
    shares, unwound = facts["percent"], facts["unwound"]
    cut = 100 * (1 - unwound["ends"].get("complete", 0) / unwound["samples"]) if unwound["samples"] else 0.0
    if shares["lost"] >= _LOST:
        text = f"{shares['lost']:.1f} % of the samples were lost, so costs are too low by about as much."
        yield Advice("lost", f"{text} A larger buffer (perf record -m) or a lower frequency (-F) loses fewer.")
    for about, share, least, what in (
        ("missing_user", shares["missing_user"], _MISSING, "samples miss their user stack"),
        ("stacks", cut, _CUT, "user stack dumps end before their outermost function"),
    ):
        if share >= least:
            yield Advice(about, f"{share:.1f} % of the {what}: totals of functions that call others are too low.")


def _changed(facts: Facts) -> Iterator[Advice]:
    found = facts["difference"]
    if found is None:
        return
    before, after = found["before"], found["after"]
    text = f"{found['moved_significantly']:,} of {found['moved']:,} functions that changed did so by more than noise"
    if not found["normalized"]:
        real = "more than sampling noise explains" if found["significant"] else "which sampling noise may explain"
        text = f"The whole changed by {format_change(after - before, before)}, {real}; {text}"
    row = next((row for row in found["rows"] if row["significant"]["self"]), None)
    if row is None:
        yield Advice("difference", f"{text}.")
    else:
        moved = format_change(row["self"][1] - row["self"][0], before)
        yield Advice("difference", f"{text}, first of all {{0}} ({moved} of the whole before).", (row["name"],))


def _idle(facts: Facts) -> Iterator[Advice]:
    whole = facts["by_self"]["value"]
    if facts["idle"] >= max(_IDLE * whole, 1):
        share = format_percent(facts["idle"], whole)
        yield Advice("idle", f"{share} are samples of idle CPUs; --no-idle leaves them out of all shares.")


def _waiting(facts: Facts) -> Iterator[Advice]:
    """A clock counts the time on CPUs; where that is little, the program waited, or other programs had the CPUs."""
    found, span = facts["by_self"], facts["duration_ns"]
    is_clock = found["event"].startswith(("cpu-clock", "task-clock")) and found["unit"] == "nanoseconds"
    if is_clock and not facts["idle"] and found["value"] < _WAITING * span:
        mean = f"{found['value'] / span:.2f} CPUs on average"
        text = f"Threads ran for {found['value'] / 1e9:.2f} s of {span / 1e9:.2f} s ({mean})."
        text += " Samples do not say whether they waited the rest of the time, or others had the CPUs:"
        yield Advice("waiting", f"{text} perf record --switch-events does, then perf2x convert --off-cpu beside.")


def _kernel(facts: Facts) -> Iterator[Advice]:
    busy, inside = facts["by_self"]["value"] - facts["idle"], facts["kernel"] - facts["idle"]
    if inside >= _KERNEL * busy > 0:
        text = f"{format_percent(inside, busy)} of the cost is in the kernel, on behalf of what calls it:"
        yield Advice("kernel", f"{text} --frames user shows the callers' own shares.")


def _one_thread(facts: Facts) -> Iterator[Advice]:
    whole, rows, threads = facts["by_self"]["value"], facts["threads"]["rows"], facts["recorded_threads"]
    if threads > 1 and rows and rows[0]["self"] >= _ONE_THREAD * whole:
        share = format_percent(rows[0]["self"], whole)
        text = f"One of {threads:,} threads, {{0}}, takes {share} of the cost: the work is not shared."
        yield Advice("threads", text, (rows[0]["name"],))


def _hottest(facts: Facts) -> Iterator[Advice]:
    """Either one function stands out, or the profile is flat."""
    whole, rows = facts["by_self"]["value"], facts["by_self"]["rows"]
    together = sum(row["self"] for row in rows)
    if rows and rows[0]["self"] >= _HOT * whole:
        first = rows[0]
        is_named, names = not first["name"].startswith("["), [first["name"]]
        subject = "{0}" if is_named else "Code without a name, {0},"
        text = f"{subject} takes {format_percent(first['self'], whole)} by itself"
        if first["callers"] and first["callers"][0]["name"]:
            share = format_percent(first["callers"][0]["value"], first["total"])
            text, names = f"{text}; {share} of its total is for calls from {{1}}", [*names, first["callers"][0]["name"]]
        where = " perf2x annotate says which lines cost most." if is_named else ""
        yield Advice("hottest", f"{text}.{where}", tuple(names))
    elif rows and together < _FLAT * whole:
        text = f"The cost is spread: the {len(rows):,} hottest of {facts['functions']:,} functions take"
        text = f"{text} {format_percent(together, whole)} by themselves. Look at totals and paths instead."
        yield Advice("flat", text)


def _path(facts: Facts) -> Iterator[Advice]:
    whole = facts["by_self"]["value"]
    for path in facts["paths"][:1]:
        if path["total"] >= _HOT * whole and len(path["functions"]) > 1:
            text = f"The hottest path ends in {{0}} and takes {format_percent(path['total'], whole)}."
            yield Advice("path", text, (path["functions"][-1],))
