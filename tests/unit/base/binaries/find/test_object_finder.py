"""The search for an object's files."""

import os
import zlib
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.mapping_names import is_real_path
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

TEXT = TinySection(".text", b"\x90" * 64, 0x1000, flags=6)
EMPTY_TEXT = TinySection(".text", b"\0" * 64, 0x1000, type="NOBITS", flags=6)


def note(build_id) -> TinySection:
    return TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + build_id, 0x300, "NOTE", 2)


ONE, TWO = b"\x11" * 20, b"\x22" * 20
STRIPPED = tiny_elf([TEXT, note(ONE)])
DEBUG = tiny_elf([EMPTY_TEXT, note(ONE), *symbol_sections([TinySymbol("f", 0x1000, 16)], 3)])


def put(root, path, data) -> Path:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def finder(**places) -> Finder:
    return Finder(SearchPaths(**{"system_debug_dir": None, "proc": None, **places}))


def test_special_mapping_names_are_no_paths() -> None:
    for name in ("[vdso]", "//anon", "/memfd:x (deleted)", "anon_inode:[perf_event]", "/dev/zero", "", "a/b", "/a\0b"):
        assert not is_real_path(name), name


def test_symfs_is_searched_as_a_hierarchy_or_flat(tmp_path) -> None:
    put(tmp_path, "/usr/bin/prog", STRIPPED)
    assert finder(symfs=tmp_path).find("/usr/bin/prog", ONE).code is not None
    put(tmp_path, "/prog2", STRIPPED)
    assert finder(symfs=tmp_path, symfs_flat=True).find("/usr/bin/prog2", ONE).code is not None
    assert finder(symfs=tmp_path, symfs_flat=True).find("/usr/bin/../../x/..", ONE).code is None


def test_another_build_is_refused_with_a_reason(tmp_path) -> None:
    put(tmp_path, "/bin/prog", STRIPPED)
    found = finder(symfs=tmp_path).find("/bin/prog", TWO)
    assert not found.files and "another build" in found.reason
    assert finder(symfs=tmp_path, allow_mismatch=True).find("/bin/prog", TWO).is_mismatched


@pytest.mark.parametrize("place", ["/usr/lib/debug/.build-id/11/{rest}.debug", "/usr/lib/debug/bin/prog.debug",
                                   "/usr/lib/debug/bin/prog", "/bin/.debug/prog"])  # fmt: skip
def test_the_debug_file_of_a_stripped_binary_is_found(tmp_path, place) -> None:
    put(tmp_path, "/bin/prog", STRIPPED)
    debug = put(tmp_path, place.format(rest="11" * 19), DEBUG)
    from pathlib import Path

    found = finder(symfs=tmp_path, system_debug_dir=Path("/usr/lib/debug")).find("/bin/prog", ONE)
    assert found.symbols is not None and found.symbols.name == str(debug)
    assert found.code is not None and found.code.name == str(tmp_path / "bin/prog")


def test_further_debug_directories_are_searched(tmp_path) -> None:
    put(tmp_path, "sys/bin/prog", STRIPPED)
    put(tmp_path, f"extra/.build-id/11/{'11' * 19}.debug", DEBUG)
    found = finder(symfs=tmp_path / "sys", debug_dirs=(tmp_path / "extra",)).find("/bin/prog", ONE)
    assert found.symbols is not None and found.symbols.section(".symtab")


def test_debug_file_of_another_build_is_refused(tmp_path) -> None:
    put(tmp_path, "/bin/prog", STRIPPED)
    other = tiny_elf([EMPTY_TEXT, note(TWO), *symbol_sections([TinySymbol("g", 0x1000, 16)], 3)])
    put(tmp_path, "/bin/.debug/prog", other)
    found = finder(symfs=tmp_path).find("/bin/prog", ONE)
    assert len(found.files) == 1 and found.symbols is None


@pytest.mark.parametrize("place", ["/bin/prog.dbg", "/bin/.debug/prog.dbg"])
def test_a_debug_link_is_followed_when_its_checksum_matches(tmp_path, place) -> None:
    debug = tiny_elf([EMPTY_TEXT, *symbol_sections([TinySymbol("f", 0x1000, 16)], 2)])
    for crc, wanted in ((zlib.crc32(debug), True), (1, False)):
        link = TinySection(".gnu_debuglink", b"prog.dbg\0\0\0\0" + crc.to_bytes(4, "little"))
        put(tmp_path, "/bin/prog", tiny_elf([TEXT, link]))
        put(tmp_path, place, debug)
        assert (finder(symfs=tmp_path).find("/bin/prog", b"").symbols is not None) is wanted


