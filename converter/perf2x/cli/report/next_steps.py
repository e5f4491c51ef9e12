"""Advice on what to look at next, in sentences that follow only from the data of a report."""

from collections.abc import Iterator, Sequence
from typing import Any

from perf2x.model.advice import Advice
from perf2x.model.number_format import format_change, format_percent

# Advice is given from these percentages on: lost samples, samples without their user stack, cut stack dumps.
_LOST, _MISSING, _CUT = 1.0, 1.0, 5.0
# Advice is given if samples of idle CPUs are at least this share of the total cost.
_IDLE = 0.1
# Advice is given if the kernel has at least this share of the cost without idle CPUs.
_KERNEL = 0.3
# A function or path is hot if it has at least this share of the total cost.
_HOT = 0.1
# The cost is spread if all functions in the table together have less than this share of it.
_FLAT = 0.3
# Advice is given if one of several threads has at least this share of the total cost.
_ONE_THREAD = 0.9
# Threads mostly waited if they used fewer CPUs than this on average.
_WAITING = 0.5

Facts = dict[str, Any]
"""The data of a report, or a part of it, as in its JSON."""


def next_steps(facts: Facts, recording_advice: Sequence[Advice] = ()) -> Iterator[Advice]:
    """Yield all sentences that apply: on how far to trust the data, then on changes, then on where the time went."""
    if not facts["by_self"]["samples"]:
        if not any("readings" in event for event in facts["events"]):  # counts of perf stat need no samples
            yield Advice("samples", "There are no samples of this event to judge.")
        return
    yield from recording_advice
    yield from _quality(facts["percent"], facts["unwound"])
    if facts["difference"]:
        yield _change_advice(facts["difference"])
    yield from _shares(facts, facts["by_self"])
    yield from _hottest(facts, facts["by_self"], has_callers=not lacks_callers(recording_advice))


def lacks_callers(advice: Sequence[Advice]) -> bool:
    """Return whether callers are missing in so many stacks that the callers shown are unreliable."""
    return not {"cut_stacks", "missing_callers"}.isdisjoint(item.about for item in advice)


def _quality(percentages: Facts, unwound: Facts) -> Iterator[Advice]:
    cut_percentage = 100 * (1 - unwound["ends"].get("complete", 0) / unwound["samples"]) if unwound["samples"] else 0.0
    effect_of_losses = (
        "costs are too low by about as much. Use a larger buffer (perf record -m) or a lower frequency (-F)."
    )
    effect_on_callers = "totals of functions that call others are too low."
    for about, percentage, limit, text in (
        ("lost", percentages["lost"], _LOST, f"samples were lost, so {effect_of_losses}"),
        ("missing_user", percentages["missing_user"], _MISSING, f"samples miss their user stack: {effect_on_callers}"),
        ("stacks", cut_percentage, _CUT, f"user stack dumps end before their outermost function: {effect_on_callers}"),
    ):
        if percentage >= limit:
            yield Advice(about, f"{percentage:.1f} % of the {text}")


def _change_advice(difference: Facts) -> Advice:
    before = difference["before"]
    moved = f"{difference['moved_significantly']:,} of {difference['moved']:,}"
    text = f"{moved} functions that changed did so by more than noise"
    if not difference["normalized"]:
        real = "more than sampling noise explains" if difference["significant"] else "which sampling noise may explain"
        text = f"The total changed by {format_change(difference['after'] - before, before)}, {real}; {text}"
    for row in difference["rows"]:
        if row["significant"]["self"]:
            change = format_change(row["self"][1] - row["self"][0], before)
            return Advice("difference", f"{text}, most of all {{0}} ({change} of the total before).", (row["name"],))
    return Advice("difference", f"{text}.")


def _shares(facts: Facts, by_self: Facts) -> Iterator[Advice]:
    event_total, idle, span_ns, threads = (
        by_self["value"],
        facts["idle"],
        facts["duration_ns"],
        facts["recorded_threads"],
    )
    if idle >= max(_IDLE * event_total, 1):
        share = format_percent(idle, event_total)
        yield Advice("idle", f"{share} are samples of idle CPUs; --no-idle leaves them out of all shares.")
    is_clock = by_self["event"].startswith(("cpu-clock", "task-clock")) and by_self["unit"] == "nanoseconds"
    if is_clock and not idle and event_total < _WAITING * span_ns:
        text = f"Threads ran for {event_total / 1e9:.2f} s of {span_ns / 1e9:.2f} s"
        text += f" ({event_total / span_ns:.2f} CPUs on average)."
        text += " The samples cannot tell whether they waited for the rest of the time or were preempted:"
        yield Advice("waiting", f"{text} record with --switch-events and convert with --off-cpu beside.")
    # samples of idle CPUs are in the kernel, too
    busy, kernel = event_total - idle, facts["kernel"] - idle
    if kernel >= _KERNEL * busy > 0:
        text = f"{format_percent(kernel, busy)} of the cost is in the kernel, on behalf of its callers:"
        yield Advice("kernel", f"{text} --frames user shows the callers' own shares.")
    for row in facts["threads"]["rows"][: threads > 1]:  # the first thread, if there are several
        if row["self"] >= _ONE_THREAD * event_total:
            text = f"One of {threads:,} threads, {{0}}, takes {format_percent(row['self'], event_total)} of the cost:"
            yield Advice("threads", f"{text} the work is not shared.", (row["name"],))


def _hottest(facts: Facts, by_self: Facts, *, has_callers: bool) -> Iterator[Advice]:
    event_total, rows = by_self["value"], by_self["rows"]
    rows_total = sum(row["self"] for row in rows)
    if rows and rows[0]["self"] >= _HOT * event_total:
        hottest = rows[0]
        name, callers = hottest["name"], hottest["callers"]
        is_named, share = not name.startswith("["), format_percent(hottest["self"], event_total)
        text = f"{'{0}' if is_named else 'Code without a name, {0},'} takes {share} by itself"
        if has_callers and callers and callers[0]["name"]:
            caller_share = format_percent(callers[0]["value"], hottest["total"])
            text = f"{text}; {caller_share} of its total is for calls from {{1}}"
        ending = ". To see which lines cost most, use perf2x annotate." if is_named else "."
        yield Advice("hottest", text + ending, (name, *(row["name"] for row in callers[:1])))
    elif rows and rows_total < _FLAT * event_total:
        text = f"The cost is spread: the {len(rows):,} hottest of {facts['functions']:,} functions take"
        text = f"{text} {format_percent(rows_total, event_total)} by themselves. Look at totals and paths instead."
        yield Advice("flat", text)
    for path in facts["paths"][:has_callers]:  # the first path, or none
        if path["total"] >= _HOT * event_total:
            text = f"The hottest path ends in {{0}} and takes {format_percent(path['total'], event_total)}."
            yield Advice("path", text, (path["functions"][-1],))
