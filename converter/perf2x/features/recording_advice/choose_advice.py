"""Chooses the advice on a recording: which perf options would have made it more useful."""

import math
import re
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.abi import CpuMode, EventType, SampleType
from perf2x.base.columnar import Bools, as_int64, as_intp, falses, flatnonzero, sum_at, sum_of, zeros
from perf2x.model.advice import Advice
from perf2x.model.number_format import plural
from perf2x.model.printable_text import base_name
from perf2x.model.profile import Profile, path_sums, stack_weights
from perf2x.model.recording import Event, Session
from perf2x.model.step_report import StepReport
from perf2x.symbolizer.symbol_report import SymbolReport

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.symbol_source import Context  # imports all that reads object files

RECORD_DATES = "Record with perf record -k mono, or pass --start-time"
_FEW_SAMPLES = 400
"""With this many samples, a share of 10 % is uncertain by ±3 points (two standard deviations)."""
_UNNAMED = 0.05
# Advice is given if more than this share of samples lack a name, or the caller.
_CUT = 0.5
# Advice is given if at least this share of user stacks is cut off, for lack of frame pointers.
_TOO_FEW_SAMPLES = 40
"""With fewer samples, a share of 10 % may just as well be 0 % or 20 %."""
_FEW_STACKS = 20
"""With fewer user stacks, perf2x does not conclude how programs were built."""
_USER, _MAPPED = (1, 2, 4), 8
"""Bits of `_walked_stacks`: the first, second, third outermost frame is user code; the outermost is in a mapping."""
_USER_ONLY = re.compile(r":[a-zA-Z]*u[a-zA-Z]*\b|^--all-user$")
_DEFAULT_MODIFIERS = re.compile(r":[a-zA-Z]*(P|ppp)[a-zA-Z]*$")
"""Modifiers that perf adds to its default event, if the command names none."""
_OTHER_CHAINS = SampleType.BRANCH_STACK | SampleType.DATA_SRC
"""Samples of branches and of memory accesses are useful without a stack."""


class ChainReport(StepReport):
    """Numbers of samples by how their stacks were recorded; they add up over recordings."""

    samples: int = 0
    """All samples, of recordings that show how stacks were recorded."""
    without: int = 0
    """Samples of events that record no stack, although nothing else was requested."""
    kernel_alone: int = 0
    """Samples of events that record only the kernel's part of the stack."""
    kernel_refused: int = 0
    """Samples of events that exclude the kernel, although the command does not request that."""
    by_pointer: int = 0
    """User stacks that the kernel walked by frame pointer."""
    cut: int = 0
    """Stacks among ``by_pointer`` that have one or two frames, and no caller in a mapped file."""
    callers: int = 0
    """Samples without the caller of the sampled function; more may lack it."""


def chain_report(profile: Profile, session: Session, context: "Context | None") -> ChainReport:
    """Count samples by how their stacks were recorded.

    ``profile`` has the stacks as stitched, and begins with the session's events. ``context`` finds the code that shows
    whether callers are missing; without it, they are not counted.
    """
    events, samples = session.events, profile.samples
    if any(event.type < 0 for event in events):  # events of a dataset, which does not store this
        return ChainReport()
    count = as_int64(np.bincount(as_intp(samples.event), samples.count, len(profile.events)))

    def samples_of(is_chosen: list[bool]) -> int:
        """Return the number of samples of the session's events for which ``is_chosen`` is true."""
        return sum_of(count[flatnonzero(np.array(is_chosen, np.bool_))])

    by_pointer = np.array([_is_by_pointer(event) for event in events] + [False] * (len(count) - len(events)), np.bool_)
    walked, cut = _walked_stacks(profile, by_pointer) if by_pointer.any() else (0, 0)
    return ChainReport(
        samples=sum_of(count),
        without=samples_of([_is_without(event, session) for event in events]),
        kernel_alone=samples_of([_is_kernel_alone(event) for event in events]),
        kernel_refused=samples_of([_is_kernel_refused(event, session) for event in events]),
        by_pointer=walked,
        cut=cut,
        callers=_callers(profile, by_pointer, context) if walked and context else 0,
    )


