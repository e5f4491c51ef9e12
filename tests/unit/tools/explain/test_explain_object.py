"""Whole objects: what they lack, every path that was looked at, and what would help."""

import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.errors import ObjectError
from perf2x.tools.explain import debug_file_advice, explain_object
from perf2x.tools.explain.debug_file_advice import debug_package
from perf2x.tools.explain.explain_object import explain_file
from perf2x.tools.explain.missing_names import explain_unnamed
from tests.support.frame_writer import Frame, FrameFile
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.support.tiny_go import TinyFunction, tiny_go_table
from tests.unit.tools.explain.forged import (
    BUILD_ID,
    EMPTY_TEXT,
    NOTE,
    TEXT,
    compiled,
    debug_sections,
    split,
    with_symbols,
    written,
)

STRIPPED = tiny_elf([TEXT, NOTE])
SYMBOLS = [TinySymbol("f", 0x1000, 0x100)]
DEBUG = with_symbols(EMPTY_TEXT, SYMBOLS, debug_sections(*compiled()))
OTHER = tiny_elf([TEXT, TinySection(NOTE.name, NOTE.data[:16] + b"\x77" * 20, NOTE.address, "NOTE", 2)])
HEX = BUILD_ID.hex()
MISSING = "stripped: it has no symbol table, and no debug file was found"


def explained(root, path="/bin/prog", **places) -> Any:
    finder = Finder(SearchPaths(symfs=root, proc=None, **places))
    return explain_file(str(root) + path, finder)


def commands(known) -> list[str]:
    return [advice.command for advice in known.advice]


def looked_at(known, root) -> dict[str, str]:
    return {place.path.removeprefix(str(root)): place.result for place in known.looked_at}


def test_a_stripped_object_lists_the_searched_paths(tmp_path) -> None:
    link = TinySection(".gnu_debuglink", b"prog.dbg\0\0\0\0" + b"\x01\x02\x03\x04")
    written(tmp_path, tiny_elf([TEXT, NOTE, link]), "bin/prog")
    written(tmp_path, OTHER, "bin/.debug/prog.dbg")
    written(tmp_path, b"no ELF file", f"usr/lib/debug/.build-id/5a/{HEX[2:]}.debug")
    known = explained(tmp_path)
    assert known.build_id == HEX
    assert [held.sections for held in known.files] == [(".gnu_debuglink",)]
    assert looked_at(known, tmp_path) == {
        "/bin/prog": "taken",
        "/bin/prog.dbg": "not there",
        "/bin/.debug/prog.dbg": "another build",
        "/usr/lib/debug/bin/prog.dbg": "not there",
        f"/usr/lib/debug/.build-id/5a/{HEX[2:]}.debug": "cannot be read",
        "/bin/.debug/prog": "not there",
    }
    assert [known.answers[what].good for what in ("names", "lines", "stacks")] == [False] * 3
    assert commands(known) == ["--debug-dir DIR", f"debuginfod-find debuginfo {HEX}", "-g", "-fno-omit-frame-pointer"]
    assert any("is another build" in text for text in known.troubles)


def test_a_wrong_checksum_is_reported_without_a_build_id(tmp_path) -> None:
    link = TinySection(".gnu_debuglink", b"prog.dbg\0\0\0\0" + b"\x01\x02\x03\x04")
    written(tmp_path, tiny_elf([TEXT, link]), "bin/prog")
    written(tmp_path, DEBUG, "bin/prog.dbg")
    known = explained(tmp_path)
    assert looked_at(known, tmp_path)["/bin/prog.dbg"] == "another checksum"
    assert looked_at(known, tmp_path)["/bin/.debug/prog.dbg"] == "not there"
    assert "-Wl,--build-id" in commands(known)


def test_a_matching_checksum_is_accepted(tmp_path) -> None:
    debug = tiny_elf([EMPTY_TEXT, *symbol_sections(SYMBOLS, 2)])
    link = TinySection(".gnu_debuglink", b"prog.dbg\0\0\0\0" + zlib.crc32(debug).to_bytes(4, "little"))
    written(tmp_path, tiny_elf([TEXT, link]), "bin/prog")
    written(tmp_path, debug, "bin/prog.dbg")
    assert looked_at(explained(tmp_path), tmp_path)["/bin/prog.dbg"] == "taken"


