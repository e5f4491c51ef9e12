"""Makes samples from Arm SPE records, of the kinds that ``--itrace`` selects, as in perf.

A record can make samples of several kinds: "instructions", "memory" if it uses memory, "l1d-miss" if it missed there …
Each kind is an event of its own. Source of truth: arm_spe_sample and arm_spe_synth_events in tools/perf/util/arm-spe.c,
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
"""Names of events, and the letters that select them.

The order is the reverse of perf's, so that formats with one event show "instructions".
"""
_LETTERS = "bfmtaMi"  # of all kinds
_TOKEN = r"[bfmtaM]|i[0-9]{0,9}i?|l[0-9]{0,9}"  # i has a period, and optionally its unit; l has a number of branches
_MAX_BRANCHES = 2  # a record has its own branch, and the target of the previous one
# fields of all samples, and fields that depend on how the trace was recorded
_MADE = SampleType.IP | SampleType.TID | SampleType.ADDR | SampleType.PERIOD | SampleType.DATA_SRC | SampleType.WEIGHT
_AS_RECORDED = SampleType.TIME | SampleType.CPU | SampleType.PHYS_ADDR


class SampleKinds(Frozen):
    """The options of ``--itrace``."""

    names: tuple[str, ...]
    """Selected names of ``_KINDS``, in that order."""
    period: int = 1
    """Samples are made from every Nth record."""
    branches: int = 0
    """Maximum number of branches in a branch stack of "branch" and "instructions".

    With 0, only "branch" has branch stacks, which contain the branch itself.
    """

    def events(self, recorded: Sequence[Event], trace_event: Event) -> tuple[Event, ...]:
        """Return an event for each selected kind, numbered after the ``recorded`` ones, else like ``trace_event``."""
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
    """Parse ``--itrace``, "" for all kinds. Raises SettingError for letters that Arm SPE does not support."""
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
# (4, 2) PERF_BR_* of unconditional and conditional branches by form (unknown, call, return, other)
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
    """Return (n, kinds) whether each record makes a sample of each selected kind."""
    return np.stack([_makes_sample(records, name) for name in kinds.names], axis=1)


def _makes_sample(records: TraceRecords, name: str) -> Bools:
    if name in _EVENT_BITS:
        return records.has_event(_EVENT_BITS[name])
    if name == "branch":
        return records.is_class(OpClass.BRANCH)
    return uses_memory(records) if name == "memory" else trues(len(records))


def make_samples(
    records: TraceRecords, facts: RecordFacts, kinds: SampleKinds, first_event: int, want: Want
) -> Samples:
    """Return the samples of n records in the order of the records.

    ``first_event`` is the index of the first kind's event; the other kinds follow.
    """
    row, kind = as_int64(np.nonzero(kinds_of(records, kinds)))  # (samples,) row of the record, and index in kinds.names
    # no sample has the index of a name that was not selected
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
    """Branch stacks of samples made from the records ``row`` (samples,).

    The newest branch is the sampled operation, if that is a branch; a sample of "branch" has it whatever the ``limit``.
    The previous branch follows; its source is unknown (0).
    """
    has_stack = is_branch | (is_instruction & (limit > 0))
    has_own = has_stack & records.is_class(OpClass.BRANCH)[row]
    has_previous = has_stack & (records.previous_target[row] != 0) & (has_own < limit)
    is_present = np.stack([has_own, has_previous], axis=1)  # (samples, 2)
    zeros = np.zeros(len(row), np.uint64)

    def column(of_own: U64, of_previous: U64) -> U64:
        values: U64 = np.stack([of_own, of_previous], axis=1)[is_present]
        return values

    return Branches(
        offsets_of(is_present.sum(axis=1, dtype=np.int64)),
        column(records.pc[row], zeros),
        column(records.target[row], records.previous_target[row]),
        column(_branch_flags(records)[row], zeros),
    )


def _branch_flags(records: TraceRecords) -> U64:
    """Flags (n,) as in perf_branch_entry: mispred 0, predicted 1, in_tx 2, cycles from 4, type from 20.

    Bit 33 is perf's own flag not_taken (branch_flags in tools/perf/util/branch.h).
    """

    def bit(is_set: Bools, number: int) -> U64:
        return as_uint64(is_set) << np.uint64(number)

    mispredicted = records.has_event(SampledEvent.MISPREDICTED)
    # Payload byte: bit 0 conditional, bit 1 indirect, bits 3 and 4 the form (1 is a call). perf counts an indirect
    # branch that is not a call as a return.
    is_return = records.matches(0x02, 0x02) & ~records.matches(0x18, 0x08)
    form = np.where(is_return, np.uint64(2), records.operation >> np.uint64(3) & np.uint64(3))
    kind = _BRANCH_TYPES[as_int64(form), as_int64(records.operation & np.uint64(1))]
    flags = bit(mispredicted, 0) | bit(~mispredicted, 1) | bit(records.has_event(SampledEvent.TRANSACTIONAL), 2)
    flags |= records.latency << np.uint64(4) | kind << np.uint64(20)
    return flags | bit(records.has_event(SampledEvent.NOT_TAKEN), 33)
