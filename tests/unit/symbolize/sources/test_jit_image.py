"""Unwinding information in dumps, valid and damaged."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.binary.elf.file import ElfObject
from perf2x.pipeline.load import load
from perf2x.pipeline.options import LoadOptions
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.sources.jit_image import unwinding_image
from perf2x.symbolize.sources.jitdump import JitDump, parse_jitdump
from perf2x.tables.errors import ObjectError
from perf2x.unwind.cfi_sections import eh_frame_index
from tests.forge import Event, Mmap2, Registers, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.session import Session
from tests.support.jitdump_writer import code_load, header, move, record
from tests.unit.symbolize.sources.test_jitdump import CODE

CIE = bytes.fromhex("1400000000000000017a5200017810011b0c070890010000")
FDE = bytes.fromhex("1c0000001c000000d0ffffff0c0000000044410e108602430d06430c07080000")
HEADER = bytes.fromhex("011b033bc4ffffff01000000b8ffffffe0ffffff00000000")
"""CPython 3.13's unwinding information: push %rbp after 4 bytes, mov %rsp,%rbp next, pop %rbp before the last ret."""
STACK = 0x7FFF00000000


def unwinding(frames=CIE + FDE, header_size=20) -> bytes:
    size = len(frames) + header_size
    body = struct.pack("<QQQ", size, header_size, size) + frames + HEADER[:header_size]
    return record(4, 0, body + b"\0" * (-len(body) % 8))


def dump_of(*names, **more) -> bytes:
    data = header()
    for number, name in enumerate(names):
        data += unwinding(**more) + code_load(1, CODE + 0x100 * number, name, number)
    return data


def image(data) -> tuple[JitDump, ElfObject | None]:
    dump = parse_jitdump(data, "test")
    return dump, unwinding_image(data, dump.machine, dump.codes, "test")


def test_each_piece_of_code_has_its_entry_at_its_offset_in_the_dump() -> None:
    data = dump_of("f", "longer name") + move(2, CODE, CODE + 0x1000, 0) + code_load(3, CODE + 0x300, "bare", 2)
    dump, elf = image(data)
    index = eh_frame_index(elf)
    offsets = [code.offset for code in dump.codes if code.name in ("f", "longer name")]
    assert index.start.tolist() == sorted({*offsets}) and len(index.start) == 2
    for row, offset in enumerate(sorted({*offsets})):
        fde = index.section.fde(int(index.offset[row]))
        assert (fde.start, fde.end) == (offset, offset + 16)
        assert index.section.data[slice(*fde.instructions)] == FDE[17:]
        assert elf.read(offset, 16) == b"\x90" * 16
    assert elf.svma(index.start)[0].tolist() == index.start.tolist()


def test_a_dump_without_unwinding_information_has_no_image() -> None:
    assert image(header() + code_load(1, CODE, "f", 1))[1] is None
    assert image(dump_of("f", frames=CIE.replace(b"zR", b"zP") + FDE))[1] is None
    assert image(dump_of("f", frames=CIE[:16] + b"\3" + CIE[17:] + FDE))[1] is None


@pytest.mark.parametrize("told", [True, False])
def test_a_sample_before_the_frame_is_set_up_is_unwound(tmp_path, told) -> None:
    """The caller is at the top of the stack; the frame pointer is still the caller's and leads past it."""
    mask = 1 << 6 | 1 << 7 | 1 << 8  # bp, sp, ip
    types = k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER
    event = Event(
        sample_type=types, sample_regs_user=mask, sample_stack_user=64,
        flags=frozenset({"sample_id_all", "use_clockid", "exclude_callchain_user"}), clockid=1,
    )  # fmt: skip
    stack = struct.pack("<8Q", CODE + 0x10A, 0, 0, 0, STACK + 0x38, CODE + 0x20A, 0, 0)
    registers = Registers(2, (STACK + 0x20, STACK, CODE))
    (tmp_path / "jit-5.dump").write_bytes(
        dump_of("inner", "middle", "outer") if told else dump_of("inner", "middle", "outer", frames=b"")
    )
    marker = Mmap2(pid=5, tid=5, addr=0x10000, len=4096, filename="/tmp/jit-5.dump", stamp=Stamp(5, 5, 0))
    sample = Sample(pid=5, tid=5, time=100, ip=CODE, regs_user=registers, stack=stack, stack_used=64)
    (tmp_path / "perf.data").write_bytes(write_file(Session(events=(event,)), [marker, sample]))
    symbols = SymbolOptions(perf_map_dir=tmp_path, symfs=tmp_path)
    profile = load(str(tmp_path / "perf.data"), LoadOptions(symbols=symbols)).profile
    names, row = [], int(profile.samples.stack[0])
    while row >= 0:
        location = int(profile.stacks.location[row])
        function = int(profile.locations.line_function[int(profile.locations.line_offsets[location])])
        names.append(profile.strings[int(profile.functions.name[function])])
        row = int(profile.stacks.parent[row])
    known = [name for name in names if not name.startswith("[")]
    assert known == (["inner", "middle", "outer"] if told else ["inner", "outer"])


WHOLE = dump_of("f", "g")


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(WHOLE)))
def test_flipped_and_truncated_dumps_raise_no_other_exception(flips, length) -> None:
    data = bytearray(WHOLE)
    for position, value in flips:
        data[position] = value
    with contextlib.suppress(ObjectError):
        _, elf = image(bytes(data[:length]))
        if elf is not None:
            index = eh_frame_index(elf)
            for offset in index.offset.tolist():
                index.section.fde(offset)