def test_a_debug_file_provides_names_and_lines(tmp_path) -> None:
    written(tmp_path, FrameFile([Frame(0x1000, 0x4000)], more=[NOTE]).bytes(), "bin/prog")
    written(tmp_path, DEBUG, f"usr/lib/debug/.build-id/5a/{HEX[2:]}.debug")
    known = explained(tmp_path)
    assert [answer.good for answer in known.answers.values()] == [True] * 3
    debug = f"{tmp_path}/usr/lib/debug/.build-id/5a/{HEX[2:]}.debug"
    assert known.answers["names"].text == f".symtab in {debug}"
    assert known.answers["lines"].text == f"DWARF 5 in {debug}"
    assert known.advice == ()
    assert [(held.file, held.sections) for held in known.files] == [
        (f"{tmp_path}/bin/prog", (".eh_frame",)), (debug, (".symtab", ".debug_info")),
    ]  # fmt: skip


def test_a_copy_is_listed_once(tmp_path) -> None:
    written(tmp_path, with_symbols(TEXT, SYMBOLS), "bin/prog")
    written(tmp_path, with_symbols(TEXT, SYMBOLS), f"cache/.build-id/5a/{HEX[2:]}/elf")
    known = explained(tmp_path, buildid_dir=tmp_path / "cache")
    assert known.looked_at[0].result == "taken"
    assert [held.sections for held in known.files] == [(".symtab",)]


def test_mini_debug_info_names_functions(tmp_path) -> None:
    inner = tiny_elf([EMPTY_TEXT, *symbol_sections(SYMBOLS, 2)])
    written(tmp_path, tiny_elf([TEXT, NOTE, TinySection(".gnu_debugdata", lzma.compress(inner))]), "bin/prog")
    known = explained(tmp_path)
    assert known.answers["names"].good
    assert known.answers["names"].text == f".symtab in {tmp_path}/bin/prog, .gnu_debugdata"


def test_unreadable_mini_debug_info_is_reported(tmp_path) -> None:
    written(tmp_path, tiny_elf([TEXT, NOTE, TinySection(".gnu_debugdata", b"garbage")]), "bin/prog")
    known = explained(tmp_path)
    assert not known.answers["names"].good
    assert len(known.troubles) == 1 and "xz" in known.troubles[0]


def test_exported_functions_alone_are_not_enough(tmp_path) -> None:
    dynamic = symbol_sections([TinySymbol("f", 0x1000, 0x40)], 3, table=".dynsym", strings=".dynstr")
    written(tmp_path, tiny_elf([TEXT, NOTE, *dynamic]), "bin/prog")
    answer = explained(tmp_path).answers["names"]
    assert not answer.good
    assert answer.text == "stripped: it has no symbol table, and no debug file was found"


def test_go_has_names_lines_and_frame_pointers(tmp_path) -> None:
    table = tiny_go_table([TinyFunction("main.main", 0x1000, ((1, 16),), ((0, 16),))], 0x1010, ["main.go"], text=0x1000)
    written(tmp_path, tiny_elf([TEXT, NOTE, TinySection(".gopclntab", table, 0x5000, flags=2)]), "bin/prog")
    known = explained(tmp_path)
    assert [answer.good for answer in known.answers.values()] == [True] * 3
    assert known.answers["names"].text == f".gopclntab in {tmp_path}/bin/prog"


def test_missing_split_files_are_reported(tmp_path) -> None:
    (one, table), (two, _) = split("one.dwo"), split("two.dwo")
    written(tmp_path, with_symbols(TEXT, SYMBOLS, debug_sections(one + two, table)), "bin/prog")
    known = explained(tmp_path)
    assert not known.answers["lines"].good
    assert known.answers["lines"].text == f"DWARF 5 in {tmp_path}/bin/prog, but 2 .dwo files not found, such as one.dwo"
    assert commands(known)[0] == f"dwp -e {tmp_path}/bin/prog"
    written(tmp_path, b"", "src/one.dwo")
    assert explained(tmp_path).answers["lines"].text.endswith("but 1 .dwo file not found, such as two.dwo")
    written(tmp_path, b"", "src/two.dwo")
    assert explained(tmp_path).answers["lines"].good


