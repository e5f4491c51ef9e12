"""User stack dumps through code of a raw jitdump; recorded ones are in tests/oracle/test_unwinder_jit.py."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.cli.render.summary import unwound_line
from perf2x.kernel.jit_code import provide_images
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.load_result import Loaded
from perf2x.stitcher.unwind.unwound_chains import End
from perf2x.symbolizer.sources.jitdump_mappings import AnnouncedDump
from perf2x.symbolizer.sources.parse_jitdump import read_jitdump
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Event, Features, Mmap2, Registers, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.session import Session
from tests.support.jitdump_writer import code_load, header, unwinding
from tests.support.profile_builder import make_session

CODE, STACK = 0x7F0000001000, 0x7FFF00000000
NAMES = ("inner", "middle", "outer")


def dump_of(*names: str, machine: int = 62, told: bool = True) -> bytes:
    data = header(machine=machine)
    for number, name in enumerate(names):
        data += (unwinding() if told else b"") + code_load(1, CODE + 0x100 * number, name, number)
    return data


def announced(pid: int, name: str) -> Mmap2:
    return Mmap2(pid=pid, tid=pid, addr=0x10000, len=4096, filename=name, stamp=Stamp(pid, pid, 0))


def sampled(pid: int) -> Sample:
    """Before the innermost function has set up its frame: the caller is at the top of the stack.

    The frame pointer is still the caller's, and leads past it.
    """
    words = (CODE + 0x10A, 0, 0, 0, STACK + 0x38, CODE + 0x20A, 0, 0)
    registers = Registers(2, (STACK + 0x20, STACK, CODE))
    return Sample(
        pid=pid, tid=pid, time=100, ip=CODE, regs_user=registers, stack=struct.pack("<8Q", *words), stack_used=64
    )


def loaded(place: Path, *records: Mmap2 | Sample, arch: str = "x86_64") -> Loaded:
    event = Event(
        sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER,
        sample_regs_user=1 << 6 | 1 << 7 | 1 << 8, sample_stack_user=64,
        flags=frozenset({"sample_id_all", "use_clockid", "exclude_callchain_user"}), clockid=1,
    )  # fmt: skip
    session = Session(events=(event,), features=Features(arch=arch))
    (place / "perf.data").write_bytes(write_file(session, list(records)))
    symbols = SymbolOptions(symfs=place, perf_map_dir=place)
    return load(str(place / "perf.data"), LoadOptions(symbols=symbols))


def stacks(found: Loaded) -> list[list[str]]:
    """Names of the frames of each stack, innermost first, without root frames."""
    profile, result = found.profile, []
    for row in profile.samples.stack.tolist():
        names = []
        while row >= 0:
            location = int(profile.stacks.location[row])
            function = int(profile.locations.line_function[int(profile.locations.line_offsets[location])])
            names.append(profile.strings[int(profile.functions.name[function])])
            row = int(profile.stacks.parent[row])
        result.append([name for name in names if not name.startswith("[")])
    return result


@pytest.mark.parametrize("told", [True, False])
def test_a_sample_before_the_frame_is_set_up_is_unwound(tmp_path: Path, told: bool) -> None:
    (tmp_path / "jit-5.dump").write_bytes(dump_of(*NAMES, told=told))
    found = loaded(tmp_path, announced(5, "/tmp/jit-5.dump"), sampled(5))
    assert stacks(found) == [list(NAMES) if told else ["inner", "outer"]]
    assert found.diagnostics["guessed_jit_frames"] == (0 if told else 1) == found.unwound.guessed
    assert found.diagnostics["guessed_frames"] == 0


@pytest.mark.parametrize(
    ("machine", "arch", "whole"), [(62, "x86_64", True), (0, "x86_64", True), (0, "", True), (183, "x86_64", False)]
)
def test_a_dump_that_states_no_machine_is_of_the_recording_one(tmp_path: Path, machine, arch, whole) -> None:
    """The header of CPython 3.13's dumps has 0 for the machine; ``perf inject --jit`` does not read it."""
    (tmp_path / "jit-5.dump").write_bytes(dump_of(*NAMES, machine=machine))
    found = loaded(tmp_path, announced(5, "/tmp/jit-5.dump"), sampled(5), arch=arch)
    assert (stacks(found) == [list(NAMES)]) is whole


def test_processes_that_share_a_dump_share_its_call_frame_information(tmp_path: Path) -> None:
    (tmp_path / "jit-5.dump").write_bytes(dump_of(*NAMES))
    name = "/tmp/jit-5.dump"
    found = loaded(tmp_path, announced(5, name), announced(6, name), sampled(5), sampled(6))
    assert stacks(found) == [list(NAMES)] * 2


FILE = Mmap2(pid=5, tid=5, addr=CODE, len=0x1000, filename="/bin/prog", stamp=Stamp(5, 5, 0))
MEMORY = Mmap2(pid=5, tid=5, addr=CODE, len=0x1000, filename="//anon", stamp=Stamp(5, 5, 0))
NAMED = Mmap2(pid=5, tid=5, addr=CODE, len=0x1000, filename="[anon:jit]", stamp=Stamp(5, 5, 0))
KERNELS = Mmap2(pid=5, tid=5, addr=CODE, len=0x1000, filename="[uprobes]", stamp=Stamp(5, 5, 0))
DELETED = Mmap2(pid=5, tid=5, addr=CODE, len=0x1000, filename="/bin/prog (deleted)", stamp=Stamp(5, 5, 0))
WITHOUT_FRAMES = Registers(2, (1, STACK, CODE))
"""The frame pointer leads nowhere."""


