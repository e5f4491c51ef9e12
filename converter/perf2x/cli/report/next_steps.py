"""Next steps for the reader, in sentences that follow only from the data of a report.

Limits of the rules are named below.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from perf2x.model.advice import Advice
from perf2x.model.number_format import format_change, format_percent

# Percentages that are worth a sentence: samples lost, user stacks missing, user stack dumps cut short.
_LOST, _MISSING, _CUT = 1.0, 1.0, 5.0
_IDLE, _KERNEL, _HOT, _FLAT, _ONE_THREAD = 0.1, 0.3, 0.1, 0.3, 0.9
"""Shares of the total that are worth a sentence: at least these for idle CPUs, the kernel, a hot function and a single
thread; less than ``_FLAT`` for all functions shown.
"""
# If fewer CPUs are in use on average, there is a sentence on waiting.
_WAITING = 0.5

Facts = dict[str, Any]


def next_steps(facts: Facts, recording: Sequence[Advice] = ()) -> Iterator[Advice]:
    """Yield all sentences that apply: on trust first, then on changes, then on where the time went.

    ``recording`` is the advice on the recording.
    """
    if not facts["by_self"]["samples"]:
        yield Advice("samples", "There are no samples of this event to judge.")
        return
    yield from recording
    yield from _quality(facts["percent"], facts["unwound"])
    if facts["difference"]:
        yield _changed(facts["difference"])
    yield from _shares(facts, facts["by_self"])
    yield from _hottest(facts, facts["by_self"], has_callers=not lacks_callers(recording))


def lacks_callers(advice: Sequence[Advice]) -> bool:
    """Return whether callers are missing in so many stacks that the callers shown are unreliable."""
    return not {"cut_stacks", "missing_callers"}.isdisjoint(one.about for one in advice)


def _quality(shares: Facts, unwound: Facts) -> Iterator[Advice]:
    cut = 100 * (1 - unwound["ends"].get("complete", 0) / unwound["samples"]) if unwound["samples"] else 0.0
    advice = "costs are too low by about as much. Use a larger buffer (perf record -m) or a lower frequency (-F)."
    callers = "totals of functions that call others are too low."
    for about, share, least, text in (
        ("lost", shares["lost"], _LOST, f"samples were lost, so {advice}"),
        ("missing_user", shares["missing_user"], _MISSING, f"samples miss their user stack: {callers}"),
        ("stacks", cut, _CUT, f"user stack dumps end before their outermost function: {callers}"),
    ):
        if share >= least:
            yield Advice(about, f"{share:.1f} % of the {text}")


def _changed(found: Facts) -> Advice:
    before = found["before"]
    text = f"{found['moved_significantly']:,} of {found['moved']:,} functions that changed did so by more than noise"
    if not found["normalized"]:
        real = "more than sampling noise explains" if found["significant"] else "which sampling noise may explain"
        text = f"The total changed by {format_change(found['after'] - before, before)}, {real}; {text}"
    for row in found["rows"]:
        if row["significant"]["self"]:
            moved = format_change(row["self"][1] - row["self"][0], before)
            return Advice("difference", f"{text}, most of all {{0}} ({moved} of the total before).", (row["name"],))
    return Advice("difference", f"{text}.")


def _shares(facts: Facts, found: Facts) -> Iterator[Advice]:
    """Yield sentences on idle CPUs, waiting, the kernel, and a single thread.

    A clock event counts CPU time; if there is little of it, the program waited, or other programs had the CPUs.
    """
    whole, idle, span, threads = found["value"], facts["idle"], facts["duration_ns"], facts["recorded_threads"]
    if idle >= max(_IDLE * whole, 1):
        share = format_percent(idle, whole)
        yield Advice("idle", f"{share} are samples of idle CPUs; --no-idle leaves them out of all shares.")
    is_clock = found["event"].startswith(("cpu-clock", "task-clock")) and found["unit"] == "nanoseconds"
    if is_clock and not idle and whole < _WAITING * span:
        text = f"Threads ran for {whole / 1e9:.2f} s of {span / 1e9:.2f} s ({whole / span:.2f} CPUs on average)."
        text += " The samples cannot tell whether they waited for the rest of the time or were preempted:"
        yield Advice("waiting", f"{text} record with --switch-events and convert with --off-cpu beside.")
    busy, inside = whole - idle, facts["kernel"] - idle
    if inside >= _KERNEL * busy > 0:
        text = f"{format_percent(inside, busy)} of the cost is in the kernel, on behalf of its callers:"
        yield Advice("kernel", f"{text} --frames user shows the callers' own shares.")
    for row in facts["threads"]["rows"][: threads > 1]:
        if row["self"] >= _ONE_THREAD * whole:
            text = f"One of {threads:,} threads, {{0}}, takes {format_percent(row['self'], whole)} of the cost:"
            yield Advice("threads", f"{text} the work is not shared.", (row["name"],))


def _hottest(facts: Facts, found: Facts, *, has_callers: bool) -> Iterator[Advice]:
    """Yield a sentence on a function that stands out, or on a flat profile; and on the hottest path.

    The function comes with its callers, if they are known.
    """
    whole, rows = found["value"], found["rows"]
    together = sum(row["self"] for row in rows)
    if rows and rows[0]["self"] >= _HOT * whole:
        first = rows[0]
        name, callers = first["name"], first["callers"]
        is_named, share = not name.startswith("["), format_percent(first["self"], whole)
        text = f"{'{0}' if is_named else 'Code without a name, {0},'} takes {share} by itself"
        if has_callers and callers and callers[0]["name"]:
            share = format_percent(callers[0]["value"], first["total"])
            text = f"{text}; {share} of its total is for calls from {{1}}"
        where = ". To see which lines cost most, use perf2x annotate." if is_named else "."
        yield Advice("hottest", text + where, (name, *(row["name"] for row in callers[:1])))
    elif rows and together < _FLAT * whole:
        text = f"The cost is spread: the {len(rows):,} hottest of {facts['functions']:,} functions take"
        text = f"{text} {format_percent(together, whole)} by themselves. Look at totals and paths instead."
        yield Advice("flat", text)
    for path in facts["paths"][:has_callers]:
        if path["total"] >= _HOT * whole:
            text = f"The hottest path ends in {{0}} and takes {format_percent(path['total'], whole)}."
            yield Advice("path", text, (path["functions"][-1],))
