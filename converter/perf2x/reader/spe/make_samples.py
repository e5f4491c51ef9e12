"""Makes samples from Arm SPE records, of the kinds that ``--itrace`` selects, as in perf.

A record of one operation can make several samples: of the kind "instructions", of "memory" if the operation uses
memory, of "l1d-miss" if it missed there, and so on. Each kind is an event of its own. The samples of a record are
adjacent. Source of truth: arm_spe_sample and arm_spe_synth_events in tools/perf/util/arm-spe.c,
tools/perf/Documentation/itrace.txt.
"""

import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode, EventType, SampleType
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    Frozen,
    ListArray,
    as_int32,
    as_int64,
    as_uint64,
    offsets_of,
    trues,
)
from perf2x.errors import SettingError
from perf2x.model.recording import Branches, Event, Samples, Want
from perf2x.reader.spe.data_sources import uses_memory
from perf2x.reader.spe.records import OpClass, SampledEvent, TraceRecords

_KINDS = (
    ("instructions", "i"), ("memory", "M"), ("remote-access", "a"), ("branch", "b"), ("tlb-access", "t"),
    ("tlb-miss", "t"), ("llc-access", "m"), ("llc-miss", "m"), ("l1d-access", "f"), ("l1d-miss", "f"),
)  # fmt: skip
"""Kinds of samples: the names of their events, and the letters that select them.

The order is the reverse of perf's, so that formats with one event show "instructions", the first.
"""
_LETTERS = "bfmtaMi"  # those of all kinds
_TOKEN = r"[bfmtaM]|i[0-9]{0,9}i?|l[0-9]{0,9}"  # i has a period, and optionally its unit; l has a number of branches
_MAX_BRANCHES = 2  # a record knows no more: its own branch, and the target of the previous one
# fields of the samples made here: those of all samples, and those that depend on how the trace was recorded
_MADE = SampleType.IP | SampleType.TID | SampleType.ADDR | SampleType.PERIOD | SampleType.DATA_SRC | SampleType.WEIGHT
_AS_RECORDED = SampleType.TIME | SampleType.CPU | SampleType.PHYS_ADDR


class SampleKinds(Frozen):
    """The options of ``--itrace``."""

    names: tuple[str, ...]
    """The selected names of ``_KINDS``, in their order."""
    period: int = 1
    """N: samples are made from every Nth record."""
    branches: int = 0
    """Largest number of branches in the branch stack of a sample of the kinds "branch" and "instructions".

    With 0, only samples of the kind "branch" have a branch stack, which contains nothing but the branch itself.
    """

    def events(self, recorded: Sequence[Event], trace_event: Event) -> tuple[Event, ...]:
        """Return an event for each kind, numbered after the ``recorded`` ones.

        ``trace_event`` is the recorded event of the Arm SPE PMU, whose attributes the new events have otherwise.
        """
        has_times = any(event.sample_type & SampleType.TIME for event in recorded)
        fields = _MADE | trace_event.sample_type & _AS_RECORDED | (SampleType.TIME if has_times else 0)
        with_branches = {"branch", "instructions" if self.branches else ""}
        return tuple(
            replace(
                trace_event, index=index, name=name, ids=(),
                # 1 is PERF_COUNT_HW_INSTRUCTIONS; perf leaves the config of the other kinds 0
                type=EventType.HARDWARE, config=int(name == "instructions"),
                sample_type=fields | (SampleType.BRANCH_STACK if name in with_branches else 0),
                sample_period=self.period, read_format=0, flags=trace_event.flags - {"freq"}, group_leader=-1,
            )
            for index, name in enumerate(self.names, len(recorded))
        )  # fmt: skip


def sample_kinds(itrace: str) -> SampleKinds:
    """Parse the letters of ``--itrace``, "" for all. Raises SettingError for letters that Arm SPE does not support."""
    # letter → the number after it
    letters = {token[0]: token[1:].rstrip("i") for token in re.findall(_TOKEN, itrace or _LETTERS)}
    names = tuple(name for name, letter in _KINDS if letter in letters)
    if not names or not re.fullmatch(f"(?:{_TOKEN}|[ ,])*", itrace):
        raise SettingError("", "itrace", f" {itrace!r} selects no samples; Arm SPE supports {_LETTERS}, iNi, l and lN")
    branches = min(int(letters["l"] or _MAX_BRANCHES), _MAX_BRANCHES) if "l" in letters else 0
    return SampleKinds(names, max(int(letters.get("i") or 1), 1), branches)


_EVENT_BITS = {
    "l1d-miss": SampledEvent.L1D_MISS, "l1d-access": SampledEvent.L1D_ACCESS, "llc-miss": SampledEvent.LLC_MISS,
    "llc-access": SampledEvent.LLC_ACCESS, "tlb-miss": SampledEvent.TLB_MISS, "tlb-access": SampledEvent.TLB_ACCESS,
    "remote-access": SampledEvent.REMOTE,
}  # fmt: skip
_KERNEL_HALF = np.uint64(1 << 63)  # the kernel's addresses begin here
# (4, 2) PERF_BR_* by form (unknown, call, return, other) and by whether the branch is conditional.
_BRANCH_TYPES = as_uint64([[0, 1], [4, 9], [6, 10], [2, 1]])


