"""Stacks through the vDSO, wherever its file is; perf's answer to the recording is in tests/oracle."""

import shutil
import struct
from pathlib import Path

import pytest

from perf2x.base.binaries.find import recorded_vdso
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.load_result import Loaded
from perf2x.stitcher.unwind.unwound_chains import End
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Event, Mmap2, Registers, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.session import Session
from tests.support.recordings import CORPUS

RECORDING = CORPUS / "unwind_vdso" / "perf.data"
COMMON = CORPUS / "common"
(IMAGE,) = (COMMON / "buildid").glob(".build-id/*/*/vdso")
ENDS = {End.COMPLETE: 65, End.TRUNCATED: 2}


def loaded(**symbols) -> Loaded:
    options = SymbolOptions(**({"symfs": COMMON / "symfs", "inline": False} | symbols))
    return load(str(RECORDING), LoadOptions(symbols=options, jobs=1))


def names(found: Loaded) -> set[str]:
    profile = found.profile
    return {profile.strings[name] for name in profile.functions.name.tolist()}


def test_without_the_vdso_stacks_through_it_are_cut() -> None:
    found = loaded()
    assert found.unwound.ends[End.NO_UNWIND_INFO] > 10 and "__vdso_getcpu" not in names(found)


def test_the_build_id_cache_has_it() -> None:
    found = loaded(buildid_dir=COMMON / "buildid")
    assert found.unwound.ends == ENDS and {"__vdso_getcpu", "__vdso_clock_gettime"} <= names(found)


def test_the_recorded_machines_files_have_it(tmp_path: Path) -> None:
    shutil.copytree(COMMON / "symfs", tmp_path, dirs_exist_ok=True)
    release = loaded().recording.session.os_release
    installed = tmp_path / "lib" / "modules" / release / "vdso" / "vdso64.so"
    installed.parent.mkdir(parents=True)
    shutil.copy(IMAGE, installed)
    found = loaded(symfs=tmp_path)
    assert found.unwound.ends == ENDS and "__vdso_getcpu" in names(found)


@pytest.mark.parametrize("recorded", [True, False], ids=["build id", "none"])
def test_the_running_kernel_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: bool) -> None:
    session = loaded().recording.session
    shutil.copytree(COMMON / "symfs", tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("PERF2X_SYSROOT", str(tmp_path))
    if not recorded:
        monkeypatch.setattr("perf2x.reader.session_builder.name_vdso_copies", lambda build_ids: {})
        monkeypatch.setattr(recorded_vdso, "running_kernel_release", lambda: session.os_release)
        monkeypatch.setattr(recorded_vdso, "running_host_name", lambda: session.hostname)
    assert loaded(symfs=None).unwound.ends[End.NO_UNWIND_INFO] > 10
    monkeypatch.setattr(recorded_vdso, "running_vdso_image", IMAGE.read_bytes)
    found = loaded(symfs=None)
    assert found.unwound.ends == ENDS and "__vdso_getcpu" in names(found)


def test_files_in_a_running_container_have_rules_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(COMMON / "symfs", tmp_path / "proc" / "10972" / "root")
    monkeypatch.setenv("PERF2X_SYSROOT", str(tmp_path))
    found = loaded(symfs=None, buildid_dir=COMMON / "buildid")
    assert found.unwound.ends == ENDS and {"__vdso_getcpu", "deeper"} <= names(found)


KERNEL, IN_GETCPU, PROGRAM, STACK = b"\x33" * 20, 0xF08, 0x400000, 0x7FFF00000000
VDSO_AT = {"64": 0x7FFFF7FC0000, "32": 0xF7FC0000}


def recorded_kernel(path: Path, vdso_at: int) -> Path:
    """As perf 7 records: the kernel's mapping has its build id, the vDSO's has none, and there is no table of them."""
    event = Event(
        sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER,
        sample_regs_user=1 << 6 | 1 << 7 | 1 << 8, sample_stack_user=64,
        flags=frozenset({"sample_id_all", "exclude_callchain_user"}),
    )  # fmt: skip
    stamp, text = Stamp(5, 5, 0), 0xFFFFFFFF81000000
    records = [
        Mmap2(pid=2**32 - 1, tid=0, addr=text, len=0x1000000, pgoff=text, filename="[kernel.kallsyms]_text", misc=1,
              build_id=KERNEL, stamp=stamp),
        Mmap2(pid=5, tid=5, addr=PROGRAM, len=0x1000, filename="/bin/prog", stamp=stamp),
        Mmap2(pid=5, tid=5, addr=vdso_at, len=0x2000, filename="[vdso]", stamp=stamp),
        Sample(pid=5, tid=5, time=100, ip=vdso_at + IN_GETCPU, regs_user=Registers(2, (0, STACK, vdso_at + IN_GETCPU)),
               stack=struct.pack("<8Q", PROGRAM + 0x10, *[0] * 7), stack_used=64),
    ]  # fmt: skip
    path.write_bytes(write_file(Session(events=(event,)), records))
    return path


@pytest.mark.parametrize(
    ("running", "bits", "found"), [(KERNEL, "64", True), (b"\x34" * 20, "64", False), (KERNEL, "32", False)]
)
def test_the_kernels_build_id_tells_its_vdso(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: bytes, bits: str, found: bool
) -> None:
    monkeypatch.setattr(recorded_vdso, "running_vdso_image", IMAGE.read_bytes)
    monkeypatch.setattr(recorded_vdso, "running_kernel_build_id", lambda: running)
    path = recorded_kernel(tmp_path / "perf.data", VDSO_AT[bits])
    options = LoadOptions(symbols=SymbolOptions(inline=False), jobs=1)
    outcome = load(str(path), options)
    assert ("__vdso_getcpu" in names(outcome)) is found
    if bits == "64":
        assert (PROGRAM + 0x10 in outcome.profile.locations.address.tolist()) is found
