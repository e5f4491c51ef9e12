"""perf archive tarballs read in place."""

import io
import random
import tarfile
from pathlib import Path

import pytest

from perf2x.base.binaries.find.perf_archive import Archive
from perf2x.errors import ObjectError
from perf2x.symbolizer.make_object_finder import make_finder
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.tiny_elf import TinySection, tiny_elf

ID = b"\x44" * 20
NOTE = TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + ID, 0x300, "NOTE", 2)
PROGRAM = tiny_elf([TinySection(".text", b"\x90" * 64, 0x1000, flags=6), NOTE])


def tarball(path, members, mode="w:bz2") -> Path:
    with tarfile.open(path, mode) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname = tarfile.SYMTYPE, data
                tar.addfile(info)
            else:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_objects_and_kallsyms_are_found_by_build_id(tmp_path, mode) -> None:
    members = {
        f".build-id/44/{'44' * 19}": f"../../usr/bin/prog/{ID.hex()}",
        f"usr/bin/prog/{ID.hex()}/elf": PROGRAM,
        f"[kernel.kallsyms]/{'55' * 20}/kallsyms": b"ffffffff81000000 T _text\n",
    }
    path = tarball(tmp_path / "perf.data.tar", members, mode)
    found = make_finder(SymbolOptions(archives=(path,), symfs=tmp_path), None).find("/usr/bin/prog", ID)
    assert found.code is not None and "prog" in found.code.name
    assert Archive(path).member(b"\x55" * 20, ("kallsyms",))[1].startswith(b"ffff")
    assert Archive(path).member(ID, ("debug",)) is None


def test_members_of_old_caches_have_no_kind(tmp_path) -> None:
    path = tarball(tmp_path / "a.tar", {f"usr/bin/prog/{ID.hex()}": PROGRAM})
    assert Archive(path).member(ID, ("elf",))[1] == PROGRAM


def test_member_names_with_dots_are_never_paths(tmp_path) -> None:
    path = tarball(tmp_path / "a.tar", {f"../../../etc/{ID.hex()}/elf": PROGRAM})
    assert Archive(path).member(ID, ("elf",))[1] == PROGRAM
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar"]


@pytest.mark.parametrize("cut", [0, 10, 300, 700])
def test_broken_tarballs_are_object_errors(tmp_path, cut) -> None:
    path = tarball(tmp_path / "a.tar.gz", {f"x/{ID.hex()}/elf": PROGRAM + random.Random(1).randbytes(5000)}, "w:gz")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ObjectError, match="tarball"):
        Archive(path).member(ID, ("elf",))
