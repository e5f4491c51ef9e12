"""Programs that run on paper: functions with frames of every kind, their unwind entries, and the stacks they leave.

The chain that must come out is known because the simulation pushed the return addresses itself.
"""

import struct
from dataclasses import dataclass, field
from random import Random

import numpy as np

from perf2x.model.recording.events import UserStacks
from tests.support.frame_writer import TEXT, Frame, FrameFile, advance, def_cfa, offset

STACK_TOP = 0x7FFF_0000
LOAD_BIAS = 0x5500_0000_0000
SIZE = 64
"""Bytes of text of a function."""
SITE = 16
"""Offset in a function to which its call returns."""
PERF_BITS = {
    "x86_64": {0: 0, 1: 3, 2: 2, 3: 1, 4: 4, 5: 5, 6: 6, 7: 7, 8: 16} | {bit: bit - 8 for bit in range(16, 24)},
    "aarch64": {bit: bit for bit in range(33)},
}
CALLEE_SAVED = {"x86_64": [3, 12, 13, 14, 15], "aarch64": list(range(19, 29))}
SIGNATURE = 0x00B5 << 48
"""Bits that pointer authentication puts above an address."""


@dataclass
class Function:
    """Layout of one function's frame."""

    by_frame_pointer: bool
    saved: list[int]
    local_words: int
    has_entry: bool = True


@dataclass
class Machine:
    """Registers and memory of one simulated thread."""

    arch: str
    random: Random
    registers: dict[int, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pointer = 7 if self.arch == "x86_64" else 31
        self.frame = 6 if self.arch == "x86_64" else 29
        self.registers = {number: self.random.getrandbits(64) for number in PERF_BITS[self.arch].values()}
        self.registers[self.pointer] = STACK_TOP
        self.registers[self.frame] = 0

    def push(self, value) -> None:
        self.registers[self.pointer] -= 8
        self.memory[self.registers[self.pointer]] = value

    def enter(self, function, back) -> None:
        """Call: leave ``back`` where the processor leaves it, then run the prologue."""
        if self.arch == "x86_64":
            self.push(back)
            self._prologue(function, [self.frame] * function.by_frame_pointer)
        else:
            self.registers[30] = back
            self._prologue(function, [30, self.frame])

    def _prologue(self, function, first) -> None:
        for register in first:
            self.push(self.registers[register])
        if function.by_frame_pointer:
            self.registers[self.frame] = self.registers[self.pointer]
        for register in function.saved:
            self.push(self.registers[register])
            self.registers[register] = self.random.getrandbits(64)
        for _ in range(function.local_words):
            self.push(self.random.getrandbits(64))


def program_of(function, arch) -> bytes:
    """The unwind entry of a function: one row behind its prologue."""
    if arch == "x86_64":
        first, cfa = [6] * function.by_frame_pointer, -16
    else:
        first, cfa = [30, 29], -8
    words = len(first) + len(function.saved) + function.local_words + (arch == "x86_64")
    rule = def_cfa(6, 16) if arch == "x86_64" else def_cfa(29, 16)
    if not function.by_frame_pointer:
        rule = def_cfa(7 if arch == "x86_64" else 31, 8 * words)
    for register in [*first, *function.saved]:
        rule += offset(register, cfa)
        cfa -= 8
    return advance(4) + rule


@dataclass
class Program:
    """A handful of functions, one behind the other in one object."""

    arch: str
    functions: list[Function]

    def file(self, **more) -> FrameFile:
        initial = def_cfa(7, 8) + offset(16, -8) if self.arch == "x86_64" else def_cfa(31, 0)
        frames = [
            Frame(TEXT + SIZE * place, SIZE, program_of(function, self.arch))
            for place, function in enumerate(self.functions)
            if function.has_entry
        ]
        outermost = b"\x07" + bytes([16 if self.arch == "x86_64" else 30])
        frames.append(Frame(TEXT + SIZE * len(self.functions), SIZE, outermost))
        return FrameFile(frames, machine=self.arch, initial=initial, **more)

    def site(self, place) -> int:
        """The address in function ``place`` that its callee returns to."""
        return LOAD_BIAS + TEXT + SIZE * place + SITE

    def run(self, calls, random, signature=0) -> tuple[Machine, list[int]]:
        """Call the functions ``calls`` from the entry point, outermost first; the machine and the sample's chain."""
        machine = Machine(self.arch, random)
        caller = len(self.functions)
        for place in calls:
            machine.enter(self.functions[place], self.site(caller) | signature)
            caller = place
        machine.registers[16 if self.arch == "x86_64" else 32] = self.site(caller) + 4
        chain = [self.site(place) for place in [len(self.functions), *calls]][::-1]
        return machine, [chain[0] + 4, *chain[1:]]


def stacks_of(machines, requested) -> UserStacks:
    """Return the copies that perf would have made of every machine's stack."""
    arch = machines[0].arch
    bits = sorted(PERF_BITS[arch])
    registers, copies, sizes = [], [], []
    for machine in machines:
        pointer = machine.registers[machine.pointer]
        copied = range(pointer, min(STACK_TOP, pointer + requested), 8)
        copies.append(struct.pack(f"<{len(copied)}Q", *(machine.memory.get(at, 0) for at in copied)))
        sizes.append(len(copies[-1]))
        registers.append([machine.registers[PERF_BITS[arch][bit]] for bit in bits])
    starts = np.cumsum([0, *(size // 8 for size in sizes)])[:-1].astype(np.int64)
    return UserStacks(
        abi=np.full(len(machines), 2, np.uint8),
        regs=np.array(registers, np.uint64),
        mask=sum(1 << bit for bit in bits),
        words=np.frombuffer(b"".join(copies), "<u8").astype(np.uint64),
        start=starts,
        size=np.array(sizes, np.int64),
        requested=requested,
    )
