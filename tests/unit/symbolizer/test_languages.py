"""C, C++, Rust, Go, node, Java, Python trampolines and a jitdump: names and their share are perf's (data/lang/make.sh).

System libraries are left out on purpose: only frames in the recorded programs and in compiled code are compared.
"""

import lzma
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.reader import open_recording
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.perf_script import read_blocks
from tests.support.profile_builder import lines_of, make_profile

LANG = Path(__file__).parent / "data" / "lang"
NAMES = ["c", "cpp", "rust", "go", "node", "java", "python"]


def options(name, tmp_path, program=None) -> SymbolOptions:
    """The recorded machine's files: the program under its path, maps and dumps in a directory of their own."""
    packed = LANG / name / f"{program or name}.xz"
    if packed.exists():
        (tmp_path / "srv/demo").mkdir(parents=True)
        (tmp_path / "srv/demo" / name).write_bytes(lzma.decompress(packed.read_bytes()))
    return SymbolOptions(symfs=tmp_path, perf_map_dir=LANG / name, names="full", inline=False)


def wanted(name) -> tuple[dict, int]:
    """{(address, object): symbol} that perf printed, in the program or in compiled code, and how often."""
    found, count = {}, Counter()
    for block in read_blocks(LANG / name / "script.txt.xz"):
        for frame in block.frames:
            if frame.dso.startswith(("/srv/demo/", "/tmp/perf-")):
                found[frame.address, frame.dso] = frame.symbol
                count[frame.symbol != "[unknown]"] += 1
    return found, count


@pytest.mark.parametrize("name", NAMES)
def test_every_name_agrees_with_perf(name, tmp_path) -> None:
    frames, count = wanted(name)
    assert count[True] > 100
    result = named(name, options(name, tmp_path), frames)
    functions, strings = result.functions, result.strings
    for row, ((address, dso), symbol) in enumerate(frames.items()):
        start, end = (int(result.locations.line_offsets[row + i]) for i in (0, 1))
        ours = {None: "[unknown]"}
        for line in range(start, end):
            index = int(result.locations.line_function[line])
            ours = {strings[int(column[index])] for column in (functions.name, functions.system_name)}
        assert symbol in ours or symbol == "[unknown]", (hex(address), dso, symbol, ours)


def named(name, options, frames) -> Profile:
    """A profile with one location for each frame that perf printed, in that order."""
    recording = open_recording(str(LANG / name / "perf.data"))
    maps = recording.sideband.mmaps
    rows, chosen = [], []
    for row in range(len(maps)):
        start, length, ident = int(maps.start[row]), int(maps.length[row]), maps.build_id[row].hex()
        rows.append((start, start + length, int(maps.pgoff[row]), maps.filename[row], ident, int(maps.pid[row])))
    for address, dso in frames:
        held = [i for i, m in enumerate(rows) if m[0] <= address < m[1] and m[3] in (dso, "//anon")]
        chosen.append((held[-1], address))
    profile = make_profile(rows, chosen)
    result, _ = symbolize(profile, recording.session, options, Diagnostics(), load_symbol_sources())
    result.check()
    return result


def test_go_without_symbols_has_the_names_that_perf_finds_with_them(tmp_path) -> None:
    frames, _ = wanted("go")
    result = named("go", options("go", tmp_path, "stripped"), frames)
    rows = [lines_of(result, row) for row in range(len(frames))]
    assert [row[0][0] for row in rows] == [name.removesuffix(".abi0") for name in frames.values()]
    mine = {(name, file.rpartition("/")[2]): line for ((name, file, line),) in rows if name.startswith("main.")}
    assert mine.keys() == {("main.main", "main.go"), ("main.build", "main.go"), ("main.(*tree).count", "main.go")}
    assert all(0 < line <= 27 for line in mine.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_share_of_named_frames_is_at_least_perfs(name, tmp_path) -> None:
    _, count = wanted(name)
    loaded = load(str(LANG / name / "perf.data"), LoadOptions(symbols=options(name, tmp_path)))
    ours = [row for row in loaded.symbols.objects if row.name.startswith(("/srv/demo/", "//anon"))]
    assert sum(row.named for row in ours) >= count[True]
    assert sum(row.unnamed for row in ours) <= count[False]


def test_python_functions_have_their_files(tmp_path) -> None:
    wanted = replace(options("python", tmp_path), names="short")
    loaded = load(str(LANG / "python" / "perf.data"), LoadOptions(symbols=wanted))
    profile = loaded.profile
    names = {lines_of(profile, row)[-1][:2] for row in range(len(profile.locations)) if lines_of(profile, row)}
    assert names >= {
        ("<module> tool.py", "/srv/demo/tool.py"),
        ("Tool.run", "/srv/demo/tool.py"),
        ("helper", "/srv/demo/lib/util.py"),
    }


def test_jitdump_agrees_with_perf_inject(tmp_path) -> None:
    """Two functions that lived at one address one after the other, the second one moved later; lines from the dump."""
    perfs = [
        block.frames[0].symbol
        for block in read_blocks(LANG / "jit" / "script.txt.xz")
        if "jitted" in block.frames[0].dso
    ]
    timeline = LoadOptions(timeline=True, symbols=options("jit", tmp_path))
    profile = load(str(LANG / "jit" / "perf.data"), timeline).profile
    leaves = [lines_of(profile, int(profile.stacks.location[row])) for row in profile.samples.stack if row >= 0]
    ours = [lines[-1] for lines in leaves if lines and lines[-1][0] in ("first", "second")]
    assert Counter(perfs) == Counter(name for name, _, _ in ours) == {"first": 28, "second": 54}
    assert {(file, line) for _, file, line in ours} <= {("/srv/demo/loop.src", n) for n in (10, 11, 20, 21)}
    assert [name for name, _, _ in ours] == sorted(name for name, _, _ in ours)
