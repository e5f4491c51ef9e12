"""Registers and stack dumps of many samples at once.

The kernel copies the top of a sample's user stack into the record (PERF_SAMPLE_STACK_USER). The dumps of a batch are
one array of 64-bit words; a row is a sample::

    addresses    dump_start[row]                      dump_start[row] + 8 · word_count[row]
    stack        |<------------- copied ------------->|  not copied …
    words        first_word[row]                      first_word[row] + word_count[row]
"""

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, Frozen, as_int64, falses, take, trues, zeros
from perf2x.model.recording import UserStacks
from perf2x.stitcher.unwind.architecture import Architecture

_MAX_DUMP = 60_000
"""A dump of this many bytes is complete, even if more were requested.

A record has at most 64 KiB, and other fields take some of them (perf_sample_ustack_size).
"""
_PAGE = 4096
# Largest distance of a frame from the stack pointer: 64 MiB, eight times the usual ulimit -s.
MAX_STACK_DISTANCE = 1 << 26


class StackMemory(Frozen):
    """The stack dumps of a batch; all columns but ``words`` have one entry per sample, (n,)."""

    words: U64
    """(words,) all dumps of the batch."""
    first_word: I64
    """Index of each dump in ``words``."""
    dump_start: U64
    """Address of each dump's first byte: the stack pointer at kernel entry."""
    word_count: U64
    """Whole words in each dump that exist in ``words``."""
    is_complete: Bools
    """Whether as many bytes as possible were copied: all requested ones, or `_MAX_DUMP`."""

    def load(self, rows: I64, address: U64) -> tuple[U64, Bools]:
        """Return the 64-bit word at an address of each sample, 0 if it was not copied; all shapes (n,).

        The second result says whether it was copied.
        """
        offset = address - take(self.dump_start, rows)
        word = offset >> np.uint64(3)
        is_copied = word < take(self.word_count, rows)
        if np.bitwise_or.reduce(offset) & np.uint64(7):
            return self._load_unaligned(rows, word, as_int64(offset & np.uint64(7)), is_copied)
        return self._word(rows, word, is_copied), is_copied

    def _word(self, rows: I64, word: U64, is_copied: Bools) -> U64:
        index = take(self.first_word, rows) + word.view(np.int64)
        if is_copied.all():
            return take(self.words, index)
        value = np.zeros(len(rows), np.uint64)
        value[is_copied] = self.words[index[is_copied]]
        return value

    def _load_unaligned(self, rows: I64, word: U64, byte: I64, is_copied: Bools) -> tuple[U64, Bools]:
        """Join two words, for values at byte ``byte`` (0 to 7); all processors are little-endian."""
        is_copied &= (byte == 0) | (word + np.uint64(1) < self.word_count[rows])
        first = self._word(rows, word, is_copied)
        second = self._word(rows, word + np.uint64(1), is_copied & (byte != 0))
        shift = (byte * 8).view(np.uint64)
        upper = np.where(byte == 0, np.uint64(0), second << ((np.uint64(64) - shift) & np.uint64(63)))
        return first >> shift | upper, is_copied

    def is_beyond(self, rows: I64, address: U64) -> Bools:
        """Return (n,) bool: whether an address is above a complete dump, but may be in the same stack."""
        return self.is_complete[rows] & self._is_above(rows, address)

    def is_unread(self, rows: I64, address: U64) -> Bools:
        """Return (n,) bool: whether an address is above a dump that ended early at a page boundary.

        The kernel does not page in memory for a dump (copy_from_user_nmi), and large frames have untouched pages.
        """
        end = self.dump_start[rows] + (self.word_count[rows] << np.uint64(3))
        ends_at_page: Bools = end & np.uint64(_PAGE - 1) == 0
        return ~self.is_complete[rows] & ends_at_page & self._is_above(rows, address)

    def _is_above(self, rows: I64, address: U64) -> Bools:
        offset = address - self.dump_start[rows]
        is_above: Bools = (offset >= self.word_count[rows] << np.uint64(3)) & (offset < np.uint64(MAX_STACK_DISTANCE))
        return is_above


def stack_memory(stacks: UserStacks, stack_pointer: U64) -> StackMemory:
    """Return the dumps of a batch, given the recorded stack pointers (n,)."""
    stated_words = np.clip(stacks.size, 0, None) >> 3
    words_left = np.clip(len(stacks.words) - stacks.start, 0, None)
    word_count = np.where(stacks.start >= 0, np.minimum(stated_words, words_left), 0)
    is_complete = stacks.size + 8 > min(stacks.requested, _MAX_DUMP)
    return StackMemory(stacks.words, stacks.start, stack_pointer, word_count.view(np.uint64), is_complete)


# A column of ends has this in place of an `End` while the chain continues.
UNFINISHED = 255


class RegisterFile(Frozen):
    """Registers of ``n`` samples in the frames that they are unwound to; steps change the arrays in place."""

    registers: U64
    """(r, n) by DWARF number"""
    known_bits: U64
    """(n,) bit r: the value of register r in this frame is known."""
    is_exact: Bools
    """(n,) the program counter is the address of an instruction, not a return address."""
    crossed_signal: Bools
    """(n,) a signal frame was left, so the stack may not be the one that was copied."""
    depth: I64
    """(n,) number of frames unwound so far."""
    recorded_bits: np.uint64
    """Bit r: register r was recorded with the samples."""


