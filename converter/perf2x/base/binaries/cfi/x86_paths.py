"""Follows paths through x86 code, and says what registers and the stack hold at their ends.

Values are symbolic, in terms of the unknown values at the beginning of the path. After ``push %rbx``, the stack pointer
is (rsp, −8), and the word there is (rbx, 0). Only whole words and additions of constants are followed; a register that
any other instruction writes is unknown afterwards. We overlook that vector instructions may write general registers,
and that instructions other than push and mov of a register write memory. Registers have the numbers of machine code:
rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, …
"""

from collections.abc import Iterator
from typing import NamedTuple

from perf2x.base.binaries.elf.x86_code import X86Code
from perf2x.base.binaries.elf.x86_instructions import FIXED, X86Instruction, opcodes

_MAX_INSTRUCTIONS = 4096
# rax holds results, rsp is the stack pointer, rbp the frame pointer
RESULT, STACK, FRAME = 0, 4, 5
# jcc, loop and jcxz; opcodes are those of `X86Instruction`: 0x180 is 0F 80.
_CONDITIONAL = opcodes("70-7f e0-e3 180-18f")
# A path stops here without a `PathEnd`: far returns and jumps, int3, iret, hlt, ud2.
_DEAD_ENDS = opcodes("ca cb cc cf ea f4 10b")
# These write to the r/m field of ModR/M (a register or memory), or to its reg field.
_WRITES_OPERAND = opcodes(
    "00 01 08 09 10 11 18 19 20 21 28 29 30 31 80-83 86-88 c0 c1 c6 c7 d0-d3 190-19f 1a4 1a5 1ab-1ad 1b0 1b1 1b3 1bb "
    "1c0 1c1"
)
_WRITES_REGISTER = opcodes(
    "02 03 0a 0b 12 13 1a 1b 22 23 2a 2b 32 33 40-4f 63 69 6b 86 87 8a 90-97 b0-bf 140-14f 1af 1b6-1b8 1bc-1bf 1c8-1cf"
)
# Registers 4 to 7 of opcodes that write a byte may be ah, ch, dh and bh, not rsp to rdi.
_WRITES_BYTE = opcodes("80 82 86 88 8a b0-b7 c0 c6 d0 d2 f6 fe 190-19f 1b0 1c0").union(range(0, 0x38, 2))
# Opcodes that write rax, rcx, rdx, rbx, …, rdi without naming it. mul and div are missing, because they share their
# opcodes with test, not and neg.
_IMPLIED_TARGETS = tuple(map(opcodes, (
    "04 05 0c 0d 14 15 1c 1d 24 25 2c 2d 34 35 98 a0 a1 ac ad d7 e4 e5 ec ed 101 105 131 1a2 1b0 1b1 1c7",
    "6c-6f a4-a7 aa-af 101 105 1a2", "99 101 131 1a2 1c7", "1a2",
    "", "", "6e 6f a4-a7 ac ad", "6c 6d a4-a7 aa ab ae af",
)))  # fmt: skip
# Values of the reg field of ModR/M in opcodes 80 to 83; 0 is add, 5 is sub.
_AND, _COMPARE = 4, 7

# A symbolic value: (base, bytes to add to it). The base is a register's number for its value at the beginning of the
# path, another KnownValue for the word at that address, or ``"aligned"`` for a stack pointer that was aligned.
# Examples: (4, −8) is rsp − 8; ((5, 16), 0) is the word at rbp + 16.
KnownValue = tuple[object, int]
Value = KnownValue | None


class PathState(NamedTuple):
    """Registers and memory at a point of a path, in terms of the values at its beginning; changed in place."""

    registers: list[Value]
    """By register number."""
    memory: dict[KnownValue, Value]
    """Words that the path has stored, by address."""
    word_size: int
    """In bytes."""

    def copy(self) -> "PathState":
        """Copy the state, to follow a branch in both directions."""
        return PathState(self.registers.copy(), self.memory.copy(), self.word_size)

    def address(self, base: int, distance: int) -> Value:
        """Return the value of register ``base`` plus ``distance`` bytes; unknown if ``base`` is FIXED or INDEXED."""
        value = self.registers[base] if base >= 0 else None
        return None if value is None else (value[0], value[1] + distance)

    def load(self, address: Value) -> Value:
        """Return the word at an address; a word that the path has not stored has its initial value."""
        return None if address is None else self.memory.get(address, (address, 0))

    def store(self, address: Value, value: Value) -> None:
        """Store a word, unless the address is unknown."""
        if address is not None:
            self.memory[address] = value

    def push(self, value: Value) -> None:
        """Push a word."""
        self.registers[STACK] = self.address(STACK, -self.word_size)
        self.store(self.registers[STACK], value)

    def pop(self) -> Value:
        """Pop a word."""
        value = self.load(self.registers[STACK])
        self.registers[STACK] = self.address(STACK, self.word_size)
        return value


class PathEnd(NamedTuple):
    """The end of a path: the address ``until`` of `path_ends`, a return, or a tail call through memory."""

    state: PathState
    popped_size: int
    """Bytes that ``ret`` pops, including the return address. A tail call counts as a plain ``ret``; 0 at ``until``."""

    @property
    def cfa(self) -> Value:
        """The canonical frame address at a return or tail call: the stack pointer after ``ret``.

        None if it is unknown. Also None if ``ret`` pops a word that this path has stored, as in V8's builtins, because
        that is not the caller's address.
        """
        stack_top = self.state.address(STACK, 0)
        return self.state.address(STACK, self.popped_size) if self.state.load(stack_top) == (stack_top, 0) else None


