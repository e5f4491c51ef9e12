"""Lines and inlined functions of kernel modules, from debug info without its relocations applied."""

import gzip
import lzma
import struct
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.elf.relocate_module import MODULE_BASE, relocate_debug_info, section_addresses
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.kernel.registry import load_symbol_sources
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.addr2line import addr2line
from tests.support.profile_builder import lines_of, make_profile, make_session
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

MODULE = Path(__file__).parents[1] / "data" / "debug_info" / "module.ko"
AT = 0xFFFFFFFFC0103000
RECORDED = "/lib/modules/7.2.0/kernel/module.ko"


def lines(directory, addresses, recorded=RECORDED, **options) -> tuple[list[list[tuple[str, str, int]]], Diagnostics]:
    profile = make_profile([(AT, AT + 0x1000, 0, recorded, "", -1)], [(0, AT + a) for a in addresses])
    options = {"symfs": directory, "buildid_dir": directory, "cache_dir": directory / "cache", **options}
    diagnostics = Diagnostics()
    session = make_session(os_release="7.2.0")
    result, _ = symbolize(profile, session, SymbolOptions(**options), diagnostics, load_symbol_sources())
    result.check()
    return [lines_of(result, row) for row in range(len(addresses))], diagnostics


def put(directory, data=None, name=RECORDED) -> Path:
    path = directory / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MODULE.read_bytes() if data is None else data)
    return directory


def wanted() -> dict[int, list[tuple[str, str, int]]]:
    """{offset from the module's start: answer}, without init code, which the kernel has freed, and padding."""
    file = open_elf(MODULE)
    place = {file.sections[index].name: at - MODULE_BASE for index, at in section_addresses(file).items()}
    answers = addr2line(MODULE.with_suffix(".addr2line.txt"))
    return {place[name] + address: rows for (name, address), rows in answers.items() if name in place and rows[0][1]}


def test_every_address_agrees_with_addr2line(tmp_path) -> None:
    answers = wanted()
    assert len(answers) > 40 and max(map(len, answers.values())) == 3
    found, diagnostics = lines(put(tmp_path), sorted(answers))
    # the symbol table's name wins: mod_work.cold
    found = [[(name.partition(".")[0], *where) for name, *where in chain] for chain in found]
    assert found == [answers[address] for address in sorted(answers)]
    assert not diagnostics.counts


@pytest.mark.parametrize("recorded", [RECORDED, "[module]", RECORDED + ".xz", RECORDED + ".gz"])
def test_a_separate_debug_file_of_a_module_is_used(tmp_path, recorded) -> None:
    """The module as it is installed, without debug info and perhaps packed; the debug file under /usr/lib/debug."""
    pack = {"xz": lzma.compress, "gz": gzip.compress}.get(recorded.rpartition(".")[2], bytes)
    bare = bytearray(MODULE.read_bytes())
    for name in (b".debug_info", b".rela.debug_info"):
        bare = bare.replace(name, b".other_" + name[7:])
    put(tmp_path, pack(bytes(bare)), recorded if recorded != "[module]" else RECORDED)
    put(tmp_path, name="/usr/lib/debug" + RECORDED)
    answers = wanted()
    assert lines(tmp_path, [0x37], recorded)[0] == [answers[0x37]]


def test_lines_come_before_kallsyms_but_not_before_one_that_was_named(tmp_path) -> None:
    (tmp_path / "kallsyms").write_text(f"{AT:x} t from_kallsyms\t[module]\n")
    assert lines(put(tmp_path), [0x37], kallsyms=tmp_path / "kallsyms")[0] == [[("from_kallsyms", "", 0)]]


def test_inlined_functions_can_be_left_out(tmp_path) -> None:
    assert lines(put(tmp_path), [0x37], inline=False)[0] == [wanted()[0x37][-1:]]


def test_unknown_relocations_leave_the_names(tmp_path) -> None:
    data = bytearray(MODULE.read_bytes())
    table = next(s for s in open_elf(MODULE).sections if s.name == ".rela.debug_info")
    struct.pack_into("<I", data, table.offset + 8, 99)
    found, diagnostics = lines(put(tmp_path, bytes(data)), [0x37])
    assert found == [[("mod_work", "", 0)]] and diagnostics["objects_unreadable"] == 1


def tiny_module(rows, is_64=True, byte_order="<", machine=62, kind="RELA", size=16) -> ElfObject:
    """.debug_info with relocations against ``f``, which lies 0x10 into .text."""
    sections = [
        TinySection(".text", bytes(0x40), flags=6),
        TinySection(".debug_info", b"\x07" + bytes(size - 1)),
        TinySection(f".{kind.lower()}.debug_info", rows, type=kind, link=4, info=2),
    ]
    symbols = symbol_sections([TinySymbol("f", 0x10, 4)], 4, is_64, byte_order)
    return open_elf(tiny_elf(sections + symbols, is_64, byte_order, machine, 1), "tiny")


@pytest.mark.parametrize(
    ("layout", "row", "options", "width", "value"),
    [
        ("<QQq", (4, 1 << 32 | 1, 0x20), {}, 8, MODULE_BASE + 0x30),
        ("<QQq", (4, 1 << 32 | 10, -4), {}, 4, MODULE_BASE + 12),
        ("<QQq", (4, 0, 5), {}, 8, 0),
        ("<II", (0, 1 << 8 | 1), {"is_64": False, "machine": 3, "kind": "REL"}, 4, MODULE_BASE + 0x17),
        (">QQq", (4, 1 << 32 | 22, 1), {"byte_order": ">", "machine": 22}, 8, MODULE_BASE + 0x11),
        ("<QQq", (4, 1 << 32 | 257, 0), {"machine": 183}, 8, MODULE_BASE + 0x10),
    ],
)
def test_relocations_are_applied(layout, row, options, width, value) -> None:
    result = open_elf(relocate_debug_info(tiny_module(struct.pack(layout, *row), **options)))
    data = result.data(result.section(".debug_info"))
    order = {"<": "little", ">": "big"}[options.get("byte_order", "<")]
    assert result.type == "ET_EXEC" and int.from_bytes(data[row[0] : row[0] + width], order) == value
    assert data[row[0] + width :].strip(b"\0") == b""


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ((9, 1 << 32 | 1, 0), {}, "outside its section"),
        ((2**64 - 4, 1 << 32 | 1, 0), {}, "outside its section"),
        ((0, 1 << 32 | 1, 0), {"size": 4}, "outside its section"),
        ((0, 7 << 32 | 1, 0), {}, "type 1"),
        ((0, 1 << 32 | 2, 0), {}, "type 2"),
        ((0, 1 << 32 | 1, 0), {"machine": 243}, "EM_RISCV"),
    ],
)
def test_relocations_out_of_range_are_ignored(row, options, message) -> None:
    with pytest.raises(ObjectError, match=message):
        relocate_debug_info(tiny_module(struct.pack("<QQq", *row), **options))
