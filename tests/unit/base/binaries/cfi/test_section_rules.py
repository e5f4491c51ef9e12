"""Rules of one section by address: functions are decoded once, and rows found among theirs."""

import numpy as np

from perf2x.base.binaries.cfi.frame_entries import FrameIndex
from perf2x.base.binaries.cfi.section_rules import SectionRules, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from tests.support.frame_writer import TEXT, Frame, FrameFile, uleb
from tests.unit.base.binaries.cfi.test_frame_entries import INITIAL
from tests.unit.base.binaries.cfi.test_run_instructions import ORDINARY, STEP, frames_of, plainly


def test_a_source_remembers_functions_and_finds_rows_by_bisection() -> None:
    frames = [Frame(TEXT + 64 * row, 40, (STEP + uleb(8 * row + 8)) * row) for row in range(30)]
    index = eh_frame_index(open_elf(FrameFile(frames, initial=INITIAL).bytes()))
    table, problems = RuleTable(17), []
    source = SectionRules(index, table, problems)
    address = np.random.default_rng(1).permutation(np.arange(TEXT - 9, TEXT + 64 * 30, dtype=np.uint64))
    pieces = [source.find(part) for part in np.array_split(address, 7)]
    found = dict(zip(address.tolist(), np.concatenate(pieces).tolist(), strict=True))
    functions = plainly(index.section, index.offset.tolist(), 17)
    for at, rule in found.items():
        number = (at - TEXT) // 64
        rows = functions[number] if number >= 0 and (at - TEXT) % 64 < 40 else []
        rows = [row for row in rows if row[0] <= at]
        assert (table.rules[rule] if rule != NO_RULE else None) == (rows[-1][1] if rows else None)
    assert not problems


def test_a_damaged_function_is_told_once_and_has_no_rules() -> None:
    section, offsets = frames_of(ORDINARY, ORDINARY + b"\x3f", ORDINARY)
    start = np.array([TEXT, TEXT + 64, TEXT + 128], np.uint64)
    problems = []
    source = SectionRules(FrameIndex(section, start, np.array(offsets)), RuleTable(17), problems)
    for _ in range(2):
        assert (source.find(start) == NO_RULE).tolist() == [False, True, False]
    assert len(problems) == 1