def path_ends(code: X86Code, begin: int, extent: tuple[int, int], until: int = -1) -> Iterator[PathEnd]:
    """Follow all paths from ``begin``, in the function with this extent, and yield their ends.

    A path ends at a return, at a tail call through memory at a fixed address, and at the address ``until``. Paths that
    stop elsewhere are not yielded, such as those that reach an instruction of an earlier path.
    """
    word_size = 8 if code.is_64 else 4
    paths = [(begin, PathState([(register, 0) for register in range(16)], {}, word_size), extent)]
    followed: set[int] = set()
    while paths:
        svma, state, extent = paths.pop()
        while svma not in followed and len(followed) < _MAX_INSTRUCTIONS:
            followed.add(svma)
            if svma == until:
                yield PathEnd(state, 0)
                break
            instruction = code.instruction(svma) if extent[0] <= svma < extent[1] else None
            if instruction is None or instruction.opcode in _DEAD_ENDS:
                break
            if instruction.opcode in (0xC2, 0xC3) or (  # ret
                _is_indirect_jump(instruction) and instruction.operand == FIXED
            ):
                yield PathEnd(state, word_size + (instruction.immediate & 0xFFFF if instruction.opcode == 0xC2 else 0))
                break
            if _is_indirect_jump(instruction):
                break
            svma += instruction.size
            if instruction.opcode in (0xE9, 0xEB):  # jmp
                svma += instruction.immediate
                extent = extent if extent[0] <= svma < extent[1] else code.function_extent(svma)
            elif instruction.opcode in _CONDITIONAL:
                target = svma + instruction.immediate
                target_extent = extent if extent[0] <= target < extent[1] else code.function_extent(target)
                paths.append((target, state.copy(), target_extent))
            else:
                _apply(instruction, state)


def leads_to_system_call(code: X86Code, svma: int) -> bool:
    """Return whether one of the eight instructions from ``svma`` on is a system call.

    A thread's start function returns to such code, which ends the thread.
    """
    for _ in range(8):
        instruction = code.instruction(svma)
        if instruction is None or instruction.opcode in (0x105, 0xCD):  # syscall, int
            return instruction is not None
        svma += instruction.size
    return False


def _is_indirect_jump(instruction: X86Instruction) -> bool:
    return instruction.opcode == 0xFF and instruction.register in (4, 5)  # near and far jmp


def _apply(instruction: X86Instruction, state: PathState) -> None:
    opcode, registers = instruction.opcode, state.registers
    if (opcode == 0xE8 and instruction.immediate) or (opcode == 0xFF and instruction.register in (2, 3)):
        # A call (E8, FF /2 or FF /3) changes rax. We assume that it preserves all other registers, because hand-written
        # code relies on what it knows of its callees.
        registers[RESULT] = None
    elif opcode in (0x68, 0x6A, 0x9C, 0xE8) or (opcode == 0xFF and instruction.register == 6):
        # push of a constant, of flags or of memory; or a call of the next instruction, which only pushes its address
        state.push(None)
    elif opcode in range(0x50, 0x58):
        state.push(registers[instruction.register])
    elif opcode in range(0x58, 0x60):
        registers[instruction.register] = state.pop()
    elif opcode in (0x8F, 0x9D):  # pop to memory or to flags
        state.pop()
    elif opcode == 0xC9:  # leave
        registers[STACK] = registers[FRAME]
        registers[FRAME] = state.pop()
    elif opcode in (0x60, 0x61, 0xC8):  # pusha, popa, enter
        registers[STACK] = None
    elif opcode in (0x89, 0x8B, 0x8D):
        _move(instruction, state)
    else:
        _compute(instruction, state)
    if instruction.has_prefix_66 and 0x50 <= opcode < 0x60:  # push and pop of 16 bits
        registers[STACK] = None


def _move(instruction: X86Instruction, state: PathState) -> None:
    registers = state.registers
    address = state.address(instruction.operand, instruction.displacement) if instruction.is_memory else None
    if instruction.opcode == 0x8D:  # lea
        registers[instruction.register] = address
    elif instruction.opcode == 0x8B:  # mov from a register or memory
        source = state.load(address) if instruction.is_memory else registers[instruction.operand]
        registers[instruction.register] = source
    elif instruction.is_memory:
        state.store(address, registers[instruction.register])
    else:
        registers[instruction.operand] = registers[instruction.register]


def _compute(instruction: X86Instruction, state: PathState) -> None:
    """Add a constant, align the stack pointer, or make a register unknown."""
    opcode, registers = instruction.opcode, state.registers
    if opcode in (0x80, 0x81, 0x83) and instruction.register == _COMPARE:
        return
    if opcode in (0x81, 0x83) and not instruction.is_memory and instruction.register in (0, _AND, 5):
        distance = -instruction.immediate if instruction.register else instruction.immediate
        registers[instruction.operand] = (
            ("aligned", 0) if instruction.register == _AND else state.address(instruction.operand, distance)
        )
        return
    # The reg field of F6, F7, FE and FF selects the operation; 4 and above (mul, div, jmp, push) do not write the
    # operand.
    writes_operand = opcode in _WRITES_OPERAND or (opcode in (0xF6, 0xF7, 0xFE, 0xFF) and instruction.register < 4)
    written_registers = [instruction.register] if opcode in _WRITES_REGISTER else []
    written_registers += [instruction.operand] if writes_operand and not instruction.is_memory else []
    if opcode in (0xF6, 0xF7) and not writes_operand:  # mul, div
        registers[RESULT] = registers[2] = None
    for register, implied in enumerate(_IMPLIED_TARGETS):
        if opcode in implied:
            registers[register] = None
    for register in written_registers:
        if opcode not in _WRITES_BYTE or register not in range(4, 8):
            registers[register] = None
