"""perf2x on Windows, macOS and in a browser, as far as Linux can stand in: one module asks, all works without."""

import mmap
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from perf2x.base.files import operating_system as system
from perf2x.base.files.atomic import atomic_file
from perf2x.base.files.temporary import private_directory
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.worker_pool import processes_for_samples, processes_for_work
from tests.support.command import perf2x, recording
from tests.support.other_systems import NO_LOCKS, SYSTEMS, become
from tests.support.recordings import ROOT

PACKAGE = ROOT / "converter" / "perf2x"
ASKED_ONLY_HERE = re.compile(
    r"\bos\.(fork|sched_getaffinity|cpu_count|getuid|geteuid|link|replace|rename|O_TMPFILE)\b|\bmmap\.mmap\(|np\.memmap"
    r"|import (fcntl|msvcrt|resource)\b|\bget_context\(|\.rename\("
)


@pytest.fixture(params=SYSTEMS)
def other(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    become(request.param, monkeypatch)
    return str(request.param)


def test_one_module_asks() -> None:
    """Nothing else calls what another system has not."""
    for path in PACKAGE.rglob("*.py"):
        found = ASKED_ONLY_HERE.search(path.read_text())
        assert (found is not None) == (path == PACKAGE / "base" / "files" / "operating_system.py"), f"{path}: {found}"


def test_work_stays_in_one_process(other: str) -> None:
    assert not system.can_fork()
    assert processes_for_samples(10**9, LoadOptions(jobs=8)) == processes_for_work(10**9, 100, 8) == 1
    assert system.available_cores() == (os.cpu_count() or 1)
    system.keep_freed_memory()


def test_freed_memory_is_kept_for_the_next_array() -> None:
    """Other C libraries have no mallopt, other systems no glibc: there nothing changes, and nothing fails."""
    code = (
        "import ctypes, resource, sys; from perf2x.base.files.operating_system import keep_freed_memory as keep\n"
        "if not hasattr(ctypes.CDLL(None), 'mallopt'): sys.exit('0 9')\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for size in (1, 2, 4, 8, 16) * 20: bytes(bytearray(size << 19))\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "given_back = faults(); keep(); sys.exit(f'{faults()} {given_back}')"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    kept, given_back = map(int, ran.stderr.split())
    assert 4 * kept < given_back


def test_temporary_files_have_a_name_only_in_a_browser(other: str) -> None:
    with system.temporary_file() as file:
        assert isinstance(file.name, str) == (other == "emscripten")


def test_an_open_file_has_a_path_only_on_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A browser's system may list open files, too, but not open them."""
    with (tmp_path / "it").open("wb") as file:
        assert (system.path_of_open_file(file) is not None) == (sys.platform == "linux")
        monkeypatch.setattr(sys, "platform", "emscripten")
        assert system.path_of_open_file(file) is None


def test_time_is_not_limited_without_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    become("emscripten", monkeypatch)
    with system.cpu_time_limited(0.01, ValueError("too slow")):
        assert sum(range(10_000))


def test_a_new_version_appears_whole(other: str, tmp_path: Path) -> None:
    assert system.create_unnamed(tmp_path, 0o600) == -1
    target = tmp_path / "out"
    target.write_text("old")
    with atomic_file(target) as new:
        new.file.write(b"new")
        assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 2
        new.commit()
    with atomic_file(target) as lost:
        lost.file.write(b"half")
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and target.read_text() == "new"


def test_stale_directories_are_removed_where_locks_end_with_their_process(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_directory() as held, private_directory() as second:
        assert held.is_dir() and second.is_dir(), "a directory in use is not stale"
    stale = tmp_path / "perf2x-unpacked-stale"
    stale.mkdir()
    (stale / "lock").touch()
    with private_directory():
        assert stale.exists() == NO_LOCKS[other]


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="no advice about pages here")
def test_the_page_that_a_range_begins_in_is_freed_with_it() -> None:
    """Reading there maps what lies in front of it, too: as much as is cached as one page."""
    freed: list[tuple[int, int]] = []

    class Mapping:
        def madvise(self, advice: int, start: int, length: int) -> None:
            freed.append((start, start + length))

    page = mmap.PAGESIZE
    borders = [0, page + 8, page + 16, 3 * page - 8, 9 * page]
    for start, stop in pairwise(borders):
        system.free_pages(cast(mmap.mmap, Mapping()), start, stop)
    assert freed == [(0, page), (page, 2 * page), (2 * page, 9 * page)], "nothing is left, nothing in use is freed"


def test_caches_lie_where_the_system_has_them(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    expected = {"win32": "Local/perf2x/Cache", "darwin": "Library/Caches/perf2x", "emscripten": ".cache/perf2x"}
    assert system.user_cache_dir() == tmp_path / expected[other]


def answers(folder: Path) -> dict[str, bytes]:
    """Outputs of the commands that fork, lock, map, unpack and rename."""
    folder.mkdir()
    source, bundle = recording("calls"), folder / "bundle.tar.gz"
    assert perf2x("bundle", source, "-o", bundle, "-q").code == 0
    for name in ("out.pb.gz", "out.trace.json.gz"):
        assert perf2x("convert", bundle, "-o", folder / name, "-q", "--jobs", "3").code == 0
    assert perf2x("convert", recording("zstd"), "-o", folder / "packed.folded", "-q", "--no-symbols").code == 0
    shown = perf2x("top", source).out.encode()
    return {path.name: path.read_bytes() for path in folder.iterdir()} | {"top": shown}


@pytest.mark.skipif(sys.platform != "linux", reason="the other systems have no second answer to compare with")
def test_outputs_are_the_same_bytes(tmp_path: Path) -> None:
    here = answers(tmp_path / "here")
    for name in SYSTEMS:
        with pytest.MonkeyPatch.context() as patched:
            become(name, patched)
            assert answers(tmp_path / name) == here


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
def test_a_browser_reads_what_it_cannot_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(system, "_CHUNK_SIZE", chunk)
    (tmp_path / "file").write_bytes(b"0123456789")
    (tmp_path / "empty").touch()
    with (tmp_path / "file").open("rb") as file:
        read = system.map_file(file)
    assert isinstance(read, bytearray) and read == b"0123456789"
    with (tmp_path / "empty").open("rb") as file, pytest.raises(ValueError, match="empty"):
        system.map_file(file)