class RecordFacts(Frozen):
    """Properties of n records that are not in their packets; arrays are (n,)."""

    position: I64
    time: U64 | None  # in nanoseconds
    pid: I32
    tid: I32
    cpu: int
    data_src: U64


def kinds_of(records: TraceRecords, kinds: SampleKinds) -> Bools:
    """Return whether each record makes a sample of each selected kind: a matrix (n, kinds)."""
    return np.stack([_makes_sample(records, name) for name in kinds.names], axis=1)


def _makes_sample(records: TraceRecords, name: str) -> Bools:
    """Return (n,) whether each record makes a sample of the kind ``name``."""
    if name in _EVENT_BITS:
        return records.has_event(_EVENT_BITS[name])
    if name == "branch":
        return records.is_class(OpClass.BRANCH)
    return uses_memory(records) if name == "memory" else trues(len(records))


def make_samples(
    records: TraceRecords, facts: RecordFacts, kinds: SampleKinds, first_event: int, want: Want
) -> Samples:
    """Return the samples of n records in the order of the records.

    ``first_event`` is the index of the first selected kind's event; those of the other kinds follow.
    """
    row, kind = as_int64(np.nonzero(kinds_of(records, kinds)))  # (samples,) the record, and the index in kinds.names
    # a name that was not selected gets the index after the last one, which no sample has
    is_branch, is_instruction = (kind == [*kinds.names, name].index(name) for name in ("branch", "instructions"))
    has_target = is_branch | (is_instruction & records.is_class(OpClass.BRANCH)[row])
    ip = records.pc[row]
    zero = np.uint64(0)
    branches = _branches(records, row, is_branch, is_instruction, kinds.branches) if Want.BRANCHES in want else None
    return Samples(
        event=as_int32(kind + first_event),
        position=facts.position[row],
        time=None if facts.time is None else facts.time[row],
        pid=facts.pid[row],
        tid=facts.tid[row],
        cpu=np.full(len(row), facts.cpu, np.int32),
        ip=ip,
        period=np.full(len(row), kinds.period, np.uint64),
        cpumode=np.where(ip >= _KERNEL_HALF, CpuMode.KERNEL, CpuMode.USER).astype(np.uint8),
        chain=ListArray.of_empty_rows(len(row), np.uint64),
        addr=np.where(has_target, records.target[row], records.data_address[row]),
        weight=records.latency[row],
        data_src=np.where(is_branch, zero, facts.data_src[row]),
        branches=branches,
        extra={"phys_addr": np.where(is_branch, zero, records.physical_address[row])},
    )


def _branches(records: TraceRecords, row: I64, is_branch: Bools, is_instruction: Bools, limit: int) -> Branches:
    """Return the branch stacks of samples made from the records ``row`` (samples,).

    A stack has at most ``limit`` branches, but a sample of the kind "branch" has one even if that is 0. The newest
    branch is the sampled operation itself, if that is a branch. Then comes the previous branch, of which only the
    target is known; its source is 0.
    """
    has_stack = is_branch | (is_instruction & (limit > 0))
    has_own = has_stack & records.is_class(OpClass.BRANCH)[row]
    has_previous = has_stack & (records.previous_target[row] != 0) & (has_own < limit)
    is_present = np.stack([has_own, has_previous], axis=1)  # (samples, 2)
    zeros = np.zeros(len(row), np.uint64)

    def column(of_own: U64, of_previous: U64) -> U64:
        """Join two (samples,) columns to one of all branches that are present, sample by sample."""
        values: U64 = np.stack([of_own, of_previous], axis=1)[is_present]
        return values

    return Branches(
        offsets_of(is_present.sum(axis=1, dtype=np.int64)),
        column(records.pc[row], zeros),
        column(records.target[row], records.previous_target[row]),
        column(_branch_flags(records)[row], zeros),
    )


def _branch_flags(records: TraceRecords) -> U64:
    """Return (n,) flags as in perf_branch_entry: mispred 0, predicted 1, in_tx 2, cycles from 4, type from 20.

    Bit 33 is perf's own flag not_taken (branch_flags in tools/perf/util/branch.h).
    """

    def bit(is_set: Bools, number: int) -> U64:
        return as_uint64(is_set) << np.uint64(number)

    mispredicted = records.has_event(SampledEvent.MISPREDICTED)
    # in the payload byte, bit 0 is a conditional branch, bit 1 an indirect one, bits 3 and 4 are the form, 1 being a
    # call; perf counts an indirect branch that is not a call as a return
    is_return = records.matches(0x02, 0x02) & ~records.matches(0x18, 0x08)
    form = np.where(is_return, np.uint64(2), records.operation >> np.uint64(3) & np.uint64(3))
    kind = _BRANCH_TYPES[as_int64(form), as_int64(records.operation & np.uint64(1))]
    flags = bit(mispredicted, 0) | bit(~mispredicted, 1) | bit(records.has_event(SampledEvent.TRANSACTIONAL), 2)
    flags |= records.latency << np.uint64(4) | kind << np.uint64(20)
    return flags | bit(records.has_event(SampledEvent.NOT_TAKEN), 33)
