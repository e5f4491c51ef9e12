"""Makes samples from Arm SPE records, of the kinds that perf's ``--itrace`` selects; those of one record are adjacent.

Source of truth: arm_spe_sample and arm_spe_synth_events in tools/perf/util/arm-spe.c,
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
from perf2x.reader.spe.records import Happened, OpClass, TraceRecords

_KINDS = (
    ("instructions", "i"), ("memory", "M"), ("remote-access", "a"), ("branch", "b"), ("tlb-access", "t"),
    ("tlb-miss", "t"), ("llc-access", "m"), ("llc-miss", "m"), ("l1d-access", "f"), ("l1d-miss", "f"),
)  # fmt: skip
"""Names of events with their letters, in the reverse of perf's order, because formats of one event show the first."""
_ALL = "bfmtaMi"
_TOKEN = r"[bfmtaM]|i[0-9]{0,9}i?|l[0-9]{0,9}"
_MOST_BRANCHES = 2
_OWN = SampleType.IP | SampleType.TID | SampleType.ADDR | SampleType.PERIOD | SampleType.DATA_SRC | SampleType.WEIGHT
_RECORDED = SampleType.TIME | SampleType.CPU | SampleType.PHYS_ADDR


class SampleKinds(Frozen):
    """The options of ``--itrace``."""

    names: tuple[str, ...]
    """Members of KINDS, in order."""
    period: int = 1
    """Make samples from every Nth record."""
    branches: int = 0
    """Branches in samples of branches and instructions; 0: only the branch itself, in samples of branches."""

    def events(self, recorded: Sequence[Event], trace: Event) -> tuple[Event, ...]:
        """Return an event for each kind, numbered after the recorded ones; ``trace`` is the recorded one."""
        timed = any(event.sample_type & SampleType.TIME for event in recorded)
        kind = _OWN | trace.sample_type & _RECORDED | (SampleType.TIME if timed else 0)
        stacks = {"branch", "instructions" if self.branches else ""}
        return tuple(
            replace(
                trace, index=index, name=name, type=EventType.HARDWARE, config=int(name == "instructions"), ids=(),
                sample_period=self.period, sample_type=kind | (SampleType.BRANCH_STACK if name in stacks else 0),
                read_format=0, flags=trace.flags - {"freq"}, group_leader=-1,
            )
            for index, name in enumerate(self.names, len(recorded))
        )  # fmt: skip


def sample_kinds(itrace: str) -> SampleKinds:
    """Parse the letters of ``--itrace``, "" for all. Raises SettingError for letters that Arm SPE does not support."""
    letters = {found[0]: found[1:].rstrip("i") for found in re.findall(_TOKEN, itrace or _ALL)}
    names = tuple(name for name, letter in _KINDS if letter in letters)
    if not names or not re.fullmatch(f"(?:{_TOKEN}|[ ,])*", itrace):
        raise SettingError("", "itrace", f" {itrace!r} selects no samples; Arm SPE supports {_ALL}, iNi, l and lN")
    branches = min(int(letters["l"] or _MOST_BRANCHES), _MOST_BRANCHES) if "l" in letters else 0
    return SampleKinds(names, max(int(letters.get("i") or 1), 1), branches)


_EVENTS = {
    "l1d-miss": Happened.L1D_MISS, "l1d-access": Happened.L1D_ACCESS, "llc-miss": Happened.LLC_MISS,
    "llc-access": Happened.LLC_ACCESS, "tlb-miss": Happened.TLB_MISS, "tlb-access": Happened.TLB_ACCESS,
    "remote-access": Happened.REMOTE,
}  # fmt: skip
_KERNEL_HALF = np.uint64(1 << 63)
_TYPES = as_uint64([[0, 1], [4, 9], [6, 10], [2, 1]])
"""PERF_BR_* by form (unknown, call, return, other) and by whether it is conditional."""


class RecordFacts(Frozen):
    """Properties of records that are not in their packets."""

    position: I64
    time: U64 | None
    pid: I32
    tid: I32
    cpu: int
    data_src: U64


def kinds_of(records: TraceRecords, kinds: SampleKinds) -> Bools:
    """Return (n, kinds) which kinds of samples each record makes."""
    return np.stack([_makes(records, name) for name in kinds.names], axis=1)


def _makes(records: TraceRecords, name: str) -> Bools:
    if name in _EVENTS:
        return records.had(_EVENTS[name])
    if name == "branch":
        return records.is_of(OpClass.BRANCH)
    return uses_memory(records) if name == "memory" else trues(len(records))


def make_samples(
    records: TraceRecords, facts: RecordFacts, kinds: SampleKinds, first_event: int, want: Want
) -> Samples:
    """Return the samples of records in their order; their events are numbered from ``first_event``."""
    row, kind = as_int64(np.nonzero(kinds_of(records, kinds)))
    is_branch, is_instruction = (kind == [*kinds.names, name].index(name) for name in ("branch", "instructions"))
    jumps = is_branch | (is_instruction & records.is_of(OpClass.BRANCH)[row])
    ip = records.pc[row]
    none = np.uint64(0)
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
        addr=np.where(jumps, records.target[row], records.data[row]),
        weight=records.latency[row],
        data_src=np.where(is_branch, none, facts.data_src[row]),
        branches=branches,
        extra={"phys_addr": np.where(is_branch, none, records.physical[row])},
    )


def _branches(records: TraceRecords, row: I64, is_branch: Bools, is_instruction: Bools, most: int) -> Branches:
    """Return branch stacks: the branch itself, then the target of the previous one, whose source is unknown (0)."""
    carries = is_branch | (is_instruction & (most > 0))
    own = carries & records.is_of(OpClass.BRANCH)[row]
    before = carries & (records.previous[row] != 0) & (own < most)
    pair = np.stack([own, before], axis=1)
    zeros = np.zeros(len(row), np.uint64)

    def column(of_own: U64, of_before: U64) -> U64:
        values: U64 = np.stack([of_own, of_before], axis=1)[pair]
        return values

    return Branches(
        offsets_of(pair.sum(axis=1, dtype=np.int64)),
        column(records.pc[row], zeros),
        column(records.target[row], records.previous[row]),
        column(_branch_flags(records)[row], zeros),
    )


def _branch_flags(records: TraceRecords) -> U64:
    """Return (n,) flags of struct perf_branch_entry; bit 33: not taken (branch_flags in tools/perf/util/branch.h)."""

    def bit(holds: Bools, place: int) -> U64:
        return as_uint64(holds) << np.uint64(place)

    missed = records.had(Happened.MISPREDICTED)
    indirect = records.has(0x02, 0x02) & ~records.has(0x18, 0x08)  # a branch that is not a call counts as a return
    form = np.where(indirect, np.uint64(2), records.operation >> np.uint64(3) & np.uint64(3))
    kind = _TYPES[as_int64(form), as_int64(records.operation & np.uint64(1))]
    flags = bit(missed, 0) | bit(~missed, 1) | bit(records.had(Happened.TRANSACTIONAL), 2)
    flags |= records.latency << np.uint64(4) | kind << np.uint64(20)
    return flags | bit(records.had(Happened.NOT_TAKEN), 33)
