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
from perf2x.model.profile import Profile, path_sums, samples_by_leaf
from perf2x.model.recording import Event, Session
from perf2x.model.step_report import StepReport
from perf2x.symbolizer.symbol_report import SymbolReport

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.symbol_source import Context  # imports all that reads object files

RECORD_DATES = "Record with perf record -k mono, or pass --start-time"
# with this many samples, a share of 10 % is uncertain by ±3 points (two standard deviations)
_FEW_SAMPLES = 400
# with fewer samples, a share of 10 % may just as well be 0 % or 20 %
_TOO_FEW_SAMPLES = 40
# no advice is given if at most this share of samples lacks the name of the sampled function, or its caller
_TOLERATED_SHARE = 0.05
# advice is given if at least this share of user stacks is cut off, for lack of frame pointers
_MANY_CUT_OFF = 0.5
# with fewer user stacks, nothing is concluded about how programs were built
_MIN_STACKS = 20
# bits in `_count_user_stacks`: the outermost, second and third frame are user code; the outermost frame is mapped
_USER_FRAMES, _OUTERMOST_IS_MAPPED = (1, 2, 4), 8
# arguments of perf record that restrict sampling to user code
_USER_ONLY = re.compile(r":[a-zA-Z]*u[a-zA-Z]*\b|^--all-user$")
# perf adds these modifiers to its default event
_DEFAULT_MODIFIERS = re.compile(r":[a-zA-Z]*(P|ppp)[a-zA-Z]*$")
# users record these without stacks: branches, and descriptions of memory accesses
_INSTEAD_OF_STACKS = SampleType.BRANCH_STACK | SampleType.DATA_SRC


class ChainReport(StepReport):
    """Numbers of samples by how their stacks were recorded."""

    samples: int = 0
    """All samples of recordings that show how stacks were recorded: not of datasets, texts and hardware traces."""
    without_stack: int = 0
    """Samples of events that record neither a stack nor data for which users need none; see `_lacks_stack`."""
    kernel_only: int = 0
    """Samples of events that record only the kernel's part of the stack."""
    kernel_excluded: int = 0
    """Samples of events that exclude the kernel, although the command line does not request that."""
    by_frame_pointer: int = 0
    """Samples with a user stack that the kernel walked by frame pointer."""
    cut_off: int = 0
    """Samples among ``by_frame_pointer`` whose user stack is cut off; see `_count_user_stacks`."""
    without_caller: int = 0
    """Samples whose stack lacks the caller of the sampled function.

    There may be more: only the locations with most samples, in x86 code that was found, are examined.
    """


def chain_report(profile: Profile, session: Session, context: "Context | None") -> ChainReport:
    """Count samples by how their stacks were recorded.

    The first events of ``profile`` are those of the session. Without ``context``, missing callers are not counted.
    """
    events, samples = session.events, profile.samples
    if any(event.type < 0 for event in events):  # a dataset does not store how stacks were recorded
        return ChainReport()
    count = as_int64(np.bincount(as_intp(samples.event), samples.count, len(profile.events)))

    def samples_of(is_chosen: list[bool]) -> int:
        return sum_of(count[flatnonzero(np.array(is_chosen, np.bool_))])

    is_walked = np.array(  # (events,)
        [_is_walked_by_frame_pointer(event) for event in events] + [False] * (len(count) - len(events)), np.bool_
    )
    walked, cut_off = _count_user_stacks(profile, is_walked) if is_walked.any() else (0, 0)
    return ChainReport(
        samples=sum_of(count),
        without_stack=samples_of([_lacks_stack(event, session) for event in events]),
        kernel_only=samples_of([_has_kernel_stack_only(event) for event in events]),
        kernel_excluded=samples_of([_excludes_kernel_unrequested(event, session) for event in events]),
        by_frame_pointer=walked,
        cut_off=cut_off,
        without_caller=_samples_without_caller(profile, is_walked, context) if walked and context else 0,
    )


