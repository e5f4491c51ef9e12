"""``perf2x bundle``: what it packs, and that what it packed is enough elsewhere."""

import tarfile
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS

CALLS = recording("calls")
PLACES = ("--symfs", CORPUS / "common" / "symfs", "--kallsyms", CORPUS / "calls" / "kallsyms.xz")


@pytest.fixture
def nowhere(tmp_path: Path) -> tuple[object, ...]:
    """Options that keep this machine's own symbols out."""
    empty = tmp_path / "empty"
    empty.mkdir()
    return "--symfs", empty, "--buildid-dir", empty


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "calls.tar.gz"
    ran = perf2x("bundle", CALLS, *PLACES, "-o", path)
    assert ran.code == 0
    assert f"objects to {path}" in ran.err
    return path


def test_the_recording_and_its_objects_by_build_id(packed: Path) -> None:
    with tarfile.open(packed) as tar:
        names = tar.getnames()
        member = tar.extractfile("perf.data")
        assert member is not None
        assert member.read() == Path(CALLS).read_bytes()
    assert names[0] == "perf.data"
    assert "demo/calls/2095ab6d9acb6adc2cc3e299ade713bb115aab58/elf" in names
    assert "[kernel.kallsyms]/48dc540c8b76393804ca8088dbfa7d42911a9444/kallsyms" in names


def test_a_bundle_is_enough_on_another_machine(packed: Path, nowhere: tuple[object, ...]) -> None:
    words = ("--json", "-q", "-n", 0, "--no-inline")
    assert "[calls]" in perf2x("top", CALLS, *nowhere, *words).out
    bundled = perf2x("top", packed, *nowhere, *words)
    assert '"spin"' in bundled.out
    assert '"read_zero"' in bundled.out
    assert "[calls]" not in bundled.out


def test_every_command_reads_it_under_its_own_name(packed: Path) -> None:
    assert f"source: {packed}" in perf2x("info", packed, "--no-symbols").out
    assert perf2x("diff", CALLS, packed, "--no-symbols", "--fail-above", "0").code == 0


def test_equal_contents_are_equal_bytes(packed: Path, tmp_path: Path) -> None:
    other = tmp_path / "again.tar.gz"
    assert perf2x("bundle", CALLS, *PLACES, "-o", other, "-q").code == 0
    assert other.read_bytes() == packed.read_bytes()


def test_what_cannot_be_packed_is_said(tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    ran = perf2x("bundle", CALLS, *nowhere, "-o", tmp_path / "x.tar.gz")
    assert ran.code == 0
    assert "left out: /demo/calls: file not found" in ran.err
    assert "left out: [kernel.kallsyms]: no kallsyms of the recorded kernel found" in ran.err
    assert perf2x("bundle", "-").code == 2


def test_a_damaged_bundle_is_one_sentence(packed: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(packed.read_bytes()[:9000])
    ran = perf2x("convert", cut, "-t", "collapsed", "-o", "-")
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {cut}: cannot be read as a bundle")
    assert ran.err.count("\n") == 1