@pytest.mark.parametrize(
    ("code", "cut"),
    [(FILE, 0), (DELETED, 0), (KERNELS, 0), (MEMORY, 1), (NAMED, 1), (announced(5, "/tmp/jit-5.dump"), 1)],
)
def test_stacks_cut_in_compiled_code_are_told_from_others(tmp_path: Path, code: Mmap2, cut: int) -> None:
    (tmp_path / "jit-5.dump").write_bytes(dump_of(*NAMES, told=False))
    found = loaded(tmp_path, code, replace(sampled(5), regs_user=WITHOUT_FRAMES))
    assert (found.unwound.ends, found.unwound.cut_in_jit) == ({End.NO_UNWIND_INFO: 1}, cut)
    assert ("just-in-time" in unwound_line(found.unwound)) is bool(cut)


def test_frames_of_files_are_guessed_apart(tmp_path: Path) -> None:
    found = loaded(tmp_path, FILE, sampled(5))
    assert found.diagnostics["guessed_frames"] == found.unwound.guessed == 1
    assert found.diagnostics["guessed_jit_frames"] == 0


def test_the_last_frame_says_where_a_stack_was_cut(tmp_path: Path) -> None:
    """Compiled code is crossed by frame pointer; the program that it returns to is not."""
    program = Mmap2(pid=5, tid=5, addr=0x400000, len=0x1000, filename="/bin/prog", stamp=Stamp(5, 5, 0))
    stack = struct.pack("<8Q", 1, 0x400010, *[0] * 6)
    sample = replace(sampled(5), regs_user=Registers(2, (STACK, STACK, CODE)), stack=stack)
    found = loaded(tmp_path, MEMORY, program, sample)
    assert found.unwound.ends == {End.NO_UNWIND_INFO: 1} and found.unwound.guessed == 1
    assert found.unwound.cut_in_jit == 0


def test_the_advice_fits_what_is_missing(tmp_path: Path) -> None:
    records = (announced(5, "/tmp/jit-5.dump"), MEMORY, replace(sampled(5), regs_user=WITHOUT_FRAMES))
    gone = loaded(tmp_path, *records)
    assert unwound_line(gone.unwound).endswith(
        "1 without unwind info (in just-in-time compiled code: perf inject --jit where its jit-PID.dump is)"
    )
    assert "perf inject --jit" in gone.diagnostics.counts["jitdump_missing"].advice
    (tmp_path / "jit-5.dump").write_bytes(dump_of(*NAMES, told=False))
    silent = loaded(tmp_path, *records)
    assert "python -X perf_jit" in unwound_line(silent.unwound) and "inject" not in unwound_line(silent.unwound)


def test_some_of_the_cut_stacks_are_compiled_code(tmp_path: Path) -> None:
    other = Mmap2(pid=6, tid=6, addr=CODE, len=0x1000, filename="/bin/prog", stamp=Stamp(6, 6, 0))
    samples = [replace(sampled(pid), regs_user=WITHOUT_FRAMES) for pid in (5, 6)]
    line = unwound_line(loaded(tmp_path, MEMORY, other, *samples).unwound)
    assert ", 2 without unwind info (1 of them in just-in-time compiled code: " in line


def test_two_dumps_of_one_name_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Process 1 of two containers: the name alone does not say whose code a mapping is."""
    dumps = []
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(dump_of(*NAMES))
        dumps.append(AnnouncedDump("/tmp/jit-1.dump", read_jitdump(tmp_path / name)))
    finder = Finder(SearchPaths(symfs=tmp_path, system_debug_dir=None, proc=None))
    provide_images(dumps, make_session(arch="x86_64"), finder)
    assert not finder.find("/tmp/jit-1.dump", b"").files
    provide_images([dumps[0], dumps[0]], make_session(arch="x86_64"), finder)
    assert finder.find("/tmp/jit-1.dump", b"").files


@pytest.mark.parametrize("told", [True, False])
def test_a_first_byte_that_was_stored_belongs_to_the_code_that_it_begins(tmp_path: Path, told: bool) -> None:
    """Erlang's ``+JPperf dump``: pieces lie side by side, and continuations are their first bytes.

    A recording of it: perf 7.2 and perf2x name 1,860 frames at first bytes alike, of ``normal_exit/0`` nearly all.
    """
    data = header()
    for number, name in enumerate(("prologue", "normal_exit", "behind")):
        data += (unwinding() if told else b"") + code_load(1, CODE + 16 * number, name, number)
    (tmp_path / "jit-5.dump").write_bytes(data)
    event = Event(
        sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN, flags=frozenset({"sample_id_all", "use_clockid"}), clockid=1
    )
    chain = (k.CONTEXT_USER, CODE + 4, CODE + 16, CODE + 17, CODE + 32)
    sample = Sample(pid=5, tid=5, time=100, ip=CODE + 4, chain=chain)
    records = [announced(5, "/tmp/jit-5.dump"), sample]
    (tmp_path / "perf.data").write_bytes(write_file(Session(events=(event,)), records))
    options = LoadOptions(symbols=SymbolOptions(symfs=tmp_path, perf_map_dir=tmp_path))
    assert stacks(load(str(tmp_path / "perf.data"), options)) == [["prologue", "normal_exit", "normal_exit", "behind"]]
