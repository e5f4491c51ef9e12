"""Counts of lines from a traced program: those of llvm-profgen, and perf2bolt's counts (data/autofdo/make.sh)."""

import io
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from perf2x.base.binaries.dwarf.dwarf_functions import Subprogram
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.symtab import function_symbols
from perf2x.base.binaries.elf.x86_code import BranchLengths
from perf2x.emitters.autofdo import Autofdo
from perf2x.emitters.bolt import Bolt
from perf2x.errors import OptionError, Perf2xError
from perf2x.kernel.load import Loaded, load
from perf2x.kernel.load_options import load_options
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.profile.code_counts import EXTERNAL, NOT_RECORDED, BranchCounts
from perf2x.symbolizer.counts.line_profile import _counts_of_pieces, _executed_ranges, _ranges_of_run_functions
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.support.traced_program import EVENT, FIELDS, FOLDER, NAMES, SIZE, START, recording, samples, taken

LINES = CodeRequest("", "external", by_line=True)


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    put(folder, name, (FOLDER / name).read_bytes())
    (folder / "perf.data").write_bytes(recording(name))
    return folder / "perf.data"


def put(symfs: Path, name: str, program: bytes) -> None:
    place = symfs / "src" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(program)


def loaded(path: Path, request: CodeRequest = LINES) -> Loaded:
    """Convert with the program that stands beside the recording."""
    return load(str(path), load_options(symbols=SymbolOptions(symfs=path.parent), code=request))


def written(emitter: Autofdo | Bolt, path: Path) -> str:
    out = io.BytesIO()
    emitter.emit(loaded(path, emitter.needs.of(CodeSettings).code).profile, out)
    return out.getvalue().decode()


def test_lines_are_those_of_llvm_profgen(data: Path, name: str) -> None:
    assert written(Autofdo(), data) == (FOLDER / f"{name}.afdo").read_text()


@pytest.mark.parametrize("style", ["traces", "branches"])
def test_branches_are_those_that_perf2bolt_counts(data: Path, name: str, style: str) -> None:
    counted, missed = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for kind, *fields in (line.split() for line in written(Bolt(style=style), data).splitlines()):
        if kind in "TB" and "X:0" not in fields[:2]:
            pair = int(fields[0], 16), int(fields[1], 16)
            counted[pair] += int(fields[2 if kind == "B" else 3])
            missed[pair] += int(fields[3]) if kind == "B" else 0
    symbols = function_symbols(open_elf(FOLDER / name), ".symtab")
    assert symbols is not None
    start = {symbols.name(row): int(symbols.start[row]) for row in range(len(symbols))}
    seen = 0
    for line in (FOLDER / f"{name}.fdata").read_text().splitlines():
        ends = re.findall(r"1 ([^ /]+)\S* ([0-9a-f]+) ", line)
        pair = tuple(start[function] + int(offset, 16) for function, offset in ends)
        if pair in counted:  # the others did not branch
            seen += 1
            assert line.split()[-2:] == [str(missed[pair]), str(counted[pair])]
    assert seen >= 15
    assert sum(missed.values()) > 10


@pytest.mark.parametrize("emitter", [Autofdo(), Bolt(), Bolt(style="branches")])
def test_two_runs_give_the_same_bytes(data: Path, emitter: Autofdo | Bolt) -> None:
    assert written(emitter, data) == written(emitter, data)


def test_all_branches_of_the_samples_are_counted(data: Path, name: str) -> None:
    """Entries from the kernel are those of interrupts; they stand beside the program's own branches."""
    code = loaded(data).profile.code
    assert code is not None
    entries = [entry for sample in samples(taken(name)) for entry in sample.branches]
    outside = [entry for entry in entries if not START <= entry.from_ip < START + SIZE]
    assert code.branches.count.sum() == len(entries)
    assert code.branches.mispredicted.sum() == sum(entry.mispred for entry in entries)
    assert code.branches.count[code.branches.source == EXTERNAL].sum() == len(outside) > 0


def test_plain_samples_count_where_they_were_taken(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, (FOLDER / name).read_bytes())
    path = tmp_path / "perf.data"
    path.write_bytes(recording(name, replace(EVENT, sample_type=FIELDS, branch_sample_type=0)))
    code = loaded(path).profile.code
    assert code is not None
    assert sum(each.total for each in code.functions) == len(samples(taken(name)))
    assert not any(each.entered for each in code.functions)
    assert max(line.count for each in code.functions for line in each.lines.values()) > 1


