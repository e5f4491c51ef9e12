"""jitdump: replaced and moved code, lines, clocks, and invalid files."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from perf2x.stitcher.history.process_history import build_process_history
from perf2x.stitcher.profile_builder import build_profile
from perf2x.stitcher.stitch import Stitcher, StitchOptions
from perf2x.symbolizer.make_object_finder import make_finder
from perf2x.symbolizer.sources import parse_jitdump as module
from perf2x.symbolizer.sources.jitdump_mappings import with_jitdump_mappings
from perf2x.symbolizer.sources.parse_jitdump import JitLine, parse_jitdump
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.forge.events import Event
from tests.forge.records import Mmap2, Stamp
from tests.forge.samples import Sample
from tests.forge.session import Session, write_file
from tests.support.jitdump_writer import code_load, debug, header, move, record, unwinding
from tests.support.profile_builder import lines_of
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

CODE = 0x7F0000001000
MONOTONIC = Event(flags=frozenset({"sample_id_all", "use_clockid"}), clockid=1)


def convert(tmp_path, dump, records, event=MONOTONIC, name="jit-5.dump") -> tuple[Profile, Diagnostics]:
    """Symbolized profile of a forged recording whose process 5 announced the dump at time 100."""
    (tmp_path / "jit-5.dump").write_bytes(dump)
    marker = Mmap2(pid=5, tid=5, addr=0x10000, len=4096, filename=f"/tmp/{name}", stamp=Stamp(5, 5, 100))
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=(event,)), [marker, *records]))
    diagnostics = Diagnostics()
    recording = open_recording(str(path), diagnostics=diagnostics)
    options = SymbolOptions(perf_map_dir=tmp_path, symfs=tmp_path)
    finder = make_finder(options, diagnostics)
    sideband, _ = with_jitdump_mappings(recording.sideband, recording.session, options, diagnostics, finder)
    history = build_process_history(recording.session, sideband, diagnostics)
    stitcher = Stitcher(history, StitchOptions(timeline=True))
    for batch in recording.samples(Want.CHAIN):
        stitcher.add(batch)
    profile = build_profile(recording.session, history, stitcher.result())
    profile, _ = symbolize(profile, recording.session, options, diagnostics, load_symbol_sources())
    profile.check()
    return profile, diagnostics


def sample(time, address) -> Sample:
    return Sample(pid=5, tid=5, time=time, ip=address)


def leaves(profile) -> list[list[tuple[str, str, int]]]:
    """The lines of each sample's innermost frame, in time order."""
    return [lines_of(profile, int(profile.stacks.location[row])) for row in profile.samples.stack]


def test_code_that_replaces_other_code_is_named_by_time(tmp_path) -> None:
    dump = header() + code_load(200, CODE, "first", 1) + code_load(400, CODE, "second", 2)
    profile, diagnostics = convert(tmp_path, dump, [sample(t, CODE + 4) for t in (150, 300, 500)])
    assert leaves(profile) == [[], [("first", "", 0)], [("second", "", 0)]]
    assert not [c for c in diagnostics.counts if "jit" in c]


def test_moved_code_keeps_its_name_and_lines(tmp_path) -> None:
    lines = debug(CODE, (CODE, 7, b"/a.js"), (CODE + 8, 9, b"\xff"))
    dump = header() + lines + code_load(200, CODE, "f", 1) + move(300, CODE, CODE + 0x1000, 1)
    profile, _ = convert(
        tmp_path, dump, [sample(250, CODE + 9), sample(350, CODE + 0x1001), sample(351, CODE + 0x1008)]
    )
    assert leaves(profile) == [[("f", "/a.js", 9)], [("f", "/a.js", 7)], [("f", "/a.js", 9)]]


def test_lines_outside_their_code_are_left_out_and_counted(tmp_path) -> None:
    """V8 adds the size of an ELF header to addresses; what it did not fill in is anywhere."""
    name = "JS:^work /w.js:3:14"
    lines = [(CODE + 64, 3, b"/w.js"), (CODE + 64 + 8, 4, b"/w.js"), (CODE - 9, 12032, b"x"), (CODE + 64 + 16, 9, b"x")]
    dump = header() + debug(CODE, *lines) + code_load(50, CODE, name, 1) + debug(CODE, (CODE + 16, 5, b"/a.py"))
    dump += code_load(60, CODE + 32, "f", 2)
    profile, diagnostics = convert(tmp_path, dump, [sample(200, CODE), sample(201, CODE + 9)])
    assert [line for ((*_, line),) in leaves(profile)] == [3, 4]
    assert diagnostics["jitdump_lines_outside"] == 2
    dump = parse_jitdump(header() + debug(CODE, (CODE + 16, 5, b"a")) + code_load(1, CODE, "f", 2), "x")
    assert dump.lines_outside == 1


