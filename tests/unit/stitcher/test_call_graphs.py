"""From forged recordings to whole stacks: user stack dumps unwound, branch records read, ends marked and counted."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from perf2x.cli.render.summary import unwound_line
from perf2x.kernel.load import Loaded, load
from perf2x.kernel.load_options import load_options
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.stitcher.unwind.unwound_chains import End
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Branch, Comm, Event, Mmap2, Registers, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.forge.records import Record
from tests.forge.session import Session
from tests.support.frame_writer import TEXT
from tests.support.product import stacks_of
from tests.support.simulated_program import LOAD_BIAS, SIGNATURE, SIZE, Function, Program
from tests.support.simulated_program import stacks_of as copied

KERNEL, USER = 2**64 - 128, 2**64 - 512
PIECES = k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN
LOAD_SIZE = 0x8000
CPU_PMU_CAPS = 28


def sideband(program_path, offset) -> list[Record]:
    begin = Stamp(pid=1, tid=1, time=1)
    return [
        Comm(pid=1, tid=1, comm="prog", stamp=begin),
        Mmap2(pid=1, tid=1, addr=LOAD_BIAS + TEXT, len=LOAD_SIZE, pgoff=offset, filename=program_path, stamp=begin),
    ]


LOW = Mmap2(pid=1, tid=1, addr=0, len=0x10000, filename="/bin/low", stamp=Stamp(pid=1, tid=1, time=1))
"""Holds the small addresses of tests that write their chains by hand: outside all mappings they are one place."""


def copied_sample(machine, time, requested=4096, chain=(), mode=k.USER) -> Sample:
    stacks = copied([machine], requested)
    registers = Registers(2, tuple(stacks.regs[0].tolist()))
    copy = stacks.words.tobytes().ljust(requested, b"\0")
    address = machine.registers[16 if machine.arch == "x86_64" else 32]
    used = int(stacks.size[0])
    return Sample(
        ip=address, mode=mode, time=time, chain=chain, regs_user=registers, stack=copy, stack_used=used
    )  # fmt: skip


def loaded(tmp_path, events, records, arch="x86_64", extra=None, **options) -> Loaded:
    data = tmp_path / "perf.data"
    features = Features(arch=arch, extra=extra or {})
    data.write_bytes(write_file(Session(events=tuple(events), features=features), records))
    symbols = SymbolOptions(symfs=tmp_path / "symfs", inline=False)
    return load(str(data), load_options(timeline=True, symbols=symbols, **options))


def chains_of(result) -> list[list[tuple[int, int, int]]]:
    """Samples in time order, each as (address, lookup, mode) or the name of a made-up frame, outermost first."""
    stacks = stacks_of(result.profile)
    return [stacks[stack] if stack >= 0 else [] for stack in result.profile.samples.stack.tolist()]


def addresses(stack) -> list[int | str]:
    return [address or name for address, name, _ in stack]


@pytest.fixture
def installed(tmp_path) -> Callable[[Program], int]:
    def install(program) -> int:
        path = tmp_path / "symfs" / "bin" / "prog"
        path.parent.mkdir(parents=True)
        path.write_bytes(program.file().bytes())
        from perf2x.base.binaries.elf.elf_file import open_elf

        return next(part.offset for part in open_elf(path).segments if part.address == TEXT)

    return install


def event_of(arch, requested=4096) -> Event:
    mask = copied([Program(arch, [Function(True, [], 1)]).run([], Random(1))[0]], 64).mask
    return Event(
        sample_type=PIECES | k.REGS_USER | k.STACK_USER, sample_regs_user=mask, sample_stack_user=requested
    )  # fmt: skip


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_copied_stacks_follow_the_kernel_part(tmp_path, installed, arch) -> None:
    program = Program(arch, [Function(True, [12 if arch == "x86_64" else 20], 3), Function(False, [], 7)])
    offset = installed(program)
    signature = SIGNATURE if arch == "aarch64" else 0
    runs = [program.run(calls, Random(1), signature) for calls in ([0, 1, 0], [1, 1])]
    kernel = (KERNEL, 2**64 - 2**30, 2**64 - 2**29)
    samples = [
        copied_sample(runs[0][0], 10, chain=kernel, mode=k.KERNEL),
        copied_sample(runs[1][0], 20),
        Sample(ip=2**64 - 2**30, mode=k.KERNEL, time=30, chain=kernel),
    ]
    result = loaded(tmp_path, [event_of(arch)], [*sideband("/bin/prog", offset), *samples], arch)
    first, second, third = chains_of(result)
    assert addresses(first) == [*runs[0][1][::-1], 2**64 - 2**29, 2**64 - 2**30]
    assert addresses(second) == runs[1][1][::-1]
    assert addresses(third) == [2**64 - 2**29, 2**64 - 2**30]
    assert result.unwound.ends == {End.COMPLETE: 2, End.NO_REGISTERS: 1}
    assert unwound_line(result.unwound) == "100 % of 2 user stack dumps fully unwound"


@pytest.mark.parametrize("into_function", [0, 8], ids=["leaf", "framed"])
@pytest.mark.parametrize("outer", [True, False])
def test_the_link_register_has_the_caller_of_a_leaf(tmp_path, installed, into_function, outer) -> None:
    """With a frame the register may hold anything; a caller that the chain has is not put in twice."""
    program = Program("aarch64", [Function(True, [], 3), Function(False, [], 3)])
    offset = installed(program)
    leaf, caller, first = LOAD_BIAS + TEXT + SIZE + into_function, program.site(0), program.site(2)
    event = event_of("aarch64", 0)
    event = replace(event, sample_type=PIECES | k.REGS_USER, sample_regs_user=1 << 30)
    recorded = (KERNEL, 2**64 - 2**30, USER, leaf, *([first] if outer else []))
    samples = [
        Sample(ip=2**64 - 2**30, mode=k.KERNEL, time=time, chain=chain, regs_user=Registers(2, (link,)))
        for time, chain, link in [
            (10, recorded, caller | SIGNATURE),
            (20, (*recorded[:4], caller, *recorded[4:]), caller),
            (30, recorded, 0x1234),
            (40, recorded[:2], caller),
        ]
    ]
    result = loaded(tmp_path, [event], [*sideband("/bin/prog", offset), *samples], "aarch64")
    end = [leaf, 2**64 - 2**30]
    before, whole = [first] if outer else [], [*([first] if outer else []), caller, *end]
    assert [addresses(chain) for chain in chains_of(result)] == [
        [*before, *end] if into_function else whole,
        whole,
        [*before, *end],
        end[1:],
    ]


def test_return_addresses_are_looked_up_within_their_call(tmp_path, installed) -> None:
    program = Program("x86_64", [Function(True, [], 3)])
    offset = installed(program)
    machine, chain = program.run([0, 0], Random(1))
    result = loaded(tmp_path, [event_of("x86_64")], [*sideband("/bin/prog", offset), copied_sample(machine, 5)])
    pairs = zip(result.profile.locations.address.tolist(), result.profile.locations.lookup.tolist(), strict=True)
    assert set(pairs) == {(chain[0], chain[0]), *((address, address - 1) for address in chain[1:])}


def test_a_truncated_copy_is_marked_and_explained(tmp_path, installed) -> None:
    program = Program("x86_64", [Function(False, [], 30)])
    offset = installed(program)
    machine, chain = program.run([0] * 6, Random(1))
    records = [*sideband("/bin/prog", offset), copied_sample(machine, 5, requested=512)]
    result = loaded(tmp_path, [event_of("x86_64", 512)], records)
    (stack,) = chains_of(result)
    assert addresses(stack) == ["[truncated stack]", *chain[:3][::-1]]
    assert "1 truncated (record with --call-graph dwarf,32768)" in unwound_line(result.unwound)


def test_without_the_object_the_frame_pointer_is_followed_and_counted(tmp_path) -> None:
    program = Program("x86_64", [Function(True, [], 3)])
    machine, chain = program.run([0, 0], Random(1))
    result = loaded(tmp_path, [event_of("x86_64")], [*sideband("/bin/gone", 0x1000), copied_sample(machine, 5)])
    assert addresses(chains_of(result)[0]) == chain[::-1]
    assert result.unwound.guessed == 2
    assert result.diagnostics["guessed_frames"] == 2


def test_only_events_with_stack_copies_are_unwound(tmp_path, installed) -> None:
    program = Program("x86_64", [Function(True, [], 3)])
    offset = installed(program)
    machine, chain = program.run([0], Random(1))
    plain = Event(name="plain", sample_type=PIECES | k.IDENTIFIER, ids=(1,))
    unwound = replace(event_of("x86_64"), name="unwound", ids=(2,))
    unwound = replace(unwound, sample_type=unwound.sample_type | k.IDENTIFIER)
    samples = [
        Sample(ip=chain[0], time=5, chain=(USER, chain[0], 0x1234)),
        replace(copied_sample(machine, 6), event=1),
    ]
    result = loaded(tmp_path, [plain, unwound], [LOW, *sideband("/bin/prog", offset), *samples])
    assert [addresses(stack) for stack in chains_of(result)] == [[0x1234, chain[0]], chain[::-1]]


def test_stacks_of_other_processors_are_counted(tmp_path) -> None:
    machine, _ = Program("x86_64", [Function(True, [], 3)]).run([0], Random(1))
    result = loaded(tmp_path, [event_of("x86_64")], [copied_sample(machine, 5)], arch="riscv64")
    assert result.diagnostics["stacks_not_unwound"] == 1


CALLS = (Branch(0x105, 0x200), Branch(0x55, 0x100))
LBR = Event(
    type=0,
    name="cycles",
    sample_type=PIECES | k.BRANCH_STACK,
    branch_sample_type=k.BRANCH_CALL_STACK | k.BRANCH_HW_INDEX | 1,
)


def test_branch_records_are_the_user_part(tmp_path) -> None:
    samples = [
        Sample(ip=0x210, time=10, chain=(USER, 0x210, 0x106), branches=CALLS, hw_index=1),
        Sample(ip=2**64 - 2**30, mode=k.KERNEL, time=20, chain=(KERNEL, 2**64 - 2**30, USER, 0x214), branches=CALLS),
        Sample(ip=2**64 - 2**30, mode=k.KERNEL, time=30, chain=(KERNEL, 2**64 - 2**30), branches=()),
    ]
    result = loaded(tmp_path, [LBR], [LOW, *samples])
    assert [addresses(stack) for stack in chains_of(result)] == [
        [0x55, 0x105, 0x210], [0x55, 0x105, 0x214, 2**64 - 2**30], [2**64 - 2**30],
    ]  # fmt: skip
    # a call instruction's own address is where to look
    user = result.profile.locations.mode == k.USER
    assert (result.profile.locations.lookup == result.profile.locations.address)[user].all()


@pytest.mark.parametrize("wanted", [False, True])
def test_stitching_takes_older_calls_from_the_sample_before(tmp_path, wanted) -> None:
    caps = (1).to_bytes(4, "little") + text("branches") + text("2")
    calls = [Branch(0x55, 0x100), Branch(0x105, 0x200), Branch(0x205, 0x300)]
    samples = [
        Sample(ip=0x210, time=10, chain=(USER, 0x210), branches=(calls[1], calls[0]), hw_index=1),
        Sample(ip=0x310, time=20, chain=(USER, 0x310), branches=(calls[2], calls[1]), hw_index=0),
    ]
    options = {"call_graphs": CallGraphOptions(stitch_lbr=wanted)}
    result = loaded(tmp_path, [LBR], [LOW, *samples], extra={CPU_PMU_CAPS: caps}, **options)
    assert addresses(chains_of(result)[1]) == [*([0x55] if wanted else []), 0x105, 0x205, 0x310]


def text(value) -> bytes:
    raw = value.encode() + b"\0"
    raw += bytes(-len(raw) % 64)
    return len(raw).to_bytes(4, "little") + raw