def test_a_package_holds_split_files(tmp_path) -> None:
    written(tmp_path, with_symbols(TEXT, SYMBOLS, debug_sections(*split("one.dwo"))), "bin/prog")
    written(tmp_path, b"no package", "bin/prog.dwp")
    broken = explained(tmp_path)
    assert not broken.answers["lines"].good and any("prog.dwp" in text for text in broken.troubles)
    written(tmp_path, tiny_elf([TEXT]), "bin/prog.dwp")
    assert explained(tmp_path).answers["lines"].good


def test_the_number_of_searched_split_files_is_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(explain_object, "MAX_UNITS", 1)
    info, table = split("one.dwo")
    written(tmp_path, with_symbols(TEXT, SYMBOLS, debug_sections(info * 2, table)), "bin/prog")
    assert "but 1 .dwo file not found" in explained(tmp_path).answers["lines"].text


@pytest.mark.parametrize(("info", "why"), [(b"", "no unit of DWARF 2 to 5"), (b"\xf0\0\0\0" * 4, "extends past"),
    (b"\x08\0\0\0\x09\0" + bytes(6), "no unit of DWARF 2 to 5")])  # fmt: skip
def test_debug_info_that_cannot_be_read_is_none(tmp_path, info, why) -> None:
    written(tmp_path, with_symbols(TEXT, SYMBOLS, debug_sections(info, b"\0")), "bin/prog")
    lines = explained(tmp_path).answers["lines"]
    assert not lines.good and lines.text.startswith("debug info cannot be read completely: ") and why in lines.text


def test_a_missing_dwz_file_is_reported(tmp_path) -> None:
    link = TinySection(".gnu_debugaltlink", b"/usr/lib/debug/.dwz/common\0" + b"\x99" * 20)
    written(tmp_path, with_symbols(TEXT, SYMBOLS, [*debug_sections(*compiled()), link]), "bin/prog")
    known = explained(tmp_path)
    assert "the dwz file /usr/lib/debug/.dwz/common is missing" in known.answers["lines"].text


def test_a_broken_dwz_link_is_reported(tmp_path) -> None:
    more = [*debug_sections(*compiled()), TinySection(".gnu_debugaltlink", b"x")]
    written(tmp_path, with_symbols(TEXT, SYMBOLS, more), "bin/prog")
    assert "link to a dwz file is cut off" in explained(tmp_path).answers["lines"].text


def test_the_package_is_found_by_its_file_list(tmp_path) -> None:
    written(tmp_path, STRIPPED, "usr/bin/prog")
    written(tmp_path, b"/.\n/usr\n/usr/bin/prog-2\n", "var/lib/dpkg/info/other.list")
    written(tmp_path, b"/.\n/usr\n/usr/bin/prog\n", "var/lib/dpkg/info/mine:amd64.list")
    known = explained(tmp_path, "/usr/bin/prog")
    assert commands(known)[:2] == ["apt install mine-dbgsym", f"debuginfod-find debuginfo {HEX}"]
    assert "-g" not in commands(known)


@pytest.mark.parametrize(("listed", "owner", "wanted"), [
    ("/lib/x.so", "libc6:amd64", "libc6-dbg"), ("/usr/lib/x.so", "zlib1g", "zlib1g-dbgsym"),
    ("/usr/lib/x.so", "x-dbg", "x-dbg"), ("/usr/lib/x.so.6", "libc6", ""),
])  # fmt: skip
def test_debug_packages_have_conventional_names(tmp_path, listed, owner, wanted) -> None:
    written(tmp_path, f"/.\n{listed}\n".encode(), f"var/lib/dpkg/info/{owner}.list")
    assert debug_package(Finder(SearchPaths(symfs=tmp_path)), "/usr/lib/x.so") == wanted