def test_injected_code_is_named_as_in_its_dump(tmp_path) -> None:
    name, text = "JS:*work /tmp/w.js:3:14", TinySection(".text", b"\x90" * 64, 0x80, flags=6)
    file = tiny_elf([text, *symbol_sections([TinySymbol(name, 0x80, 64)], 2)])
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "jitted-5-1.so").write_bytes(file)
    offset = open_elf(file).segments[0].offset
    mapped = Mmap2(pid=5, tid=5, addr=CODE, len=64, pgoff=offset, filename="/tmp/jitted-5-1.so", stamp=Stamp(5, 5, 100))
    injected, _ = convert(tmp_path, header(), [mapped, sample(200, CODE + 9)])
    raw, _ = convert(tmp_path, header() + code_load(150, CODE, name, 1), [sample(200, CODE + 9)])
    assert leaves(injected) == leaves(raw) and leaves(raw)[0][0][0] == "work w.js:3"


def test_memory_mapped_after_the_load_does_not_hide_the_code(tmp_path) -> None:
    dump = header() + code_load(200, CODE, "early", 1)
    anon = Mmap2(pid=5, tid=5, addr=CODE - 0x1000, len=0x4000, filename="//anon", stamp=Stamp(5, 5, 201))
    profile, _ = convert(tmp_path, dump, [anon, sample(300, CODE + 1), sample(301, CODE + 0x500)])
    assert leaves(profile) == [[("early", "", 0)], []]


def test_code_is_there_from_its_load_on_but_not_before_its_dump_was_announced(tmp_path) -> None:
    """The process announced the dump at 100; one that its parent wrote holds older code."""
    dump = header() + code_load(50, CODE, "old", 1) + code_load(200, CODE + 64, "young", 2)
    samples = [sample(time, CODE + at) for time, at in ((70, 0), (150, 0), (151, 64), (250, 64))]
    profile, _ = convert(tmp_path, dump, samples)
    assert leaves(profile) == [[], [("old", "", 0)], [], [("young", "", 0)]]


def test_times_of_another_clock_are_not_compared(tmp_path) -> None:
    dump = header() + code_load(10**15, CODE, "f", 1) + code_load(10**15 + 1, CODE, "g", 2)
    profile, diagnostics = convert(tmp_path, dump, [sample(300, CODE)], Event())
    assert leaves(profile) == [[("g", "", 0)]] and diagnostics["jitdump_replaced"] == 1


@pytest.mark.parametrize(("moved_to", "replaced"), [(CODE + 8, 0), (CODE + 24, 1)])
def test_another_clock_guesses_nothing_where_no_other_code_was(tmp_path, moved_to, replaced) -> None:
    """Code is loaded before it runs, and keeps its name when it is moved."""
    loads = code_load(10**15, CODE, "f", 1) + code_load(10**15, CODE + 16, "g", 2)
    dump = header() + loads + move(10**15, CODE, moved_to, 1, 8)
    _, diagnostics = convert(tmp_path, dump, [sample(300, CODE)], Event())
    assert diagnostics["jitdump_replaced"] == replaced


def test_python_names_give_functions_and_files(tmp_path) -> None:
    dump = header() + code_load(200, CODE, "py::run:/srv/app.py", 1)
    assert leaves(convert(tmp_path, dump, [sample(300, CODE)])[0]) == [[("run", "/srv/app.py", 0)]]


@pytest.mark.parametrize("name", ["jit-4711-5-a8Zq0x", "jit-4711-5-a8Zq0x.dump"])
def test_dumps_of_javascriptcore_are_found_by_their_names(tmp_path, name) -> None:
    (tmp_path / name).write_bytes(header() + code_load(200, CODE, "main", 1))
    profile, _ = convert(tmp_path, b"", [sample(300, CODE)], name=name)
    assert leaves(profile) == [[("main", "", 0)]]


def test_a_missing_dump_is_counted(tmp_path) -> None:
    profile, diagnostics = convert(tmp_path, header(), [sample(300, CODE)], name="jit-6.dump")
    assert leaves(profile) == [[]] and diagnostics["jitdump_missing"] == 1


def test_injected_recordings_have_their_mappings_already(tmp_path) -> None:
    jitted = Mmap2(pid=5, tid=5, addr=CODE, len=64, filename="/tmp/jitted-5-1.so", stamp=Stamp(5, 5, 150))
    profile, _ = convert(tmp_path, header() + code_load(200, CODE, "f", 1), [jitted, sample(300, CODE)])
    assert leaves(profile) == [[]]


