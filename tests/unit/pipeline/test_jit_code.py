"""Copied stacks through code of a raw jitdump; recorded ones are in tests/oracle/test_unwinder_jit.py."""

import struct
from pathlib import Path

import pytest

from perf2x.debugfiles.finder import Finder
from perf2x.debugfiles.search_paths import SearchPaths
from perf2x.pipeline.jit_code import provide_images
from perf2x.pipeline.load import load
from perf2x.pipeline.options import LoadOptions
from perf2x.pipeline.result import Loaded
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.sources.jitdump import read_jitdump
from perf2x.symbolize.sources.jitdump_mappings import AnnouncedDump
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
