"""Symbolizing a profile: objects, functions and flags; everything else stays as it was."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import are_in_memory
from perf2x.symbolizer.make_object_finder import make_context, make_finder
from perf2x.symbolizer.sources.cached_lines import cache_path_of
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbol_report import SymbolReport
from perf2x.symbolizer.symbolize import MICROSECONDS_PER_UNIT, ProfileSymbolizer, symbolize
from perf2x.testing import ProfileBuilder
from tests.support.profile_builder import lines_of, make_profile, make_session, name_of
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

BUILD_ID = bytes(range(20))
NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + BUILD_ID
KALLSYMS = b"""\
ffffffff90000000 T _text
ffffffff90001000 T do_syscall_64
ffffffff90002000 T schedule
"""


def library(symbols, build_id=NOTE, table=".symtab") -> bytes:
    """The 16 bytes of the first function end with a call."""
    text = TinySection(".text", (b"\x90" * 14 + b"\xff\xd0").ljust(0x100, b"\x90"), 0x1000, flags=6)
    sections = [text, TinySection(".note.gnu.build-id", build_id, 0x300, "NOTE", 2)]
    return tiny_elf(sections + symbol_sections(symbols, 3, table=table))


@pytest.fixture
def symfs(tmp_path) -> Path:
    (tmp_path / "usr/lib").mkdir(parents=True)
    symbols = [TinySymbol("first", 0x1000, 0x10), TinySymbol("_ZN2ns6secondEi", 0x1010, 0x20)]
    (tmp_path / "usr/lib/libx.so").write_bytes(library(symbols))
    (tmp_path / "lib").symlink_to("/usr/lib")
    return tmp_path


def run(profile, session=None, **options) -> tuple[Profile, SymbolReport, Diagnostics]:
    diagnostics = Diagnostics()
    result, report = symbolize(
        profile, session or make_session(), SymbolOptions(**options), diagnostics, load_symbol_sources()
    )
    result.check()
    return result, report, diagnostics


def test_a_signal_trampoline_is_not_called_by_the_function_in_front_of_it(symfs) -> None:
    symbols = [TinySymbol("first", 0x1000, 0x10), TinySymbol("__restore_rt", 0x1010, 0x20)]
    (symfs / "usr/lib/libx.so").write_bytes(library(symbols))
    base, offset = 0x7F0000000000, text_offset(symfs)
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog", 7)
    row = builder.mapping("/lib/libx.so", base, 0x1000, BUILD_ID.hex(), pid=7)
    trampoline, called = base + offset + 0x10, base + offset + 0x8
    frames = [builder.location(address, row, is_caller=True) for address in (trampoline, called)]
    builder.sample([*frames, builder.location(trampoline, row)])
    result, _, _ = run(builder.build(), symfs=symfs)
    assert [name_of(result, location) for location in result.stacks.location] == [
        "__restore_rt",
        "first",
        "__restore_rt",
    ]
    lookup = result.locations.lookup[result.stacks.location] - np.uint64(base + offset)
    assert lookup.tolist() == [0x10, 0x7, 0x10]
    assert len(result.locations) == 2


@pytest.mark.parametrize(("code", "name"), [("e810000000", "first"), ("ffd0", "first"), ("c3", "ns::second")])
def test_only_a_call_gives_an_address_to_the_function_that_it_ends(symfs, code, name) -> None:
    """A function that ends with a call of one that never returns; or the address of one that nobody called."""
    text = b"\x90" * (0x10 - len(bytes.fromhex(code))) + bytes.fromhex(code)
    symbols = [TinySymbol("first", 0x1000, 0x10), TinySymbol("_ZN2ns6secondEi", 0x1010, 0x20)]
    sections = [TinySection(".text", text.ljust(0x100, b"\x90"), 0x1000, flags=6), *symbol_sections(symbols, 2)]
    (symfs / "usr/lib/libx.so").write_bytes(tiny_elf(sections))
    base, offset = 0x7F0000000000, text_offset(symfs)
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog", 7)
    row = builder.mapping("/lib/libx.so", base, 0x1000, pid=7)
    builder.sample(
        [builder.location(base + offset + 0x10, row, is_caller=True), builder.location(base + offset + 2, row)]
    )
    result, _, _ = run(builder.build(), symfs=symfs)
    caller = int(result.stacks.location[0])
    assert name_of(result, caller) == name
    assert int(result.locations.address[caller] - result.locations.lookup[caller]) == (name == "first")


def text_offset(symfs, path="usr/lib/libx.so") -> int:
    section = open_elf(symfs / path.lstrip("/")).section(".text")
    assert section is not None
    return section.offset


def test_locations_get_functions_and_mappings_get_flags(symfs) -> None:
    offset = text_offset(symfs)
    base = 0x7F0000000000
    mappings = [(base, base + 0x1000, 0, "/lib/libx.so", BUILD_ID.hex(), 7), (0x1000, 0x2000, 0, "/gone", "", 7)]
    frames = [
        (0, base + offset + 4),
        (0, base + offset + 0x14),
        (0, base + offset + 0x80),
        (1, 0x1234),
        (0, base + offset + 5),
    ]
    profile = make_profile(mappings, frames, synthetic=["[user stack missing]"])
    result, report, _ = run(profile, symfs=symfs)
    assert [name_of(result, row) for row in range(6)] == [
        "first", "ns::second", None, None, "first", "[user stack missing]",
    ]  # fmt: skip
    assert result.mappings.has_functions.tolist() == [True, False]
    assert not result.mappings.has_line_numbers.any() and not result.mappings.has_filenames.any()
    systems = [result.strings[int(i)] for i in result.functions.system_name]
    assert systems == ["[user stack missing]", "first", "_ZN2ns6secondEi"]
    assert [(row.name, row.named, row.unnamed) for row in report.objects] == [("/lib/libx.so", 3, 1), ("/gone", 0, 1)]
    assert {row.name: row.reason for row in report.objects}["/gone"] == "file not found"
    assert report.total == 5 and report.named == 3


@pytest.mark.parametrize("style", ["short", "full"])
@pytest.mark.parametrize(
    ("path", "mark"), [("/apex/com.android.runtime/bin/linker64", "[linker]"), ("/opt/libc.so.6", "__dl_")]
)
def test_names_of_androids_linker_are_marked_in_it_alone(symfs, path, mark, style) -> None:
    """glibc and musl have functions of the same prefix."""
    symbols = [TinySymbol("__dl_iterate_phdr", 0x1000, 0x10)]
    (symfs / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (symfs / path.lstrip("/")).write_bytes(library(symbols, table=".symtab"))
    profile = make_profile([(0x1000, 0x2000, 0, path, BUILD_ID.hex(), 7)], [(0, 0x1000 + text_offset(symfs, path) + 4)])
    result, _, _ = run(profile, symfs=symfs, names=style)
    assert name_of(result, 0) == f"{mark}iterate_phdr"


@pytest.mark.parametrize("where", ["memfd:plugin (deleted)", "memfd:plugin", "usr/lib/debug/.build-id/00/{}.debug"])
def test_a_library_that_was_loaded_from_memory_is_found_by_its_build_id(symfs, where) -> None:
    """memfd_create and dlopen; without a build id a just-in-time compiler wrote there, and a perf map names it."""
    offset, base, name = text_offset(symfs), 0x7F0000000000, "/memfd:plugin (deleted)"
    place = symfs / where.format(BUILD_ID.hex()[2:])
    place.parent.mkdir(parents=True, exist_ok=True)
    (symfs / "usr/lib/libx.so").rename(place)
    place.parent.joinpath("perf-7.map").write_text(f"{base + offset:x} 100 compiled\n")
    mappings = [(base, base + 0x1000, 0, name, BUILD_ID.hex(), 7), (base, base + 0x1000, 0, name, "", 7)]
    profile = make_profile(mappings, [(0, base + offset + 0x14), (1, base + offset + 0x14)])
    result, report, _ = run(profile, symfs=symfs, perf_map_dir=place.parent)
    assert [name_of(result, row) for row in range(2)] == ["ns::second", "compiled"]
    assert {row.name for row in report.objects} == {name, "//anon of process 7"}
    assert are_in_memory(result).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["//anon", "[heap]"])
def test_memory_without_code_gets_no_names_from_a_perf_map(tmp_path, name) -> None:
    (tmp_path / "perf-7.map").write_text("1000 1000 compiled\n")
    profile = make_profile([(0x1000, 0x2000, 0, name, "", -1)], [(0, 0x1234)], is_kernel=[False])
    result, report, _ = run(profile, perf_map_dir=tmp_path)
    assert name_of(result, 0) is None
    assert [(row.name, row.reason) for row in report.objects] == [(name, "it holds no code")]


@pytest.mark.parametrize(
    ("style", "shown"), [("short", "ns::second"), ("full", "ns::second(int)"), ("mangled", "_ZN2ns6secondEi")]
)
def test_names_are_displayed_in_the_style_that_was_asked_for(symfs, style, shown) -> None:
    base, offset = 0x7F0000000000, text_offset(symfs)
    mappings = [(base, base + 0x1000, 0, "/lib/libx.so", BUILD_ID.hex(), 7)]
    profile = make_profile(mappings, [(0, base + offset + 4), (0, base + offset + 0x14)])
    result, _, _ = run(profile, symfs=symfs, names=style)
    assert [name_of(result, row) for row in (0, 1)] == ["first", shown]
    assert {result.strings[int(row)] for row in result.functions.system_name} == {"first", "_ZN2ns6secondEi"}
    assert result.full_names == {}
    result, _, _ = run(profile, symfs=symfs, names=style, keep_full_names=True)
    assert result.full_names == ({} if style == "full" else {"_ZN2ns6secondEi": "ns::second(int)"})


def test_two_processes_share_one_lookup(symfs) -> None:
    offset = text_offset(symfs)
    mappings = [
        (0x10000, 0x20000, 0, "/usr/lib/libx.so", BUILD_ID.hex(), 1),
        (0x50000 + offset, 0x60000, offset, "/usr/lib/libx.so", BUILD_ID.hex(), 2),
    ]
    result, report, _ = run(make_profile(mappings, [(0, 0x10000 + offset), (1, 0x50000 + offset)]), symfs=symfs)
    assert lines_of(result, 0) == lines_of(result, 1) == [("first", "", 0)]
    assert len(result.functions) == 1 and len(report.objects) == 1


def test_another_build_is_refused_unless_asked_for(symfs) -> None:
    offset = text_offset(symfs)
    mappings = [(0x10000, 0x20000, 0, "/usr/lib/libx.so", "ff" * 20, 1)]
    profile = make_profile(mappings, [(0, 0x10000 + offset)])
    result, report, _ = run(profile, symfs=symfs)
    assert name_of(result, 0) is None
    assert "another build" in report.objects[0].reason and BUILD_ID.hex() in report.objects[0].reason
    result, report, diagnostics = run(profile, symfs=symfs, allow_mismatch=True)
    assert name_of(result, 0) == "first" and diagnostics["build_id_mismatch"] == 1


def test_a_build_id_in_the_recordings_header_is_used(symfs) -> None:
    offset = text_offset(symfs)
    profile = make_profile([(0x10000, 0x20000, 0, "/usr/lib/libx.so", "", 1)], [(0, 0x10000 + offset)])
    result, report, _ = run(profile, make_session(build_ids={"/usr/lib/libx.so": b"\xee" * 20}), symfs=symfs)
    assert name_of(result, 0) is None and report.objects[0].build_id == "ee" * 20


@pytest.mark.parametrize("reference, slide", [(0xFFFFFFFF90000000, 0), (0xFFFFFFFFA0000000, 0x10000000), (0, 0)])
def test_the_kernel_is_named_with_and_without_kaslr(tmp_path, reference, slide) -> None:
    (tmp_path / "kallsyms").write_bytes(KALLSYMS)
    start = 0xFFFFFFFF90000000 + slide
    mappings = [(start, start + 0x2000000, reference, "[kernel.kallsyms]_text", "", -1)]
    frames = [(0, start + 0x1010), (0, start + 0x2001), (-1, start + 0x1010)]
    result, report, _ = run(make_profile(mappings, frames), kallsyms=tmp_path / "kallsyms")
    assert [name_of(result, row) for row in range(3)] == ["do_syscall_64", "schedule", "do_syscall_64"]
    assert result.mappings.has_functions.tolist() == [True] and report.share == 1


def test_kernel_symbols_of_this_machine_are_not_used_for_another_kernel(tmp_path) -> None:
    mappings = [(0xFFFFFFFF90000000, 0xFFFFFFFF92000000, 0, "[kernel.kallsyms]_text", "ab" * 20, -1)]
    result, report, _ = run(make_profile(mappings, [(0, 0xFFFFFFFF90001000)]), buildid_dir=tmp_path)
    assert name_of(result, 0) is None
    assert "no kallsyms" in report.objects[0].reason


def test_a_damaged_object_is_counted_and_the_others_are_named(symfs) -> None:
    good = (symfs / "usr/lib/libx.so").read_bytes()
    (symfs / "usr/lib/broken.so").write_bytes(good[: len(good) // 2])
    offset = text_offset(symfs)
    mappings = [
        (0x10000, 0x20000, 0, "/usr/lib/broken.so", "", 1),
        (0x50000, 0x60000, 0, "/usr/lib/libx.so", "", 1),
    ]
    result, report, _ = run(make_profile(mappings, [(0, 0x10000 + offset), (1, 0x50000 + offset)]), symfs=symfs)
    assert [name_of(result, row) for row in range(2)] == [None, "first"]
    assert "lie outside" in report.objects[0].reason or "not a readable" in report.objects[0].reason


def test_the_same_input_gives_the_same_tables(symfs) -> None:
    offset = text_offset(symfs)
    mappings = [(0x10000, 0x20000, 0, "/usr/lib/libx.so", "", 1)]
    frames = [(0, 0x10000 + offset + step) for step in (0, 16, 4)]
    first, _, _ = run(make_profile(mappings, frames), symfs=symfs)
    second, _, _ = run(make_profile(mappings, frames), symfs=symfs)
    assert list(first.strings) == list(second.strings)
    assert np.array_equal(first.locations.line_function, second.locations.line_function)


def test_a_return_address_at_a_functions_first_byte_behind_a_gap(symfs) -> None:
    """Signal trampolines are like this: nothing covers the byte before. The other one ends the first function."""
    offset = text_offset(symfs)
    base = 0x10000 + offset
    profile = make_profile([(0x10000, 0x20000, 0, "/usr/lib/libx.so", "", 1)], [(0, base - 1), (0, base + 0x0F)])
    address = np.array([base, base + 0x10], np.uint64)
    profile = replace(profile, locations=replace(profile.locations, address=address))
    result, _, _ = run(profile, symfs=symfs)
    assert [name_of(result, row) for row in range(2)] == ["first", "first"]


def test_files_from_a_server_are_asked_for_by_one_process() -> None:
    def symbolizer(**options) -> ProfileSymbolizer:
        names, diagnostics = SymbolOptions(**options), Diagnostics()
        profile = make_profile([(0, 0x1000, 0, "/a", "", 7)], [(0, 0x10)])
        context = make_context(profile, make_session(), names, diagnostics, make_finder(names, diagnostics))
        return ProfileSymbolizer(profile, context, load_symbol_sources())

    assert symbolizer().can_fork
    assert not symbolizer(debuginfod_urls=("http://localhost:1",)).can_fork


def test_debug_info_that_nobody_has_read_yet_is_work(tmp_path) -> None:
    """It pays for several processes, until its lines are remembered."""
    file = open_elf(Path(__file__).parent / "data" / "inlines.so")
    profile = make_profile([(0, 0x1000, 0, "/a", "", 7), (0x2000, 0x3000, 0, "/gone", "", 7)], [(0, 1), (1, 0x2010)])
    options, diagnostics = SymbolOptions(cache_dir=tmp_path), Diagnostics()
    finder = make_finder(options, diagnostics)
    finder.provide("/a", file)
    context = make_context(profile, make_session(), options, diagnostics, finder)
    symbolizer = ProfileSymbolizer(profile, context, load_symbol_sources())
    few = symbolizer.costs()[1]
    assert few < symbolizer.costs()[0] <= few + MICROSECONDS_PER_UNIT
    symbolizer.resolve(0)
    assert cache_path_of(file, options).is_file()
    assert symbolizer.costs() == [few, few]


def test_objects_of_one_build_are_one_task() -> None:
    profile = make_profile(
        [(0, 0x1000, 0, "/a", "11" * 20, 7), (0x1000, 0x2000, 0, "/b", "11" * 20, 7), (0x2000, 0x3000, 0, "/c", "", 7)],
        [(0, 0x10), (1, 0x1010), (1, 0x1020), (2, 0x2010)],
    )
    options, diagnostics = SymbolOptions(), Diagnostics()
    context = make_context(profile, make_session(), options, diagnostics, make_finder(options, diagnostics))
    symbolizer = ProfileSymbolizer(profile, context, [])
    costs = symbolizer.costs()
    assert len(costs) == symbolizer.task_count == 2 and costs[0] > costs[1]
    _, report = symbolizer.finish([symbolizer.resolve(0), symbolizer.resolve(1)])
    assert {row.name: row.unnamed for row in report.objects} == {"/b": 2, "/a": 1, "/c": 1}