def test_big_endian_dumps_are_read() -> None:
    dump = parse_jitdump(header(">") + code_load(5, CODE, "f", 1, ">"), "test")
    assert [(code.name, code.address, code.time) for code in dump.codes] == [("f", CODE, 5)]


def test_a_dump_that_is_still_being_written_is_read() -> None:
    whole = header() + code_load(5, CODE, "f", 1)
    dump = parse_jitdump(whole + code_load(6, CODE, "g", 2)[:-3], "test")
    assert [code.name for code in dump.codes] == ["f"] and not dump.damaged_runs


_PIECES = (
    code_load(5, CODE, "f", 1),
    debug(CODE + 64, (CODE + 64, 7, b"/a.js"), (CODE + 65, 8, b"\xff")) + unwinding() + code_load(6, CODE + 64, "g", 2),
    move(7, CODE, CODE + 128, 1),
    record(3, 8, b""),
    code_load(9, CODE + 192, "h", 3, size=9),
)
_STRAY = st.one_of(st.just(b""), st.binary(min_size=1, max_size=40), st.integers(1, 9).map(bytes))


@given(st.tuples(*[_STRAY] * len(_PIECES)))
def test_bytes_between_records_hide_none_of_them(stray) -> None:
    dump = parse_jitdump(header() + b"".join(a + b for a, b in zip(stray, _PIECES, strict=True)), "test")
    assert [(code.name, code.address) for code in dump.codes] == [
        ("f", CODE), ("g", CODE + 64), ("f", CODE + 128), ("h", CODE + 192),
    ]  # fmt: skip
    assert dump.codes[1].lines and dump.codes[1].eh_frame
    assert dump.damaged_runs == sum(map(bool, stray))


@pytest.mark.parametrize("order", "<>")
@given(st.integers(57, 72))
def test_a_torn_record_hides_none_behind_it(order, kept) -> None:
    """A buffer that two processes write holds half a record, then whole ones."""
    torn = code_load(5, CODE, "torn", 1, order, 64)[:kept]
    whole = code_load(6, CODE + 64, "g", 2, order) + code_load(7, CODE + 128, "h", 3, order)
    dump = parse_jitdump(header(order) + torn + whole, "test")
    assert [code.name for code in dump.codes if code.address != CODE] == ["g", "h"] and dump.damaged_runs


@pytest.mark.parametrize(
    ("rest", "damaged"), [(bytes(5000), 0), (b"\xcc" * 50, 1), (b"\0\0\0\0\xff\0\0\0" + b"\1" * 50, 0)]
)
def test_only_a_foreign_end_is_damage(rest, damaged) -> None:
    dump = parse_jitdump(header() + code_load(5, CODE, "f", 1) + rest, "test")
    assert (len(dump.codes), dump.damaged_runs) == (1, damaged)


def test_records_of_later_versions_are_passed_over() -> None:
    data = header() + record(9, 0, b"later version") + code_load(5, CODE, "f", 1) + record(9, 0, bytes(24))
    dump = parse_jitdump(data, "test")
    assert [code.name for code in dump.codes] == ["f"] and dump.damaged_runs == 0


def test_records_inside_each_other_take_no_more_lines_than_their_bytes(monkeypatch) -> None:
    """Each of a hostile dump's records says that all of the file behind it is its lines."""
    size, made = 32_000, []
    monkeypatch.setattr(module, "JitLine", lambda *fields: made.append(fields) or JitLine(*fields))
    heads = (struct.pack("<IIQQQ", 2, size - at, 0, at, (size - at - 32) // 17) for at in range(0, size - 64, 32))
    assert parse_jitdump(header() + b"".join(heads) + bytes(64), "test").damaged_runs > 900
    assert len(made) < size / 17


@pytest.mark.parametrize("data", [b"", b"DTiJ", bytes(40), b"\x7fELF" + bytes(60), header()[:39]])
def test_other_files_are_refused(data) -> None:
    with pytest.raises(ObjectError):
        parse_jitdump(data, "test")


WHOLE = header() + debug(CODE, (CODE, 7, b"/a.js")) + code_load(5, CODE, "f", 1) + move(6, CODE, CODE + 64, 1)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4), st.integers(0, len(WHOLE)))
def test_flipped_and_truncated_dumps_raise_no_other_exception(flips, length) -> None:
    data = bytearray(WHOLE)
    for position, value in flips:
        data[position] = value
    try:
        dump = parse_jitdump(bytes(data[:length]), "test")
    except ObjectError:
        return
    for code in dump.codes:
        assert 0 < code.size <= 2**64 and np.uint64(code.address) + np.uint64(0) == code.address
