"""Registers and stack dumps of many samples at once, and views of some of them for rules and expressions.

::

    stack of one sample      sp                                sp + size
    memory                   |<------------ copied ------------>|
    words                    start[row] … start[row] + size // 8
"""

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, Frozen, as_int64, falses, take, trues, zeros
from perf2x.model.recording import UserStacks
from perf2x.stitcher.unwind.architecture import Architecture

_MAX_COPY = 60_000
"""Records have at most 64 KiB, so the kernel cuts larger requests to the remaining size (perf_sample_ustack_size)."""
_PAGE = 4096
MAX_STACK_DISTANCE = 1 << 26
"""Largest distance of a frame from the stack pointer of the same stack: 64 MiB, eight times the usual limit."""


class StackMemory(Frozen):
    """Stack dumps of a batch: all ``words``, and the index and address of each sample's first word."""

    words: U64
    start: I64
    base: U64
    """The stack pointer at kernel entry, which is the address of the first byte copied."""
    count: U64
    """Whole words copied, bounded by those in ``words``."""
    is_full: Bools
    """All requested bytes were copied, so the stack may continue after them."""

    def load(self, rows: I64, address: U64) -> tuple[U64, Bools]:
        """Return (n,) the 64-bit word at an address of each sample, and whether it was copied; 0 if it was not."""
        offset = address - take(self.base, rows)
        word = offset >> np.uint64(3)
        good = word < take(self.count, rows)
        if np.bitwise_or.reduce(offset) & np.uint64(7):
            return self._load_unaligned(rows, word, as_int64(offset & np.uint64(7)), good)
        return self._word(rows, word, good), good

    def _word(self, rows: I64, word: U64, good: Bools) -> U64:
        index = take(self.start, rows) + word.view(np.int64)
        if good.all():
            return take(self.words, index)
        value = np.zeros(len(rows), np.uint64)
        value[good] = self.words[index[good]]
        return value

    def _load_unaligned(self, rows: I64, word: U64, low: I64, good: Bools) -> tuple[U64, Bools]:
        """Combine two neighboring words; all supported processors are little-endian."""
        good &= (low == 0) | (word + np.uint64(1) < self.count[rows])
        first, second = self._word(rows, word, good), self._word(rows, word + np.uint64(1), good & (low != 0))
        shift = (low * 8).view(np.uint64)
        upper = np.where(low == 0, np.uint64(0), second << ((np.uint64(64) - shift) & np.uint64(63)))
        return first >> shift | upper, good

    def is_beyond(self, rows: I64, address: U64) -> Bools:
        """Return (n,) bool: whether an address is above the dump, but within reach of the same stack."""
        offset = address - self.base[rows]
        return (
            self.is_full[rows] & (offset >= self.count[rows] << np.uint64(3)) & (offset < np.uint64(MAX_STACK_DISTANCE))
        )

    def is_unread(self, rows: I64, address: U64) -> Bools:
        """Return (n,) bool: whether an address is above a dump that ended early, at a page boundary.

        The kernel does not page in memory for a dump (copy_from_user_nmi), and large frames have pages not touched yet.
        """
        offset, copied = address - self.base[rows], self.count[rows] << np.uint64(3)
        at_border = self.base[rows] + copied & np.uint64(_PAGE - 1) == 0
        found: Bools = ~self.is_full[rows] & at_border & (offset >= copied) & (offset < np.uint64(MAX_STACK_DISTANCE))
        return found


def stack_memory(stacks: UserStacks, stack_pointer: U64) -> StackMemory:
    """Return the dumps of a batch, given stack pointers (n,); wrong sizes are cut to the words that exist."""
    whole = np.clip(stacks.size, 0, None) >> 3
    room = np.clip(len(stacks.words) - stacks.start, 0, None)
    count = np.where(stacks.start >= 0, np.minimum(whole, room), 0)
    full = stacks.size + 8 > min(stacks.requested, _MAX_COPY)
    return StackMemory(stacks.words, stacks.start, stack_pointer, count.view(np.uint64), full)


UNFINISHED = 255
"""In a column of ends: the chain continues."""


class RegisterFile(Frozen):
    """Registers in the frame to which each of ``n`` samples is unwound; every step changes the arrays in place."""

    registers: U64
    """(r, n)"""
    known: U64
    """(n,) bit r: register r has its value of this frame."""
    is_exact: Bools
    """(n,) the program counter is the address of an instruction, not a return address."""
    crossed_signal: Bools
    """(n,) a signal frame was left, so the stack may not be the one that was copied."""
    depth: I64
    """(n,) frames that each sample has left"""
    recorded: np.uint64
    """Bit r: register r was recorded."""