def test_oversized_file_lists_are_not_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(debug_file_advice, "LARGEST_LIST", 5)
    written(tmp_path, b"/.\n/usr/bin/prog\n", "var/lib/dpkg/info/mine.list")
    assert debug_package(Finder(SearchPaths(symfs=tmp_path)), "/usr/bin/prog") == ""


def test_files_that_are_no_objects_are_refused_in_a_sentence(tmp_path) -> None:
    written(tmp_path, b"text", "bin/text")
    written(tmp_path, STRIPPED[:70], "bin/cut")
    said_of = {"/bin/text": "not a readable ELF file", "/bin/cut": "lie outside", "/bin": "not a regular file"}
    for path, said in {**said_of, "/nothing": "No such file"}.items():
        with pytest.raises(ObjectError, match=said):
            explained(tmp_path, path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ObjectError, match="not a regular file"):
            explained(tmp_path, "/pipe")


@pytest.mark.parametrize(("described", "good"), [(0, False), (1, False), (2, True), (4, True)])
def test_tables_have_to_describe_most_functions(tmp_path, described, good) -> None:
    """Start-up code has call frame information even where the compiler was told to write none."""
    frames = [Frame(0x1000 + 0x100 * at, 0x100) for at in range(described)]
    symbols = symbol_sections([TinySymbol(f"f{at}", 0x1000 + 0x100 * at, 0x100) for at in range(4)], 3)
    written(tmp_path, tiny_elf([EMPTY_TEXT, NOTE, *symbols]), f"usr/lib/debug/.build-id/5a/{HEX[2:]}.debug")
    written(tmp_path, FrameFile(frames, more=[NOTE]).bytes(), "bin/prog")
    known = explained(tmp_path)
    assert known.answers["stacks"].good is good
    assert ("-fno-omit-frame-pointer" in commands(known)) is not good
    assert ("only 1 of 4 functions" in known.answers["stacks"].text) is (described == 1)


def test_call_frames_of_both_kinds_count_once(tmp_path) -> None:
    symbols = symbol_sections([TinySymbol(f"f{at}", 0x1000 + 0x100 * at, 0x100) for at in range(4)], 3)
    written(tmp_path, tiny_elf([EMPTY_TEXT, NOTE, *symbols]), f"usr/lib/debug/.build-id/5a/{HEX[2:]}.debug")
    one, two = Frame(0x1000, 0x100), Frame(0x1100, 0x100)
    for debug, good in (([two], True), ([one], False)):
        written(tmp_path, FrameFile([one], debug=debug, more=[NOTE]).bytes(), "bin/prog")
        assert explained(tmp_path).answers["stacks"].good is good


def test_an_object_without_code_needs_no_frame_pointers(tmp_path) -> None:
    written(tmp_path, tiny_elf([NOTE]), "bin/prog")
    assert "-fno-omit-frame-pointer" not in commands(explained(tmp_path))


def test_a_relocatable_object_needs_no_build_id(tmp_path) -> None:
    written(tmp_path, tiny_elf([TEXT, *symbol_sections(SYMBOLS, 2)], kind=1), "bin/prog.o")
    known = explained(tmp_path, "/bin/prog.o")
    assert known.answers["stacks"].text == "unknown: the file is not linked"
    assert commands(known) == ["-g"]


@pytest.mark.parametrize(("word", "order"), [(0, 1), (3, 1), (2, 0), (2, 3)])
def test_pyelftools_refuses_the_same_files(word, order) -> None:
    data = STRIPPED[:4] + bytes([word, order]) + STRIPPED[6:]
    with pytest.raises(ObjectError, match="unknown word size"):
        open_elf(data)
    with pytest.raises(ELFError):
        ELFFile(io.BytesIO(data))


DAMAGED = Path(__file__).parents[2] / "symbolizer" / "data" / "debug_info"