def advice(
    chains: ChainReport, profile: Profile, symbols: SymbolReport | None, source: str, *, is_text: bool = False
) -> tuple[Advice, ...]:
    """Return all advice for a finished profile, on stacks first; ``is_text``: the input was text, not perf.data."""
    return (
        *_advice_on_stacks(chains),
        *_advice_on_names(symbols, source, is_text),
        *_advice_on_samples(profile),
        *_advice_on_dates(profile),
    )


def _advice_on_stacks(chains: ChainReport) -> Iterator[Advice]:
    for about, number, text in (
        (
            "no_stacks",
            chains.without_stack,
            "No call stacks were recorded, so each sample is one frame: record with perf record -g.",
        ),
        (
            "kernel_stacks",
            chains.kernel_only,
            "Only the kernel's part of the stacks was recorded: for callers in user code, record with perf record -g.",
        ),
        (
            "no_kernel",
            chains.kernel_excluded,
            "Only user code was recorded, as perf_event_paranoid allows no more: sudo perf record, or sudo sysctl "
            "kernel.perf_event_paranoid=1, records the kernel, too.",
        ),
    ):
        if chains.samples and number == chains.samples:
            yield Advice(about, text)
    if chains.by_frame_pointer >= _MIN_STACKS and chains.cut_off >= _MANY_CUT_OFF * chains.by_frame_pointer:
        yield Advice(
            "cut_stacks",
            f"{100 * chains.cut_off // chains.by_frame_pointer} % of the user stacks end after one or two frames, as "
            "in programs built without frame pointers: perf record --call-graph dwarf records them whole.",
        )
    elif chains.without_caller > _TOLERATED_SHARE * chains.samples:
        yield Advice(
            "missing_callers",
            f"The caller of the sampled function is missing in {100 * chains.without_caller / chains.samples:.0f} % of "
            "the samples, as it had no frame there: record with perf record --call-graph dwarf.",
        )


def _advice_on_names(symbols: SymbolReport | None, source: str, is_text: bool) -> Iterator[Advice]:
    if is_text and symbols is not None and symbols.total > 0 and not symbols.named:
        yield Advice(
            "unnamed",
            "The text has only addresses, which cannot be named: perf script -F comm,tid,time,event,ip,sym,dso prints "
            "the names where the recording was made.",
        )
        return
    # frames outside all mappings cannot have names
    unnamed_objects = [row for row in symbols.objects if row.name != "[unknown]"] if symbols is not None else []
    unnamed_samples = sum(row.unnamed_samples for row in unnamed_objects)
    if symbols is None or unnamed_samples <= _TOLERATED_SHARE * symbols.samples:
        return
    worst = max(unnamed_objects, key=lambda row: row.unnamed_samples)
    text = (
        f"{100 * unnamed_samples / symbols.samples:.0f} % of the samples are in functions without a name, "
        f"{worst.unnamed_samples:,} of {symbols.samples:,} in {{0}}; for what would help: "
    )
    yield Advice("unnamed", text, (worst.name,), command=f"perf2x info --symbols -v {quote(source)}")


def _advice_on_samples(profile: Profile) -> Iterator[Advice]:
    if not profile.events:
        return
    event = profile.events[profile.default_event]
    samples = sum_of(profile.samples.count[profile.samples.event == profile.default_event])
    # waits and counts of perf stat are exact, and with a period of 1 every occurrence is a sample
    is_exact = event.is_wait or event.is_count or not (event.frequency or event.period > 1)
    if is_exact or not 0 < samples < _FEW_SAMPLES:
        return
    # two standard deviations of a binomial share of 0.1, in percentage points
    spread = f"a share of 10 % is uncertain by ±{200 * math.sqrt(0.1 * 0.9 / samples):.0f} points"
    names = (event.name,) if samples < sum_of(profile.samples.count) else ()
    text = (
        f"There {'is' if samples == 1 else 'are'} only {plural(samples, 'sample')}{' of {0}' if names else ''}: "
        f"{'too few to tell shares' if samples < _TOO_FEW_SAMPLES else spread}. "
        "Record for longer, or at a higher frequency (perf record -F)."
    )
    yield Advice("samples", text, names)


