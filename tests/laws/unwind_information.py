"""Many functions with call frame information, and many rules."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from perf2x.base.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.object_rules import ObjectRules
from perf2x.stitcher.unwind.x86_64 import X86_64
from tests.support.frame_writer import EH_FRAME, TEXT, Frame, FrameFile, advance, def_cfa

Work = Callable[[], object]


def frame_entries(count: int, _: Path) -> Work:
    frames = [Frame(TEXT + 32 * row, 32, advance(4) + def_cfa(7, 16 + 8 * (row % 50))) for row in range(count)]
    return _ruled(frames, np.arange(TEXT, TEXT + 32 * count, 8, dtype=np.uint64))


def frame_program(count: int, _: Path) -> Work:
    """One function whose rules change with every byte."""
    program = b"".join(advance(1) + def_cfa(7, 8 + 8 * row) for row in range(count))
    return _ruled([Frame(TEXT, count + 1, program)], np.arange(TEXT, TEXT + count, dtype=np.uint64))


def rule_columns(count: int, _: Path) -> Work:
    """A new rule with every step."""

    def grow() -> None:
        table = RuleTable(17)
        for row in range(count):
            table.number(Rule(7, 8 * row, 16, False, ((16, RegisterRule(RuleKind.OFFSET, -8)),)))
            assert int(table.columns().cfa_value[-1]) == 8 * row

    return grow


def _ruled(frames: list[Frame], address: np.ndarray) -> Work:
    assert int(address[-1]) < EH_FRAME
    works = [open_elf(FrameFile(frames, with_header=flag).bytes()) for flag in (True, False)]

    def look_up() -> None:
        for elf in works:
            assert (ObjectRules(elf, None, RuleTable(17), X86_64).find(address) >= 0).any()

    return look_up
