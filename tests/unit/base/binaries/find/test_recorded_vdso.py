"""The vDSO of a recording: a file of the same build, else of the same kernel."""

from pathlib import Path

import pytest

from perf2x.base.binaries.find import recorded_vdso
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.recorded_vdso import IN_MEMORY, find_vdso
from perf2x.base.binaries.find.search_paths import SearchPaths
from tests.support.profile_builder import make_session
from tests.support.tiny_elf import TinySection, tiny_elf
from tests.unit.base.binaries.find.test_object_finder import ONE, TEXT, TWO, note, put

RELEASE, HOST = "7.2.13-test", "recorder"
KERNEL = b"\x33" * 20
SESSION = make_session(os_release=RELEASE, hostname=HOST, arch="x86_64")


def image(build_id=ONE, is_64=True) -> bytes:
    text = TEXT if is_64 else TinySection(".text", b"\x90" * 32, 0x1000, flags=6)
    return tiny_elf([text, note(build_id)], is_64=is_64, machine=62 if is_64 else 3)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine runs the recorded kernel, and its vDSO is build ONE."""
    monkeypatch.setattr(recorded_vdso, "running_vdso_image", image)
    monkeypatch.setattr(recorded_vdso, "running_kernel_build_id", lambda: KERNEL)
    monkeypatch.setattr(recorded_vdso, "running_kernel_release", lambda: RELEASE)
    monkeypatch.setattr(recorded_vdso, "running_host_name", lambda: HOST)


def found(build_id=b"", kernel=b"", session=SESSION, is_64=True, **places) -> ObjectFiles:
    finder = Finder(SearchPaths(**{"system_debug_dir": None, "proc": None, **places}))
    return find_vdso(finder, session, build_id, kernel, is_64=is_64)


def name_of(files: ObjectFiles) -> str:
    return files.files[0].name if files.files else ""


@pytest.mark.usefixtures("running")
def test_the_running_vdso_serves_its_own_build() -> None:
    assert name_of(found(ONE)) == IN_MEMORY
    other = found(TWO, KERNEL)
    assert not other.files and other.reason == f"{IN_MEMORY} is another build"


@pytest.mark.usefixtures("running")
def test_without_a_build_id_the_running_vdso_serves_its_own_kernel() -> None:
    assert name_of(found(kernel=KERNEL)) == IN_MEMORY
    assert not found(kernel=TWO).files


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("release", "host", "serves"),
    [(RELEASE, HOST, True), (RELEASE, "another", False), ("7.2.12", HOST, False), ("", "", False)],
)
def test_without_any_build_id_release_and_machine_have_to_be_the_same(
    monkeypatch: pytest.MonkeyPatch, release, host, serves
) -> None:
    session = make_session(os_release=release, hostname=host, arch="x86_64")
    assert bool(found(session=session).files) is serves
    monkeypatch.setattr(recorded_vdso, "running_kernel_release", lambda: "")
    monkeypatch.setattr(recorded_vdso, "running_host_name", lambda: "")
    assert not found(session=session).files


@pytest.mark.usefixtures("running")
def test_the_running_vdso_is_not_asked_under_a_symfs(tmp_path: Path) -> None:
    assert not found(ONE, KERNEL, symfs=tmp_path).files


@pytest.mark.usefixtures("running")
def test_the_vdso_of_other_programs_is_not_taken_without_a_build_id() -> None:
    assert not found(kernel=KERNEL, is_64=False).files


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(("machine", "serves"), [(3, True), (62, False)], ids=["32 bits", "x32"])
def test_programs_of_32_bits_have_the_one_that_perf_reads(monkeypatch: pytest.MonkeyPatch, machine, serves) -> None:
    small = tiny_elf([TinySection(".text", b"\x90" * 32, 0x1000, flags=6), note(TWO)], is_64=False, machine=machine)
    monkeypatch.setattr(recorded_vdso, "running_vdso32_image", lambda: small)
    assert name_of(found(kernel=KERNEL)) == IN_MEMORY
    assert bool(found(kernel=KERNEL, is_64=False).files) is serves
    assert bool(found(TWO, is_64=False).files) and not found(ONE, is_64=False).files


def test_the_vdso_that_came_with_the_recorded_release_is_found(tmp_path: Path) -> None:
    path = put(tmp_path, f"/lib/modules/{RELEASE}/vdso/vdso64.so", image())
    small = put(tmp_path, f"/lib/modules/{RELEASE}/vdso/vdso32.so", image(TWO, is_64=False))
    assert name_of(found(symfs=tmp_path)) == str(path)
    assert name_of(found(symfs=tmp_path, is_64=False)) == str(small)
    assert name_of(found(ONE, symfs=tmp_path)) == str(path)
    assert name_of(found(TWO, symfs=tmp_path)) == str(small)
    assert not found(KERNEL, symfs=tmp_path).files
    assert not found(symfs=tmp_path, session=make_session(os_release=f"../modules/{RELEASE}")).files


def test_a_file_in_the_build_id_cache_comes_first(tmp_path: Path) -> None:
    put(tmp_path, f"/lib/modules/{RELEASE}/vdso/vdso64.so", image())
    path = put(tmp_path, f"/cache/.build-id/11/{'11' * 19}/vdso", image())
    assert name_of(found(ONE, symfs=tmp_path, buildid_dir=tmp_path / "cache")) == str(path)


def test_damaged_files_are_passed_over_with_the_reason(tmp_path: Path) -> None:
    path = put(tmp_path, f"/lib/modules/{RELEASE}/vdso/vdso64.so", b"\x7fELF")
    files = found(symfs=tmp_path)
    assert not files.files and str(path) in files.reason
    whole = put(tmp_path, f"/lib/modules/{RELEASE}/vdso/vdso.so", image())
    assert name_of(found(symfs=tmp_path)) == str(whole)