def count_slowly(pieces: list[int], code: list[tuple[int, int]], ranges: list[tuple[int, int, int]]) -> list[list[int]]:
    """Count byte by byte, each as an instruction of its own."""
    found = [[-1, 0] for _ in pieces]
    for low, high in code:
        for address in range(low, high):
            times = sum(count for begin, end, count in ranges if begin <= address < end)
            piece = max(row for row, start in enumerate(pieces) if start <= address)
            found[piece] = [max(found[piece][0], times), found[piece][1] + times]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_pieces_are_counted_as_byte_by_byte(seed: int) -> None:
    random = Random(seed)
    code = [(100, 130), (130, 150), (170, 200)]
    inner = {random.choice([*range(101, 150), *range(171, 200)]) for _ in range(12)}
    pieces = sorted({low for low, _ in code} | inner)
    ranges = []
    for _ in range(15):
        begin = random.randrange(90, 200)
        ranges.append((begin, begin + random.randrange(1, 40), random.randrange(1, 5)))
    columns = [np.array([row[at] for row in ranges], np.uint64 if at < 2 else np.int64) for at in range(3)]
    most, total = _counts_of_pieces(np.array(pieces, np.uint64), code, *columns)
    assert [list(pair) for pair in zip(most.tolist(), total.tolist(), strict=True)] == count_slowly(
        pieces, code, ranges
    )


def test_programs_without_debug_info_are_refused(data: Path, tmp_path: Path, name: str) -> None:
    put(tmp_path, name, tiny_elf([TinySection(".text", bytes(64), START, flags=6)]))
    shutil.copy(data, tmp_path)
    with pytest.raises(OptionError, match="no debug information was found"):
        loaded(tmp_path / data.name)


def test_damaged_programs_give_counts_or_one_error(data: Path, tmp_path: Path, name: str) -> None:
    shutil.copy(data, tmp_path)
    whole, random = (FOLDER / name).read_bytes(), Random(3)
    sections = [each for each in open_elf(FOLDER / name).sections if each.name.startswith(".debug_")]
    outcomes = set()
    for _ in range(8):
        section, raw = random.choice(sections), bytearray(whole)
        for _ in range(random.randrange(1, 12)):
            raw[section.offset + random.randrange(section.size)] = random.randrange(256)
        put(tmp_path, name, bytes(raw))
        try:
            code = loaded(tmp_path / data.name).profile.code
            outcomes.add(code is not None and sum(each.total for each in code.functions) > 0)
        except Perf2xError:
            outcomes.add(None)
    assert True in outcomes


def test_functions_that_ran_are_taken_with_all_their_parts_and_once() -> None:
    functions = [
        Subprogram("cold in part", [(100, 110), (300, 320)]), Subprogram("never", [(110, 120)]),
        Subprogram("folded", [(130, 140)]), Subprogram("same code", [(130, 140)]), Subprogram("around", [(125, 135)]),
    ]  # fmt: skip
    assert _ranges_of_run_functions(functions, np.array([99, 105, 124], np.uint64)) == [(100, 110), (300, 320)]
    assert _ranges_of_run_functions(functions, np.array([125, 131, 139], np.uint64)) == [(125, 140)]
    assert _ranges_of_run_functions(functions, np.array([320, 1000], np.uint64)) == []
    assert _ranges_of_run_functions([], np.array([7], np.uint64)) == []


def test_ranges_run_forwards_between_known_branches(tmp_path: Path) -> None:
    path = tmp_path / "prog"
    path.write_bytes(tiny_elf([TinySection(".text", b"\x90\xe9" + bytes(8) + b"\xc3", 0x401000, flags=6)]))
    outside, unknown = int(EXTERNAL), int(NOT_RECORDED)
    rows = [
        (0x401001, 0x401000, 0x401001, 3), (0x40100A, 0x40100A, 0x40100A, 2), (outside, 0x401006, 0x401001, 5),
        (0x401001, 0x401000, unknown, 7), (0x401001, outside, unknown, 9),
    ]  # fmt: skip
    columns = [np.array([row[at] for row in rows], np.uint64 if at < 3 else np.int64) for at in range(4)]
    begin, end, count = _executed_ranges(BranchCounts(*columns, columns[3]), BranchLengths(open_elf(path)))
    assert list(zip(begin.tolist(), end.tolist(), count.tolist(), strict=True)) == [
        (0x401000, 0x401006, 3), (0x40100A, 0x40100B, 2),
    ]  # fmt: skip
