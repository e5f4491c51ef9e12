"""Instructions of the kernel: from the recording's copy of its memory, from vmlinux, from the vDSO; or none."""

from pathlib import Path

import pytest

from perf2x.features.annotate.object_code import MISSING
from perf2x.model.profile.listings import CodeListing
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.profile_builder import make_profile, make_session
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.unit.features.annotate.listed import listings_of

pytest.importorskip("capstone")
TEXT, SLIDE = 0xFFFF_FFFF_8100_0000, 0x1200_0000
CODE = bytes.fromhex("90e8fafffffff390c3") + b"\xcc" * 7
KALLSYMS = f"{TEXT + SLIDE:x} T _text\n{TEXT + SLIDE:x} T do_work\n{TEXT + SLIDE + 16:x} T other\n"
PROFILE = make_profile(
    [(TEXT + SLIDE, TEXT + SLIDE + 0x1000, TEXT + SLIDE, "[kernel.kallsyms]_text", "", -1)],
    [(0, TEXT + SLIDE + 6), (0, TEXT + SLIDE + 7)],
)
INSTRUCTIONS = [("nop", 0), ("callq", 0), ("pause", 2), ("retq", 0)]
"""Mnemonics and samples; one of the two lies inside ``pause``, where an interrupt cannot be."""


def code(folder: Path, **symbols) -> CodeListing:
    session = make_session(kcore_dir=str(folder), arch="x86_64")
    (one,) = listings_of(
        PROFILE, session, SymbolOptions(**symbols), function="do_work", assembly=True, value="samples"
    ).functions
    assert one.self_costs == (2,)
    (found,) = one.code
    return found


def kernel(address: int, kind: int, *more: TinySection) -> bytes:
    return tiny_elf([TinySection(".text", CODE + b"\x90" * 16, address, flags=6), *more], kind=kind)


def seen(found: CodeListing) -> list[tuple[str, int]]:
    return [(row.text.split()[0], row.self_costs[0]) for row in found.rows[:4]]


def test_a_copy_of_its_memory(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    (tmp_path / "kcore").write_bytes(kernel(TEXT + SLIDE, 4))
    found = code(tmp_path)
    assert (found.start, found.symbol, seen(found)) == (TEXT + SLIDE, "do_work", INSTRUCTIONS)
    assert found.rows[1].target == 0  # it calls itself: recorded addresses everywhere


def test_vmlinux_where_the_linker_put_it(tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(
        kernel(TEXT, 2, *symbol_sections([TinySymbol("_text", TEXT), TinySymbol("do_work", TEXT, 16)], 2))
    )
    found = code(tmp_path, vmlinux=tmp_path / "vmlinux")
    assert (found.start, seen(found)) == (TEXT + SLIDE, INSTRUCTIONS)


def test_the_copy_wins(tmp_path: Path) -> None:
    """The kernel changes its own code."""
    (tmp_path / "vmlinux").write_bytes(
        kernel(TEXT, 2, *symbol_sections([TinySymbol("_text", TEXT), TinySymbol("do_work", TEXT, 16)], 2))
    )
    changed = kernel(TEXT + SLIDE, 4).replace(CODE, b"\xc3" + CODE[1:])
    (tmp_path / "kcore").write_bytes(changed)
    assert code(tmp_path, vmlinux=tmp_path / "vmlinux").rows[0].text == "retq"


def test_symbols_of_another_boot(tmp_path: Path) -> None:
    """Their addresses are moved to those of the recording, where the copy has its code."""
    symbols = tmp_path / "symbols"
    symbols.write_text(f"{TEXT:x} T _text\n{TEXT:x} T do_work\n{TEXT + 16:x} T other\n")
    (tmp_path / "kcore").write_bytes(kernel(TEXT + SLIDE, 4))
    found = code(tmp_path, kallsyms=symbols)
    assert (found.start, len(found.rows), seen(found)) == (TEXT + SLIDE, 11, INSTRUCTIONS)


def test_no_copy(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    assert (code(tmp_path).reason, code(tmp_path).rows) == (MISSING, ())
    (tmp_path / "kcore").write_bytes(b"no ELF file")
    assert code(tmp_path).reason == MISSING


def test_a_copy_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(KALLSYMS)
    (tmp_path / "kcore").write_bytes(kernel(TEXT, 4))
    assert code(tmp_path).reason == MISSING


def test_the_vdso(tmp_path: Path) -> None:
    """Its addresses are offsets into the file, where ``tiny_elf`` puts the code at 0xb0."""
    build_id = "aa" * 20
    folder = tmp_path / ".build-id" / build_id[:2] / build_id[2:]
    folder.mkdir(parents=True)
    note = TinySection(".note", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + b"\xaa" * 20, 0x300, "NOTE", 2)
    text = TinySection(".text", CODE, 0xB0, flags=6)
    (folder / "vdso").write_bytes(tiny_elf([text, note, *symbol_sections([TinySymbol("clock", 0xB0, 16)], 3)]))
    start = 0x7FFF_0000_0000
    profile = make_profile([(start, start + 0x1000, 0, "[vdso]", build_id, 1)], [(0, start + 0xB7)])
    wanted = {"function": "clock", "assembly": True, "value": "samples"}
    (one,) = listings_of(profile, make_session(), SymbolOptions(buildid_dir=tmp_path), **wanted).functions
    (found,) = one.code
    assert (found.object, found.start, [row.self_costs for row in found.rows[:3]]) == (
        "[vdso]",
        0xB0,
        [(0,), (0,), (1,)],
    )
