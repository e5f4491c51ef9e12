"""The files that perf2x reads on the converting machine, all of which a sysroot hides."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.recorded_vdso import running_vdso_image
from perf2x.base.binaries.find.running_kernel import running_host_name, running_kernel_build_id, running_kernel_release
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.files.operating_system import user_cache_dir
from perf2x.base.files.sysroot import host_path, sysroot
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.command import folded, recording
from tests.support.isolation import STEERING
from tests.support.poison import WRONG, poison, wrong_object

ID = bytes(range(20))


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERF2X_SYSROOT", str(tmp_path))
    return tmp_path


def test_without_a_sysroot_paths_stay_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERF2X_SYSROOT")
    assert sysroot() is None
    assert host_path("/usr/lib/debug") == Path("/usr/lib/debug")


def test_the_sysroot_is_prepended_once(root: Path) -> None:
    assert host_path("/usr/lib/debug") == root / "usr/lib/debug"
    assert host_path("/../../etc/passwd") == root / "etc/passwd"
    assert host_path(f"{root}/prog") == root / "prog"


def test_no_path_leads_out_of_the_sysroot(root: Path) -> None:
    for path in ("/../etc/passwd", f"{root}/../etc/passwd", f"{root}/a/../../../etc/passwd"):
        assert host_path(path) == root / "etc/passwd"


def test_recorded_paths_and_debug_files_come_from_the_sysroot(root: Path) -> None:
    program = put(root / "bin/prog", wrong_object(ID))
    debug = put(root / f"usr/lib/debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}.debug", wrong_object(ID))
    found = Finder(SearchPaths()).find("/bin/prog", ID)
    assert [file.name for file in found.files] == [str(program), str(debug)]


def test_with_symfs_files_of_this_machine_are_not_used(root: Path, tmp_path: Path) -> None:
    """Source of truth: tools/perf/util/symbol.c symbol__config_symfs; --symfs precedes every path."""
    put(root / f"usr/lib/debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}.debug", wrong_object(ID))
    put(Path.home() / f".debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}/elf", wrong_object(ID))
    assert len(Finder(SymbolOptions().search_paths()).find("/bin/prog", ID).files) == 2
    symfs = tmp_path / "symfs"
    assert not Finder(SymbolOptions(symfs=symfs).search_paths()).find("/bin/prog", ID).files
    put(symfs / f".debug/.build-id/{ID.hex()[:2]}/{ID.hex()[2:]}/elf", wrong_object(ID))
    assert len(Finder(SymbolOptions(symfs=symfs).search_paths()).find("/bin/prog", ID).files) == 1


def test_the_running_kernel_is_hidden_by_a_sysroot(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (running_vdso_image(), running_kernel_build_id()) == (b"", b"")
    assert (running_kernel_release(), running_host_name()) == ("", "")
    monkeypatch.delenv("PERF2X_SYSROOT")
    if sys.platform == "linux":
        assert (running_kernel_release(), running_host_name()) == (platform.release(), platform.node())


def test_tests_run_with_an_empty_home_and_no_settings() -> None:
    assert not Path.home().exists()
    assert user_cache_dir() is not None and str(user_cache_dir()).startswith(str(Path.home()))
    assert not any(name.startswith("DEBUGINFOD_") for name in os.environ)
    assert {name for name in os.environ if name.startswith("PERF2X_")} - set(STEERING) == {"PERF2X_SYSROOT"}


@pytest.mark.slow
def test_a_poisoned_machine_changes_the_output(tmp_path: Path) -> None:
    """The poison that CI runs the tests in does work: without a sysroot or symfs it is what names everything."""
    words = [sys.executable, "-m", "perf2x", "convert", recording("calls"), "--to", "collapsed", "-o", "-"]
    environment = {**os.environ, **poison(tmp_path)}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert WRONG in ran.stdout
    assert not any(WRONG in stack for stack in folded(recording("calls"), symbols=True))