def test_a_debug_link_cannot_leave_the_root(tmp_path) -> None:
    put(tmp_path, "/prog.dbg", DEBUG)
    link = TinySection(".gnu_debuglink", b"../../prog.dbg\0\0" + bytes(4))
    put(tmp_path, "/root/bin/prog", tiny_elf([TEXT, note(ONE), link]))
    assert finder(symfs=tmp_path / "root").find("/bin/prog", ONE).symbols is None


def test_build_id_cache_comes_before_the_path(tmp_path) -> None:
    put(tmp_path, "/bin/prog", tiny_elf([TEXT, note(TWO)]))
    cached = put(tmp_path, f"cache/.build-id/11/{'11' * 19}/elf", STRIPPED)
    found = finder(symfs=tmp_path, buildid_dir=tmp_path / "cache").find("/bin/prog", ONE)
    assert found.code is not None and found.code.name == str(cached)


def test_mini_debug_info_has_the_symbols(tmp_path) -> None:
    import lzma

    inner = tiny_elf([EMPTY_TEXT, *symbol_sections([TinySymbol("static_one", 0x1000, 16)], 2)])
    put(tmp_path, "/bin/prog", tiny_elf([TEXT, note(ONE), TinySection(".gnu_debugdata", lzma.compress(inner))]))
    found = finder(symfs=tmp_path).find("/bin/prog", ONE)
    assert found.symbols is not None and "gnu_debugdata" in found.symbols.name


def test_a_pipe_is_not_opened(tmp_path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(tmp_path / "pipe")
    assert finder(symfs=tmp_path).find("/pipe", b"").reason == "file not found"


def test_deleted_files_are_searched_by_name(tmp_path) -> None:
    put(tmp_path, "/bin/prog", STRIPPED)
    assert finder(symfs=tmp_path).find("/bin/prog (deleted)", ONE).code is not None
    put(tmp_path, "/bin/other (deleted)", STRIPPED)
    assert finder(symfs=tmp_path).find("/bin/other (deleted)", ONE).code is not None, "it is called so"


def test_the_root_of_a_running_container_is_searched(tmp_path) -> None:
    put(tmp_path, "proc/42/root/bin/prog", STRIPPED)
    files = finder(proc=tmp_path / "proc")
    for pid, is_found in ((-1, False), (41, False), (42, True), (41, True)):
        assert (files.find("/bin/prog", ONE, pid).code is not None) is is_found, "41 has ended"


def test_short_build_ids_match_despite_padding(tmp_path) -> None:
    short = TinySection(".note.gnu.build-id", b"\x04\0\0\0\x10\0\0\0\x03\0\0\0GNU\0" + b"\x77" * 16, 0x300, "NOTE", 2)
    put(tmp_path, "/bin/prog", tiny_elf([TEXT, short]))
    debug = tiny_elf([EMPTY_TEXT, short, *symbol_sections([TinySymbol("f", 0x1000, 16)], 3)])
    put(tmp_path, f"debug/.build-id/77/{'77' * 15}.debug", debug)
    found = finder(symfs=tmp_path, debug_dirs=(tmp_path / "debug",)).find("/bin/prog", b"\x77" * 16 + bytes(4))
    assert found.code is not None and found.symbols is not None
    assert not finder(symfs=tmp_path).find("/bin/prog", b"\x77" * 16 + bytes(3) + b"\1").files


def test_opening_an_object_reads_its_headers_only(tmp_path, monkeypatch) -> None:
    path = put(tmp_path, "/bin/big", STRIPPED)
    with path.open("r+b") as stream:
        stream.truncate(1 << 26)
    read = []
    monkeypatch.setattr(
        ElfObject, "read", lambda self, at, size, real=ElfObject.read: read.append(size) or real(self, at, size)
    )
    found = finder(symfs=tmp_path).find("/bin/big", ONE)
    assert found.code is not None and sum(read) < 4096