class RestoredRegister(Frozen):
    """New values of one register for some samples, known where ``good``."""

    register: int
    rows: I64
    value: U64
    good: Bools


class SampleView(Frozen):
    """Registers and memory of some samples (``rows``)."""

    frames: RegisterFile
    memory: StackMemory
    architecture: Architecture
    rows: I64

    @property
    def mask(self) -> np.uint64:
        """A word with all bits set."""
        return np.uint64((1 << 8 * self.architecture.word) - 1)

    def part(self, which: I64 | slice) -> "SampleView":
        """Return a view of some of these samples."""
        return SampleView(self.frames, self.memory, self.architecture, self.rows[which])

    def register(self, number: int) -> tuple[U64, Bools]:
        """Return (n,) values of one register and which are known; an untracked register never is."""
        if number >= self.architecture.register_count:
            return np.zeros(len(self.rows), np.uint64), falses(len(self.rows))
        known = take(self.frames.known, self.rows) & np.uint64(1 << number)
        return take(self.frames.registers[number], self.rows), known != 0

    def registers_of(self, number: I64) -> tuple[U64, Bools]:
        """Return (n,) values of one register per sample, and which are known."""
        inside = number < self.architecture.register_count
        if not inside.all():
            number = np.where(inside, number, 0)
        known = take(self.frames.known, self.rows) >> number.view(np.uint64) & np.uint64(1)
        registers = self.frames.registers
        return take(registers.ravel(), number * registers.shape[1] + self.rows), known.astype(np.bool_) & inside

    def load(self, address: U64, size: int) -> tuple[U64, Bools]:
        """Return (n,) values of ``size`` bytes of memory (0: a word of the architecture), and which were recorded."""
        size = size or self.architecture.word
        value, good = self.memory.load(self.rows, address)
        return (value if size >= 8 else value & np.uint64((1 << 8 * size) - 1)), good

    def set(self, new: RestoredRegister) -> None:
        """Store a register that a rule restored."""
        bit = np.uint64(1 << new.register)
        self.frames.registers[new.register, new.rows] = new.value
        known = take(self.frames.known, new.rows) | bit
        if not new.good.all():
            known[~new.good] ^= bit
        self.frames.known[new.rows] = known

    def set_register(self, number: int, value: U64) -> None:
        """Set a register to values that are known for every sample of the view."""
        self.frames.registers[number, self.rows] = value
        self.frames.known[self.rows] |= np.uint64(1 << number)

    def saved(self) -> tuple[U64, U64, Bools, Bools]:
        """Return copies of the state of all samples of the view, for ``restore``."""
        frames, rows = self.frames, self.rows
        return frames.registers[:, rows], frames.known[rows], frames.is_exact[rows], frames.crossed_signal[rows]

    def restore(self, saved: tuple[U64, U64, Bools, Bools], which: I64) -> None:
        """Restore the state from ``saved`` for some samples of the view."""
        frames, rows = self.frames, self.rows[which]
        registers, known, is_exact, crossed_signal = saved
        frames.registers[:, rows], frames.known[rows] = registers[:, which], known[which]
        frames.is_exact[rows], frames.crossed_signal[rows] = is_exact[which], crossed_signal[which]

    def cross(self, frame_pointer: U64, stack_pointer: U64, address: U64) -> None:
        """Enter the caller, of which only these three registers are known."""
        self.frames.known[self.rows] = 0
        self.set_register(self.architecture.frame_pointer, frame_pointer)
        self.set_register(self.architecture.stack_pointer, stack_pointer)
        self.set_register(self.architecture.program_counter, address)
        self.frames.is_exact[self.rows] = False


def initial_registers(stacks: UserStacks, architecture: Architecture) -> RegisterFile:
    """Return the registers in the innermost frames, as recorded with the samples."""
    registers = np.zeros((architecture.register_count, len(stacks.abi)), np.uint64)
    recorded, column = 0, 0
    for bit in range(64):
        if not stacks.mask >> bit & 1:
            continue
        number = architecture.from_perf.get(bit)
        if number is not None and column < stacks.regs.shape[1]:
            registers[number] = stacks.regs[:, column]
            recorded |= 1 << number
        column += 1
    count = len(stacks.abi)
    known, depth = np.full(count, recorded, np.uint64), zeros(count)
    flags = trues(count), falses(count)
    return RegisterFile(registers, known, *flags, depth, np.uint64(recorded))
