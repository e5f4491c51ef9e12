"""Compares stacks with what perf printed, sample by sample, and names every difference.

perf's text may hold inlined frames (several lines of one address) and ends at 127 lines; both are allowed for.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from tests.support.perf_script import Block, Frame

PERF_MAP = re.compile(r"^/tmp/perf-\d+\.map$")
"""perf's object of anonymous memory, whose names it reads there."""
MAX_LINES = 127
"""PERF_MAX_STACK_DEPTH: perf script prints no more frames of a sample."""


@dataclass
class Ours:
    """One sample of ours in perf's terms: ``frames`` are (address, object) innermost first, without placeholders."""

    tid: int
    time_ns: int | None
    event: str
    comm: str
    period: int
    frames: list[tuple[int, str]]
    kernel_frames: int
    """Count the kernel's frames among ``frames``."""
    missing: bool = False

    @property
    def key(self) -> tuple[int, int | None, str]:
        return self.tid, None if self.time_ns is None else self.time_ns // 1000, self.event


@dataclass
class Outcome:
    """Counts of samples by verdict, and the first example of each verdict that is not ``equal``."""

    verdicts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[Ours | None, Block | None]] = field(default_factory=dict)
    renamed: list[tuple[Ours, Block]] = field(default_factory=list)
    """Pairs whose threads have different names."""
    completed: list[tuple[Ours, Block]] = field(default_factory=list)
    """Pairs that agree on every frame."""

    def add(self, verdict: str, ours: Ours | None, block: Block | None) -> None:
        self.verdicts[verdict] += 1
        if ours and block and verdict in {"equal", "comm"}:
            self.completed.append((ours, block))
        if verdict != "equal":
            self.examples.setdefault(verdict, (ours, block))
        if ours and block and ours.comm != block.comm:
            self.renamed.append((ours, block))


def compare(ours: Iterable[Ours], blocks: Iterable[Block]) -> Outcome:
    """Pairs samples by thread, microsecond and event; several of one key are paired as well as they go."""
    outcome = Outcome()
    waiting: dict[tuple[int, int | None, str], list[Ours]] = defaultdict(list)
    for sample in ours:
        waiting[sample.key].append(sample)
    for block in blocks:
        if not waiting[block.key]:
            outcome.add("only in perf's text", None, block)
            continue
        best, sample = _best(waiting[block.key], block)
        waiting[block.key].remove(sample)
        outcome.add(best, sample, block)
    for rest in waiting.values():
        for sample in rest:
            outcome.add("only in ours", sample, None)
    return outcome


def _best(samples: list[Ours], block: Block) -> tuple[str, Ours]:
    """Return the first sample that equals the block, else the one that differs least, with its verdict."""
    found: list[tuple[str, Ours]] = []
    for sample in samples:
        found.append((verdict(sample, block), sample))
        if found[-1][0] == "equal":  # a recording without times has a thousand samples under one key
            return found[-1]
    return min(found, key=lambda pair: _badness(pair[0]))


def _badness(verdict: str) -> tuple[bool, bool, int]:
    return verdict != "equal", "addresses" in verdict, len(verdict)


def verdict(sample: Ours, block: Block) -> str:
    """``equal``, or what differs (addresses, objects, comm, period); samples that perf left open say so."""
    completed_by_perf = block.cookie is None
    frames = block.frames if completed_by_perf else block.frames[:-1]
    wanted = sample.frames if completed_by_perf else sample.frames[: sample.kernel_frames]
    if completed_by_perf and sample.missing:
        return "missing here, completed by perf"
    cut = len(block.frames) >= MAX_LINES
    found = [
        name
        for name, differs in (
            ("addresses", not same_addresses(wanted, frames, cut)),
            (objects_differ(wanted, frames), True),
            ("comm", sample.comm != block.comm),
            ("period", block.period is not None and sample.period != block.period),
        )
        if name and differs
    ]
    if not completed_by_perf and "addresses" not in found:
        found.insert(0, "left open by perf, " + ("missing" if sample.missing else "completed"))
    return ", ".join(found) or "equal"


def runs(addresses: Iterable[int]) -> list[tuple[int, int]]:
    """(address, how often in a row)"""
    return [(address, len(list(group))) for address, group in groupby(addresses)]


def same_addresses(ours: list[tuple[int, str]], perfs: list[Frame], cut: bool) -> bool:
    """Inlining prints one address several times: perf's runs are whole multiples of ours."""
    left, right = runs(address for address, _ in ours), runs(frame.address for frame in perfs)
    if cut:
        left, right = left[: max(len(right) - 1, 0)], right[:-1]
    return len(left) == len(right) and all(
        ours[0] == perfs[0] and perfs[1] % ours[1] == 0 for ours, perfs in zip(left, right, strict=True)
    )


def objects_differ(ours: list[tuple[int, str]], perfs: list[Frame]) -> str:
    """Empty when every object that perf names (inlined lines name none) is ours too; else who knows less."""
    named = {frame.address: PERF_MAP.sub("//anon", frame.dso) for frame in perfs if not frame.inlined}
    others = [named[address] for address, dso in ours if named.get(address, dso) != dso]
    return "" if not others else "objects that perf lost" if set(others) == {"[unknown]"} else "objects"


def perf_object(mapping: str | None) -> str:
    """A recorded file name as perf prints it."""
    if mapping is None:
        return "[unknown]"
    return "[kernel.kallsyms]" if mapping.startswith("[kernel.kallsyms]") else mapping