def _advice_on_dates(profile: Profile) -> Iterator[Advice]:
    if len(profile.samples) and not profile.meta.wall_start_ns:
        yield Advice("undated", f"This recording has no wall-clock time. {RECORD_DATES}.", concerns_dates=True)


def _lacks_stack(event: Event, session: Session) -> bool:
    """Events of perf's commands other than record (sched, lock, mem …) do not count: they record what they need.

    Some versions of perf write only the first word of the command line; then tracepoints count as another command's.
    """
    command = session.command_line
    is_perf = bool(command) and base_name(command[0]).startswith("perf")
    is_other_command = command[1] != "record" if is_perf and len(command) > 1 else event.type == EventType.TRACEPOINT
    return not event.sample_type & (SampleType.CALLCHAIN | _INSTEAD_OF_STACKS) and not is_other_command


def _has_kernel_stack_only(event: Event) -> bool:
    return bool(
        event.sample_type & SampleType.CALLCHAIN
        and "exclude_callchain_user" in event.flags
        and not event.sample_type & SampleType.STACK_USER
        and not event.flags & {"defer_callchain", "exclude_user"}
    )


def _excludes_kernel_unrequested(event: Event, session: Session) -> bool:
    """perf excludes the kernel if perf_event_paranoid does not allow the user to sample it.

    Without a recorded command line, the modifiers of the event show what was requested.
    """
    is_sampled = event.type != EventType.TRACEPOINT and "exclude_kernel" in event.flags
    words = session.command_line[1:]
    is_requested = any(map(_USER_ONLY.search, words)) if words else not _DEFAULT_MODIFIERS.search(event.name)
    return is_sampled and not is_requested


def _is_walked_by_frame_pointer(event: Event) -> bool:
    """Leave out events with stack dumps or branch stacks, on which the unwinder reports."""
    is_copied = bool(event.sample_type & (SampleType.STACK_USER | SampleType.BRANCH_STACK))
    return (
        bool(event.sample_type & SampleType.CALLCHAIN) and not is_copied and "exclude_callchain_user" not in event.flags
    )


def _samples_without_caller(profile: Profile, is_walked: Bools, context: "Context") -> int:
    from perf2x.features.recording_advice.missing_callers import samples_without_caller

    location = profile.stacks.location
    samples_of_stack = samples_by_leaf(profile.samples, len(location), is_walked[profile.samples.event])
    return samples_without_caller(profile, context, sum_at(location, samples_of_stack, len(profile.locations)))


def _count_user_stacks(profile: Profile, is_walked: Bools) -> tuple[int, int]:
    """Count samples with a user stack, and those among them whose user stack is cut off.

    A user stack is cut off if it has one frame, or two of which the outer one is outside all mappings. Only events of
    ``is_walked`` (events,) count.
    """
    parent, location, locations = profile.stacks.parent, profile.stacks.location, profile.locations
    is_user = (locations.mode == CpuMode.USER) & ~locations.synthetic
    rows = flatnonzero(parent < 0)
    # rows at depth 0, 1, 2 get a bit if they are user code, and sums along each path collect these bits
    flags = zeros(len(parent))
    flags[rows] = _OUTERMOST_IS_MAPPED * (locations.mapping[location[rows]] >= 0)
    for depth, flag in enumerate(_USER_FRAMES):
        if depth:
            is_parent = falses(len(parent) + 1)  # the last entry is for parent −1
            is_parent[rows] = True
            rows = flatnonzero(is_parent[parent])
        flags[rows] |= flag * is_user[location[rows]]
    sums = path_sums(parent, flags)
    is_first_user, is_second_user, is_third_user, is_mapped = (
        sums & flag != 0 for flag in (*_USER_FRAMES, _OUTERMOST_IS_MAPPED)
    )
    samples_of_stack = samples_by_leaf(profile.samples, len(parent), is_walked[profile.samples.event])
    return sum_of(samples_of_stack[is_first_user]), sum_of(
        samples_of_stack[is_first_user & ~is_third_user & ~(is_second_user & is_mapped)]
    )