def advice(
    chains: ChainReport, profile: Profile, symbols: SymbolReport | None, source: str, *, is_text: bool = False
) -> tuple[Advice, ...]:
    """Return all advice for a finished profile, on stacks first; ``is_text``: the input was text, not perf.data."""
    return (*_on_stacks(chains), *_on_names(symbols, source, is_text), *_on_samples(profile), *_on_dates(profile))


def _on_stacks(chains: ChainReport) -> Iterator[Advice]:
    for about, number, text in (
        (
            "no_stacks",
            chains.without,
            "No call stacks were recorded, so each sample is one frame: record with perf record -g.",
        ),
        (
            "kernel_stacks",
            chains.kernel_alone,
            "Only the kernel's part of the stacks was recorded: for callers in user code, record with perf record -g.",
        ),
        (
            "no_kernel",
            chains.kernel_refused,
            "Only user code was recorded, as perf_event_paranoid allows no more: sudo perf record, or sudo sysctl "
            "kernel.perf_event_paranoid=1, records the kernel, too.",
        ),
    ):
        if chains.samples and number == chains.samples:
            yield Advice(about, text)
    if chains.by_pointer >= _FEW_STACKS and chains.cut >= _CUT * chains.by_pointer:
        share = f"{math.floor(100 * chains.cut / chains.by_pointer)} % of the user stacks end after one or two frames"
        text = "as in programs built without frame pointers: perf record --call-graph dwarf records them whole."
        yield Advice("cut_stacks", f"{share}, {text}")
    elif chains.callers > _UNNAMED * chains.samples:
        share = f"{100 * chains.callers / chains.samples:.0f} % of the samples"
        text = f"The caller of the sampled function is missing in {share}, as it had no frame there:"
        yield Advice("missing_callers", f"{text} record with perf record --call-graph dwarf.")


def _on_names(symbols: SymbolReport | None, source: str, is_text: bool) -> Iterator[Advice]:
    """Yield advice if functions lack names; frames outside all mappings (``[unknown]``) cannot have any."""
    if is_text and symbols is not None and symbols.total > 0 and not symbols.named:
        text = "The text has only addresses, which cannot be named: perf script -F comm,tid,time,event,ip,sym,dso"
        yield Advice("unnamed", f"{text} prints the names where the recording was made.")
        return
    lacking = [row for row in symbols.objects if row.name != "[unknown]"] if symbols is not None else []
    unnamed = sum(row.unnamed_samples for row in lacking)
    if symbols is None or unnamed <= _UNNAMED * symbols.samples:
        return
    worst = max(lacking, key=lambda row: row.unnamed_samples)
    share = f"{100 * unnamed / symbols.samples:.0f} % of the samples are in functions without a name"
    text = f"{share}, {worst.unnamed_samples:,} of {symbols.samples:,} in {{0}}; for what would help: "
    yield Advice("unnamed", text, (worst.name,), command=f"perf2x info --symbols -v {quote(source)}")


def _on_samples(profile: Profile) -> Iterator[Advice]:
    if not profile.events:
        return
    event = profile.events[profile.default_event]
    samples = sum_of(profile.samples.count[profile.samples.event == profile.default_event])
    is_exact = event.is_wait or event.is_count or not (event.frequency or event.period > 1)
    if is_exact or not 0 < samples < _FEW_SAMPLES:
        return
    spread = f"a share of 10 % is uncertain by ±{200 * math.sqrt(0.1 * 0.9 / samples):.0f} points"
    names = (event.name,) if samples < sum_of(profile.samples.count) else ()
    are = "is" if samples == 1 else "are"
    text = f"There {are} only {plural(samples, 'sample')}{' of {0}' if names else ''}"
    text += f": {'too few to tell shares' if samples < _TOO_FEW_SAMPLES else spread}"
    text += ". Record for longer, or at a higher frequency (perf record -F)."
    yield Advice("samples", text, names)