class RestoredRegister(Frozen):
    """The caller's values of one register."""

    register: int
    rows: I64
    """(n,) rows of the samples in the batch."""
    value: U64
    """(n,) meaningless where it is not known."""
    is_known: Bools
    """(n,)"""


class SampleView(Frozen):
    """Registers and memory of ``n`` samples: ``rows`` of ``frames`` and ``memory``."""

    frames: RegisterFile
    memory: StackMemory
    architecture: Architecture
    rows: I64

    @property
    def word_mask(self) -> np.uint64:
        """All bits of the architecture's words."""
        return np.uint64((1 << 8 * self.architecture.word_size) - 1)

    def part(self, samples: I64 | slice) -> "SampleView":
        """Return a view of some samples, by index."""
        return SampleView(self.frames, self.memory, self.architecture, self.rows[samples])

    def register(self, number: int) -> tuple[U64, Bools]:
        """Return (n,) values of one register, and which are known; registers without a row are never known."""
        if number >= self.architecture.register_count:
            return np.zeros(len(self.rows), np.uint64), falses(len(self.rows))
        known = take(self.frames.known_bits, self.rows) & np.uint64(1 << number)
        return take(self.frames.registers[number], self.rows), known != 0

    def register_of_each(self, number: I64) -> tuple[U64, Bools]:
        """Return (n,) the value of register ``number[i]`` for each sample i, and which are known."""
        is_tracked = number < self.architecture.register_count
        if not is_tracked.all():
            number = np.where(is_tracked, number, 0)
        known = take(self.frames.known_bits, self.rows) >> number.view(np.uint64) & np.uint64(1)
        registers = self.frames.registers
        return take(registers.ravel(), number * registers.shape[1] + self.rows), known.astype(np.bool_) & is_tracked

    def load(self, address: U64, size: int) -> tuple[U64, Bools]:
        """Return (n,) values of ``size`` bytes of memory (0: the architecture's word), and which were copied."""
        size = size or self.architecture.word_size
        value, is_copied = self.memory.load(self.rows, address)
        return (value if size >= 8 else value & np.uint64((1 << 8 * size) - 1)), is_copied

    def set_restored(self, restored: RestoredRegister) -> None:
        """Store a register that a rule restored."""
        bit = np.uint64(1 << restored.register)
        self.frames.registers[restored.register, restored.rows] = restored.value
        known = take(self.frames.known_bits, restored.rows) | bit
        if not restored.is_known.all():
            known[~restored.is_known] ^= bit
        self.frames.known_bits[restored.rows] = known

    def set_register(self, number: int, value: U64) -> None:
        """Set a register to values (n,), all of which are known."""
        self.frames.registers[number, self.rows] = value
        self.frames.known_bits[self.rows] |= np.uint64(1 << number)

    def copy_state(self) -> tuple[U64, U64, Bools, Bools]:
        """Copy the registers and flags of all samples of the view."""
        frames, rows = self.frames, self.rows
        return frames.registers[:, rows], frames.known_bits[rows], frames.is_exact[rows], frames.crossed_signal[rows]

    def restore_state(self, state: tuple[U64, U64, Bools, Bools], samples: I64) -> None:
        """Undo all changes since ``copy_state`` for some samples of the view, by index."""
        frames, rows = self.frames, self.rows[samples]
        registers, known, is_exact, crossed_signal = state
        frames.registers[:, rows], frames.known_bits[rows] = registers[:, samples], known[samples]
        frames.is_exact[rows], frames.crossed_signal[rows] = is_exact[samples], crossed_signal[samples]

    def enter_caller(self, frame_pointer: U64, stack_pointer: U64, return_address: U64) -> None:
        """Step to the callers; all other registers become unknown. Shapes: (n,)."""
        self.frames.known_bits[self.rows] = 0
        self.set_register(self.architecture.frame_pointer, frame_pointer)
        self.set_register(self.architecture.stack_pointer, stack_pointer)
        self.set_register(self.architecture.program_counter, return_address)
        self.frames.is_exact[self.rows] = False


def initial_registers(stacks: UserStacks, architecture: Architecture) -> RegisterFile:
    """Return the recorded registers of the innermost frames."""
    registers = np.zeros((architecture.register_count, len(stacks.abi)), np.uint64)
    recorded, column = 0, 0
    # column of stacks.regs: the number of the mask's bits below this one
    for bit in range(64):
        if not stacks.mask >> bit & 1:
            continue
        number = architecture.register_of_perf_bit.get(bit)
        if number is not None and column < stacks.regs.shape[1]:
            registers[number] = stacks.regs[:, column]
            recorded |= 1 << number
        column += 1
    count = len(stacks.abi)
    known, depth = np.full(count, recorded, np.uint64), zeros(count)
    flags = trues(count), falses(count)
    return RegisterFile(registers, known, *flags, depth, np.uint64(recorded))
