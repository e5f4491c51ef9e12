"""CPython 3.14, node and a container with node, recorded: every frame in compiled code has perf's name (data/lang).

Dumps lie here without the code's bytes, which name nothing. perf was asked about ``container`` with the map renamed to
the process's outer id, and names no frame without that.
"""

import json
import lzma
import shutil
from collections import Counter
from pathlib import Path

import pytest

from perf2x.kernel.load import Loaded, load
from perf2x.kernel.load_options import LoadOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.command import perf2x
from tests.support.perf_script import read_blocks

LANG = Path(__file__).parent / "data" / "lang"
FRAMES = {"cpython_map": 140, "cpython_jit": 153, "node_jit": 2415, "container": 1539}


def unpacked(name, tmp_path) -> None:
    """The maps and dumps beside a recording, in ``tmp_path``."""
    for file in LANG.joinpath(name).iterdir():
        if file.name.endswith(".dump.xz"):
            (tmp_path / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
        elif file.suffix == ".map":
            shutil.copy(file, tmp_path)


def loaded(name, tmp_path) -> Loaded:
    unpacked(name, tmp_path)
    symbols = SymbolOptions(symfs=tmp_path, perf_map_dir=tmp_path, inline=False)
    return load(str(LANG / name / "perf.data"), LoadOptions(timeline=True, symbols=symbols))


def perfs_frames(name) -> Counter[tuple[int, int, int, str]]:
    """Count (thread, microsecond, address, symbol) as printed by perf, in compiled code only."""
    return Counter(
        (block.tid, block.time, frame.address, frame.symbol)
        for block in read_blocks(LANG / name / "script.txt.xz")
        for frame in block.frames
        if frame.dso.startswith("/tmp/perf-") or "/jitted-" in frame.dso
    )


def our_frames(profile) -> Counter[tuple[int, int, int, str]]:
    """Count the same in a profile: code without a file, or in a dump; names as the runtime wrote them."""
    found: Counter[tuple[int, int, int, str]] = Counter()
    locations, samples, strings = profile.locations, profile.samples, profile.strings
    columns = (samples.thread, samples.stack, samples.time)
    for thread, stack, time in zip(*(column.tolist() for column in columns), strict=True):
        while stack >= 0:
            row = int(profile.stacks.location[stack])
            mapping = int(locations.mapping[row])
            name = strings[int(profile.mappings.filename[mapping])] if mapping >= 0 else ""
            if name.startswith("//anon") or name.endswith(".dump"):
                found[
                    int(profile.threads.tid[thread]), time // 1000, int(locations.address[row]), written(profile, row)
                ] += 1
            stack = int(profile.stacks.parent[stack])
    return found


def written(profile, location) -> str:
    """The outermost function's name as the runtime wrote it."""
    start, end = (int(profile.locations.line_offsets[location + i]) for i in (0, 1))
    if start == end:
        return "[unknown]"
    function = int(profile.locations.line_function[end - 1])
    return profile.strings[int(profile.functions.system_name[function])]


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_has_perfs_name(name, tmp_path) -> None:
    perfs, ours = perfs_frames(name), our_frames(loaded(name, tmp_path).profile)
    assert perfs.total() == FRAMES[name]
    named = Counter({key: count for key, count in perfs.items() if key[3] != "[unknown]"})
    assert not named - ours, list((named - ours).items())[:5]
    assert ours.total() == perfs.total()
    assert sum(count for key, count in ours.items() if key[3] != "[unknown]") >= named.total() > 0.99 * perfs.total()


@pytest.mark.parametrize("name", ["cpython_map", "cpython_jit"])
def test_python_frames_read_as_functions_of_their_files(name, tmp_path) -> None:
    profile = loaded(name, tmp_path).profile
    functions, strings = profile.functions, profile.strings
    rows = zip(functions.system_name.tolist(), functions.name.tolist(), functions.filename.tolist(), strict=True)
    mine = {(strings[n], strings[f]) for s, n, f in rows if strings[s].endswith("/srv/demo/cpython.py")}
    file = "/srv/demo/cpython.py"
    expected = {"fib", "heavy", "main", "mapper", "mapper.<locals>.<lambda>", "Shape.area.<locals>.<genexpr>"}
    assert mine >= {(function, file) for function in expected - {"main"}} and {f for _, f in mine} == {file}


def test_the_containers_map_is_reported_as_a_guess(tmp_path) -> None:
    assert loaded("container", tmp_path).diagnostics["perf_map_of_other_pid"] == 1


@pytest.mark.parametrize("name", ["cpython_jit", "container"])
def test_a_bundle_contains_the_names(name, tmp_path) -> None:
    maps, empty = tmp_path / "maps", tmp_path / "empty"
    maps.mkdir()
    empty.mkdir()
    unpacked(name, maps)
    bundle = tmp_path / "all.tar.gz"
    places = ("--symfs", empty, "--buildid-dir", empty)
    assert perf2x("bundle", LANG / name / "perf.data", "-o", bundle, "--perf-map-dir", maps, *places, "-q").code == 0
    with_maps = perf2x("top", LANG / name / "perf.data", *places, "--perf-map-dir", maps, "--json", "-q", "-n", 0)
    alone = perf2x("top", bundle, *places, "--json", "-q", "-n", 0)
    without = perf2x("top", LANG / name / "perf.data", *places, "--json", "-q", "-n", 0)
    assert rows(alone) == rows(with_maps) != rows(without)


def rows(ran) -> list[dict]:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["rows"]
