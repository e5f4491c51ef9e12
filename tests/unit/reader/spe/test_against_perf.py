"""Packets and samples of forged Arm SPE trace are those of perf 7.2 (tests/support/ask_spe.py stores its answers).

Two differences are ours: without ``i``, perf gives samples the period 0; and its samples of instructions have no data
address, which they had in perf 6.1.
"""

import json
import lzma
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf2x.model.recording.events import Samples
from perf2x.reader import open_recording
from perf2x.reader.spe.packets import Field, find_packets
from tests.support.ask_spe import ANSWERS, DUMPED, SEEDS, itrace_of
from tests.support.reading import EVERYTHING
from tests.support.spe_traces import damaged, recording

_WORDS = {
    Field.BAD: "Bad", Field.END: "END", Field.TIMESTAMP: "TS", Field.EVENTS: "EV", Field.SOURCE: "DATA-SOURCE",
    Field.CONTEXT: "CONTEXT", Field.PC: "PC", Field.TARGET: "TGT", Field.DATA: "VA", Field.PHYSICAL: "PA",
    Field.PREVIOUS: "PBT", Field.LATENCY: "LAT",
}  # fmt: skip
_TYPES = {0: "", 1: "COND", 2: "UNCOND", 4: "CALL", 6: "RET", 9: "COND_CALL", 10: "COND_RET"}


@cache
def answers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(ANSWERS.read_bytes()))
    return found


@pytest.mark.parametrize("seed", DUMPED)
def test_packets_are_those_of_perf(seed: int) -> None:
    packets = find_packets(np.frombuffer(damaged(seed), np.uint8), 0)
    fields = [Field(number) for number in packets.field.tolist()]
    ours = {(end, _WORDS[one]) for end, one in zip(packets.end.tolist(), fields, strict=True) if one in _WORDS}
    told = [(end, words.split()) for end, words in answers()["packets"][str(seed)]]
    expected = {(end, words[0]) for end, words in told if words[0] in _WORDS.values() and _is_shown(words)}
    last = max(end for end, _ in ours)
    assert ours == {one for one in expected if one[0] <= last}


def _is_shown(words: list[str]) -> bool:
    """Only the total latency, and addresses with a known index, are in samples."""
    return words[0] != "LAT" or words[-1] == "TOT"


@pytest.mark.parametrize("seed", SEEDS)
def test_samples_are_those_of_perf(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(recording(seed))
    itrace = itrace_of(seed)
    opened = open_recording(str(path), itrace=itrace)
    names = [event.name for event in opened.session.events]
    rows = [row for batch in opened.samples(EVERYTHING) for row in _rows(batch, names, "l" in itrace)]
    perf = [tuple(row) for row in answers()["samples"][str(seed)]]
    assert Counter(map(_comparable, rows)) == Counter(map(_comparable, perf))
    assert opened.sample_count == len(perf)


def _comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    time, cpu, pid, tid, event, period, address, *rest = row
    return time, cpu, pid, tid, event, max(period, 1), 0 if event == "instructions" else address, *rest


def _rows(batch: Samples, names: list[str], has_stacks: bool) -> list[tuple[Any, ...]]:
    assert batch.time is not None and batch.cpu is not None and batch.addr is not None
    assert batch.data_src is not None and batch.weight is not None
    columns = (batch.time, batch.cpu, batch.pid, batch.tid, [names[row] for row in batch.event.tolist()])
    rest = (batch.period, batch.addr, batch.data_src, batch.weight, batch.ip, batch.extra["phys_addr"])
    stacks = [_stack(batch, row) if has_stacks else "" for row in range(len(batch))]
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in (*columns, *rest)]
    return list(zip(*plain, stacks, strict=True))


def _stack(batch: Samples, row: int) -> str:
    """A branch stack in the words of ``perf script -F brstack``."""
    stack = batch.branches
    assert stack is not None
    entries = range(int(stack.offsets[row]), int(stack.offsets[row + 1]))
    return " ".join(_entry(int(stack.from_ip[i]), int(stack.to_ip[i]), int(stack.flags[i])) for i in entries)


def _entry(source: int, target: int, flags: int) -> str:
    guess = "M" if flags & 1 else "P" if flags & 2 else "-"
    guess += "N" if flags >> 33 & 1 else ""
    form = _TYPES[flags >> 20 & 15]
    return f"{source:#x}/{target:#x}/{guess}/{'X' if flags & 4 else '-'}/-/{flags >> 4 & 0xFFFF}/{form}/-"
