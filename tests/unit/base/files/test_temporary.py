"""Temporary directories of killed processes: the next process removes them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from perf2x.base.files.temporary import PREFIX, private_directory
from perf2x.kernel import open_bundle
from perf2x.kernel.open_bundle import open_bundles
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support import bombs
from tests.support.command import recording

LINUX = sys.platform == "linux"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def killed_inside(code: str, folder: Path) -> None:
    """Run ``code`` in a process of its own, which kills itself at the end."""
    words = [sys.executable, "-c", f"import os, signal\n{code}\nos.kill(os.getpid(), signal.SIGKILL)"]
    ran = subprocess.run(words, env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr


@pytest.mark.skipif(not LINUX, reason="files without names are Linux's")
def test_a_killed_process_leaves_nothing_of_a_bundle(here: Path) -> None:
    data = Path(recording("calls")).read_bytes()
    jitted = b"1000 10 secret_name\n"
    parts = [("perf.data", data), ("maps/perf-1.map", jitted)]
    tar = b"".join(bombs.member_header(name, len(part)) + part + bytes(-len(part) % 512) for name, part in parts)
    (here / "bundle.tar").write_bytes(tar)
    code = (
        "from perf2x.kernel.open_bundle import open_bundles\n"
        f"with open_bundles([{str(here / 'bundle.tar')!r}], None) as (files, _):\n"
        "    assert open(files[0], 'rb').read(8) == b'PERFILE2'\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed_inside(code, here)
    (left,) = here.glob(f"{PREFIX}*")
    # links to open files of the killed process lead to those of whoever follows them
    files = [path for path in left.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if path.stat().st_size] == []
    with private_directory() as folder:
        assert list(here.glob(f"{PREFIX}*")) == [folder], "swept at the next start"
    assert not list(here.glob(f"{PREFIX}*"))


def test_a_bundle_may_have_more_maps_than_the_limit_of_open_files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_bundle, "MAX_OPEN", 2)
    maps = b"".join(
        bombs.member_header(f"maps/perf-{pid}.map", 2) + (b"%02d" % pid).ljust(512, b"\0") for pid in range(4)
    )
    (here / "bundle.tar").write_bytes(bombs.whole_member() + maps)
    with open_bundles([str(here / "bundle.tar")], SymbolOptions()) as (_, options):
        assert options is not None and options.perf_map_dir is not None
        found = sorted(options.perf_map_dir.iterdir())
        assert [path.read_bytes() for path in found] == [b"00", b"01", b"02", b"03"]
        if LINUX:
            assert [path.is_symlink() for path in found] == [True, False, False, False]


@pytest.mark.skipif(sys.platform == "win32", reason="needs locks that end with their process")
def test_only_directories_of_dead_processes_are_removed(here: Path) -> None:
    (here / f"{PREFIX}mine").mkdir()  # has no lock yet: its owner is about to make one
    (here / f"{PREFIX}link").symlink_to(here)
    with private_directory() as first, private_directory() as second:
        assert first.exists() and second.exists()
    stale = here / f"{PREFIX}stale"
    stale.mkdir()
    for name in ("lock", "perf.data"):
        (stale / name).write_bytes(b"x")
    with private_directory():
        assert not stale.exists()
    assert sorted(path.name for path in here.iterdir()) == [f"{PREFIX}link", f"{PREFIX}mine"]