@pytest.mark.parametrize("name", ["gnu5.so", "gnu4.so", "clang5.so", "dwz_one.so", "module.ko", "gnu5_one.dwo"])
def test_damage_is_reported_in_sentences(tmp_path, name) -> None:
    draw = np.random.default_rng(len(name))
    for _ in range(40):
        data = bytearray((DAMAGED / name).read_bytes())
        for at in draw.integers(0, len(data) - 4, draw.integers(1, 12)).tolist():
            data[at : at + 4] = bytes(draw.choice([0, 0x7F, 0xFF, at & 0xFF], 4).tolist())
        written(tmp_path, bytes(data[: draw.choice([len(data), len(data) - 9])]), f"bin/{name}")
        with suppress(ObjectError):
            explained(tmp_path, f"/bin/{name}")


def test_archives_and_servers_are_listed(tmp_path) -> None:
    written(tmp_path, STRIPPED, "bin/prog")

    def fetch(kind, build_id) -> Iterator[ElfObject]:
        return iter([open_elf(DEBUG)] if kind == "debuginfo" and build_id == BUILD_ID else [])

    known = explain_file(f"{tmp_path}/bin/prog", Finder(SearchPaths(symfs=tmp_path, proc=None), (fetch,)))
    assert known.looked_at[-1].path == "debuginfo of this build id in archives and on servers"
    assert known.looked_at[-1].result == "taken"
    assert known.answers["names"].good and known.answers["lines"].good


def why(root, name, build_id=HEX, said="said before") -> Any:
    return explain_unnamed(name, build_id, 7, said, Finder(SearchPaths(symfs=root, proc=None)))


def test_missing_names_of_a_recording_are_explained(tmp_path) -> None:
    absent = why(tmp_path, "/bin/prog")
    assert (absent.why, absent.frames) == ("said before", 7)
    assert {place.result for place in absent.looked_at} == {"not there"}
    assert [one.command for one in absent.advice] == ["perf2x bundle", f"debuginfod-find debuginfo {HEX}"]
    written(tmp_path, OTHER, "bin/prog")
    replaced = why(tmp_path, "/bin/prog")
    assert replaced.looked_at[0].result == "another build"
    assert replaced.advice[0].what.startswith("the file here is of another version; on the recorded machine, pack")
    assert why(None, "/nowhere/prog").advice[0].command == "--symfs DIR"
    written(tmp_path, b"/bin/prog\n", "var/lib/dpkg/info/mine.list")
    assert [one.command for one in why(tmp_path, "/bin/prog").advice] == [one.command for one in absent.advice]
    written(tmp_path, STRIPPED, "bin/prog")
    stripped = why(tmp_path, "/bin/prog (deleted)", said=MISSING)
    assert stripped.why == explained(tmp_path).answers["names"].text == MISSING
    assert [one.command for one in stripped.advice] == [
        "apt install mine-dbgsym",
        f"debuginfod-find debuginfo {HEX}",
    ]
    written(tmp_path, with_symbols(TEXT, SYMBOLS), "bin/prog")
    named = why(tmp_path, "/bin/prog")
    assert (named.why, named.advice) == ("said before", ())


def test_an_object_in_memory_with_a_build_id_is_missing_as_any_other(tmp_path) -> None:
    assert [one.command for one in why(tmp_path, "/memfd:plugin (deleted)").advice][:1] == ["perf2x bundle"]
    assert why(tmp_path, "/memfd:code (deleted)", "").advice == ()


@pytest.mark.parametrize(("name", "command"), [("[kernel.kallsyms]", "--kallsyms FILE"), ("[vdso]", "perf2x bundle"),
    ("[unknown]", "-fno-omit-frame-pointer"), ("//anon of process 7", "node --perf-basic-prof"),
    ("//anon", "-fno-omit-frame-pointer"), ("[heap]", "-fno-omit-frame-pointer")])  # fmt: skip
def test_missing_names_of_special_mappings_are_explained(tmp_path, name, command) -> None:
    found = why(tmp_path, name, "")
    assert (found.why, found.looked_at) == ("said before", ())
    assert [one.command for one in found.advice][:1] == [command]