def _on_dates(profile: Profile) -> Iterator[Advice]:
    if len(profile.samples) and not profile.meta.wall_start_ns:
        yield Advice("undated", f"This recording has no wall-clock time. {RECORD_DATES}.", for_dates=True)


def _is_without(event: Event, session: Session) -> bool:
    """Return whether an event lacks stacks that the user would want.

    perf's other commands (sched, lock, mem …) record what they need. Some versions of perf write only the first word of
    the command line; then tracepoints count as recorded by another command.
    """
    command = session.command_line
    is_perf = bool(command) and base_name(command[0]).startswith("perf")
    is_other_command = command[1] != "record" if is_perf and len(command) > 1 else event.type == EventType.TRACEPOINT
    return not event.sample_type & (SampleType.CALLCHAIN | _OTHER_CHAINS) and not is_other_command


def _is_kernel_alone(event: Event) -> bool:
    return bool(
        event.sample_type & SampleType.CALLCHAIN
        and "exclude_callchain_user" in event.flags
        and not event.sample_type & SampleType.STACK_USER
        and not event.flags & {"defer_callchain", "exclude_user"}
    )


def _is_kernel_refused(event: Event, session: Session) -> bool:
    """Return whether perf excluded the kernel from an event, although the command line does not request that."""
    is_sampled = event.type != EventType.TRACEPOINT and "exclude_kernel" in event.flags
    words = session.command_line[1:]
    is_requested = any(map(_USER_ONLY.search, words)) if words else not _DEFAULT_MODIFIERS.search(event.name)
    return is_sampled and not is_requested


def _is_by_pointer(event: Event) -> bool:
    """Return whether the kernel walked the user stacks by frame pointer.

    Events with copied stacks do not count: the unwinder reports on those stacks itself.
    """
    is_copied = bool(event.sample_type & (SampleType.STACK_USER | SampleType.BRANCH_STACK))
    return (
        bool(event.sample_type & SampleType.CALLCHAIN) and not is_copied and "exclude_callchain_user" not in event.flags
    )


def _callers(profile: Profile, by_pointer: Bools, context: "Context") -> int:
    """Count samples whose stack lacks the caller of the sampled function.

    ``by_pointer`` (events,): whether the event's stacks come from frame pointers; other events do not count.
    """
    from perf2x.features.recording_advice.missing_callers import missing_callers

    at = profile.stacks.location
    weight = stack_weights(profile.samples, len(at), by_pointer[profile.samples.event])
    return missing_callers(profile, context, sum_at(at, weight, len(profile.locations)))


def _walked_stacks(profile: Profile, by_pointer: Bools) -> tuple[int, int]:
    """Count samples with a user stack, and those whose user stack is cut off; ``by_pointer`` as in `_callers`.

    A stack is cut off if it has only one or two user frames, and no caller in a mapped file: the function stands alone,
    or its caller's address is not code. A complete stack of two frames, such as ``_start``, ``main``, has a caller.
    """
    parent, at, locations = profile.stacks.parent, profile.stacks.location, profile.locations
    user = (locations.mode == CpuMode.USER) & ~locations.synthetic
    rows = flatnonzero(parent < 0)
    # Rows of the tree at depth 0, 1, 2 get a bit if they are user code. Summed along each path, the bits show which of
    # a stack's three outermost frames are.
    flags = zeros(len(parent))
    flags[rows] = _MAPPED * (locations.mapping[at[rows]] >= 0)
    for depth, flag in enumerate(_USER):
        if depth:
            is_parent = falses(len(parent) + 1)  # the last entry is for parent −1
            is_parent[rows] = True
            rows = flatnonzero(is_parent[parent])
        flags[rows] |= flag * user[at[rows]]
    sums = path_sums(parent, flags)
    first, second, third, mapped = (sums & flag != 0 for flag in (*_USER, _MAPPED))
    weight = stack_weights(profile.samples, len(parent), by_pointer[profile.samples.event])
    return sum_of(weight[first]), sum_of(weight[first & ~third & ~(second & mapped)])
