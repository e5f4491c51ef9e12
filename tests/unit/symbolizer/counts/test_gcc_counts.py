"""Counts of lines for GCC: those for LLVM but for discriminators, and what GCC itself makes of them."""

import io
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.binaries.dwarf.pgo_lines import CodeFrame
from perf2x.base.diagnostics import Diagnostics
from perf2x.emitters.gcov import Gcov
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.model.profile.code_counts import AddressCounts, CodeCounts, FunctionCounts
from perf2x.symbolizer.counts.discriminators import Gcc
from perf2x.symbolizer.counts.line_profile import LineProfile
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.gcov_files import GcovFile, read_gcov
from tests.support.traced_program import FOLDER, recording
from tests.unit.symbolizer.counts.test_count_lines import LINES, put

Lines = dict[tuple[object, ...], tuple[int, dict[str, int]]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    put(folder, "hot-gcc", (FOLDER / "hot-gcc").read_bytes())
    (folder / "perf.data").write_bytes(recording("hot-gcc"))
    return folder / "perf.data"


def gcov(path: Path, gcc: str) -> bytes:
    emitter, out = Gcov(gcc=gcc), io.BytesIO()
    emitter.emit(
        load(str(path), LoadOptions(symbols=SymbolOptions(symfs=path.parent), features=emitter.needs.features)).profile,
        out,
    )
    return out.getvalue()


def by_line(functions: dict[str, FunctionCounts]) -> Lines:
    """Return (highest count, calls) of each line below its inlined functions and their lines."""
    found: Lines = {}
    for top in functions.values():
        path: list[object] = []
        for depth, (line, _), each in top.walk():
            path[2 * depth - 1 if depth else 0 :] = [line, each.name] if depth else [each.name]
            for (at, _), count in each.lines.items():
                most, calls = found.setdefault((*path, at), (0, defaultdict(int)))
                for name, number in count.calls.items():
                    calls[name] += number
                found[*path, at] = max(most, count.count), calls
    return found


def counts_for_llvm(path: Path) -> CodeCounts:
    code = load(str(path), load_options(symbols=SymbolOptions(symfs=path.parent), code=LINES)).profile.code
    assert code is not None
    return code


@pytest.mark.parametrize("gcc", ["12", "13", "16"])
def test_lines_count_as_for_llvm(data: Path, gcc: str) -> None:
    found, code = read_gcov(gcov(data, gcc)), counts_for_llvm(data)
    expected = by_line({each.name: each for each in code.functions})
    # calls of one line that are apart for GCC are in one place for LLVM, as for GCC 12, where their counts are added up
    for line, count in ((("run", 4), 96), (("_start", 1), 1)) if gcc != "12" else ():
        expected[line] = count, expected[line][1]
    assert by_line(found.functions) == expected
    assert {each.name: each.entered for each in code.functions} == {
        name: each.entered for name, each in found.functions.items()
    }
    assert set(found.files.values()) == ({"hot.c", ""} if gcc == "16" else {""})


def test_calls_on_one_line_have_their_own_places_unless_gcc_has_none(data: Path) -> None:
    found: dict[str, GcovFile] = {gcc: read_gcov(gcov(data, gcc)) for gcc in ("12", "16")}
    assert [found["16"].functions["run"].lines[4, number].calls for number in range(3)] == [
        {"turn": 96}, {"loops": 94}, {},
    ]  # fmt: skip
    assert found["12"].functions["run"].lines[4, 0].calls == {"turn": 96, "loops": 94}
    assert all(number == 0 for each in found["12"].functions.values() for _, number in (*each.lines, *each.inlined))


class _Places:
    """Every other address is in a function."""

    def frames(self, address: np.ndarray) -> list[tuple[CodeFrame, ...]]:
        frame = CodeFrame("main.part.0", 1, 2 << 8, "a.c")
        return [(frame,) if at % 2 else () for at in address.tolist()]


def test_branches_within_functions_are_no_loss(data: Path) -> None:
    loaded = load(str(data), load_options(symbols=SymbolOptions(symfs=data.parent), code=LINES))
    assert loaded.diagnostics["counts_without_lines"] == 0


@pytest.mark.parametrize(("missing", "said"), [(3, 3), (2, 0)])
def test_counts_outside_functions_are_said_where_they_are_many(missing: int, said: int) -> None:
    profile, diagnostics = LineProfile(_Places(), Gcc(16)), Diagnostics()  # type: ignore[arg-type]
    profile.add_samples(AddressCounts(np.array([1, 2], np.uint64), np.array([10, missing], np.int64)))
    profile.note_missing_lines(diagnostics, "/bin/prog")
    assert diagnostics["counts_without_lines"] == said
    (function,) = profile.functions()
    assert (function.name, function.lines[1, 0].count, profile.files) == ("main", 20, {"main": {"a.c"}})


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="GCC is what is asked")
def test_gcc_takes_it(data: Path, tmp_path: Path) -> None:
    """The compiler reads its own version of the file without a word, and refuses the other."""
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True).stdout.strip().partition(".")[0]
    if not 12 <= int(version) <= 16:
        pytest.skip("of GCC 12 to 16")
    flags = ["-O2", "-g", "-c", "-fdump-ipa-afdo-details", "-o", "hot.o"]
    for gcc, code in ((version, 0), ("12" if version == "16" else "16", 1)):
        (tmp_path / "hot.gcov").write_bytes(gcov(data, gcc))
        command = ["gcc", *flags, "-fauto-profile=hot.gcov", str(FOLDER / "hot.c")]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == code, ran.stderr
        assert ("does not match" in ran.stderr) == bool(code)
