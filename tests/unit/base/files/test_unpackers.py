"""A Python without bzip2, xz or zstd says so, by the name of the file."""

import gzip
import lzma
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from perf2x.base.binaries.elf.decompress import decompress_file
from perf2x.base.files import unpackers
from perf2x.errors import ObjectError
from tests.forge.session import zstd
from tests.support.command import perf2x, recording

PACKED = {"xz": lzma.compress, "zstd": zstd().compress}


@pytest.fixture(params=PACKED)
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kind of compression whose module is not there."""
    monkeypatch.setitem(sys.modules, unpackers._MODULES[request.param], None)
    return str(request.param)


def test_a_compressed_recording_is_refused(absent: str, tmp_path: Path) -> None:
    packed = tmp_path / "packed.data"
    packed.write_bytes(PACKED[absent](Path(recording("calls")).read_bytes()))
    ran = perf2x("info", packed)
    said = f"{absent} data: this Python cannot unpack it, because it has no {unpackers._MODULES[absent]}"
    assert (ran.code, ran.err) == (1, f"perf2x: {packed}: {said}\n")


def test_compressed_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, unpackers._MODULES["zstd"], None)
    ran = perf2x("info", recording("zstd"))
    assert (
        ran.code == 1
        and ran.err.startswith("perf2x: zstd data: this Python cannot unpack it, because it has no ")
        and ran.err.count("\n") == 1
    )


def test_an_object_goes_without(absent: str) -> None:
    with pytest.raises(ObjectError, match=f"{absent} data: this Python cannot unpack it, because it has no "):
        decompress_file(PACKED[absent](b"\x7fELF"))


def test_other_damage_is_told_without_xz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    cut = tmp_path / "cut.data.gz"
    cut.write_bytes(gzip.compress(Path(recording("calls")).read_bytes())[:-1000])
    assert "The compressed file is cut off or damaged" in perf2x("info", cut).out


@pytest.mark.parametrize(("kind", "mode"), [("bzip2", "w:bz2"), ("xz", "w:xz")])
def test_a_packed_archive_is_refused(kind: str, mode: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "perf.data.tar"
    tarfile.open(packed, mode).close()
    monkeypatch.setitem(sys.modules, unpackers._MODULES[kind], None)
    ran = perf2x("convert", recording("calls"), "--archive", packed, "--to", "collapsed", "-o", tmp_path / "out")
    said = f"{kind} data: this Python cannot unpack it, because it has no {unpackers._MODULES[kind]}"
    assert ran.code == 0 and said in ran.err, ran.err
