"""Follows paths through x86 code with symbolic values, tracking only the stack pointer and saved registers."""

from collections.abc import Iterator
from typing import NamedTuple

from perf2x.base.binaries.elf.x86_code import X86Code
from perf2x.base.binaries.elf.x86_instructions import FIXED, X86Instruction, opcodes

_MOST_INSTRUCTIONS = 4096
"""The maximum number of instructions to follow for one address."""
RESULT, STACK, FRAME = 0, 4, 5
"""Numbers, in machine code, of the registers for results (rax), the stack pointer (rsp) and the frame pointer (rbp)."""
_CONDITIONAL = opcodes("70-7f e0-e3 180-18f")
_DEAD_ENDS = opcodes("ca cb cc cf ea f4 10b")
"""Opcodes at which a path ends without result: far returns and jumps, int3, iret, hlt, ud2."""
_WRITES_OPERAND = opcodes(
    "00 01 08 09 10 11 18 19 20 21 28 29 30 31 80-83 86-88 c0 c1 c6 c7 d0-d3 190-19f 1a4 1a5 1ab-1ad 1b0 1b1 1b3 1bb "
    "1c0 1c1"
)
_WRITES_REGISTER = opcodes(
    "02 03 0a 0b 12 13 1a 1b 22 23 2a 2b 32 33 40-4f 63 69 6b 86 87 8a 90-97 b0-bf 140-14f 1af 1b6-1b8 1bc-1bf 1c8-1cf"
)
_BYTES = opcodes("80 82 86 88 8a b0-b7 c0 c6 d0 d2 f6 fe 190-19f 1b0 1c0").union(range(0, 0x38, 2))
"""The opcodes of both sets that write a byte; for them, registers 4 to 7 may be ah, ch, dh and bh."""
_AND, _COMPARE = 4, 7
"""Operations of opcodes 80 to 83, as ModR/M encodes them."""

Place = tuple[object, int]
"""A symbolic address: (base, bytes after it). The base is the initial value of a register (given as the register's
number), the initial word at another Place, or ``"aligned"`` for a stack pointer that was aligned.
"""
Value = Place | None
"""A symbolic value; None if it is unknown."""


class PathState(NamedTuple):
    """Registers and memory at a point of a path, in terms of their values at its beginning; changed in place."""

    registers: list[Value]
    memory: dict[Place, Value]
    word: int
    """Bytes of an address."""

    def copy(self) -> "PathState":
        """Copy the state, to follow a branch in both directions."""
        return PathState(self.registers.copy(), self.memory.copy(), self.word)

    def address(self, base: int, distance: int) -> Value:
        """Return the value of register ``base`` plus ``distance`` bytes; unknown if ``base`` is FIXED or INDEXED."""
        value = self.registers[base] if base >= 0 else None
        return None if value is None else (value[0], value[1] + distance)

    def load(self, place: Value) -> Value:
        """Return the word at a place."""
        return None if place is None else self.memory.get(place, (place, 0))

    def store(self, place: Value, value: Value) -> None:
        """Store a word at a place."""
        if place is not None:
            self.memory[place] = value

    def push(self, value: Value) -> None:
        """Push a word."""
        self.registers[STACK] = self.address(STACK, -self.word)
        self.store(self.registers[STACK], value)

    def pop(self) -> Value:
        """Pop a word."""
        value = self.load(self.registers[STACK])
        self.registers[STACK] = self.address(STACK, self.word)
        return value


class Ended(NamedTuple):
    """The end of a path: the function returns, or the path reaches the address ``until`` of `path_ends`."""

    state: PathState
    popped: int
    """Bytes that ``ret`` pops, the return address included; 0 if the path ends elsewhere."""

    @property
    def frame(self) -> Value:
        """The stack pointer after ``ret``.

        It is None if ``ret`` pops a word that this path has stored, as in V8's builtins: that is not the caller's
        address.
        """
        top = self.state.address(STACK, 0)
        return self.state.address(STACK, self.popped) if self.state.load(top) == (top, 0) else None


def path_ends(code: X86Code, begin: int, within: tuple[int, int], until: int = -1) -> Iterator[Ended]:
    """Follow all paths from ``begin``, in the function with the extent ``within``, and yield their ends.

    Each instruction is followed once. A path has an end at ``until``, where the function returns, and at a tail call
    through memory at a fixed address. Paths that stop for another reason yield nothing.
    """
    word = 8 if code.is_64 else 4
    paths = [(begin, PathState([(number, 0) for number in range(16)], {}, word), within)]
    seen: set[int] = set()
    while paths:
        at, state, span = paths.pop()
        while at not in seen and len(seen) < _MOST_INSTRUCTIONS:
            seen.add(at)
            if at == until:
                yield Ended(state, 0)
                break
            instruction = code.instruction(at) if span[0] <= at < span[1] else None
            if instruction is None or instruction.opcode in _DEAD_ENDS:
                break
            if instruction.opcode in (0xC2, 0xC3) or (
                _is_jump(instruction) and instruction.is_memory and instruction.operand == FIXED
            ):
                yield Ended(state, word + (instruction.number & 0xFFFF if instruction.opcode == 0xC2 else 0))
                break
            if _is_jump(instruction):
                break
            at += instruction.size
            if instruction.opcode in (0xE9, 0xEB):
                at += instruction.number
                span = span if span[0] <= at < span[1] else code.function(at)
            elif instruction.opcode in _CONDITIONAL:
                target = at + instruction.number
                paths.append((target, state.copy(), span if span[0] <= target < span[1] else code.function(target)))
            else:
                _run(instruction, state)


def exits(code: X86Code, svma: int) -> bool:
    """Return whether a system call follows within eight instructions, as where a thread's function returns to."""
    for _ in range(8):
        instruction = code.instruction(svma)
        if instruction is None or instruction.opcode in (0x105, 0xCD):
            return instruction is not None
        svma += instruction.size
    return False


def _is_jump(instruction: X86Instruction) -> bool:
    """Return whether an instruction jumps to an address in a register or in memory."""
    return instruction.opcode == 0xFF and instruction.register in (4, 5)


def _run(instruction: X86Instruction, state: PathState) -> None:
    """Apply an instruction to a path.

    Instructions that neither move the stack pointer nor write whole registers change nothing.
    """
    opcode, registers = instruction.opcode, state.registers
    if (opcode == 0xE8 and instruction.number) or (opcode == 0xFF and instruction.register in (2, 3)):
        registers[RESULT] = (
            None  # other registers are taken to be kept: hand-written code knows which ones its callees keep
        )
    elif opcode in (0x68, 0x6A, 0x9C, 0xE8) or (opcode == 0xFF and instruction.register == 6):
        state.push(None)
    elif opcode in range(0x50, 0x58):
        state.push(registers[instruction.register])
    elif opcode in range(0x58, 0x60):
        registers[instruction.register] = state.pop()
    elif opcode in (0x8F, 0x9D):
        state.pop()
    elif opcode == 0xC9:
        registers[STACK] = registers[FRAME]
        registers[FRAME] = state.pop()
    elif opcode in (0x60, 0x61, 0xC8):
        registers[STACK] = None
    elif opcode in (0x89, 0x8B, 0x8D):
        _move(instruction, state)
    else:
        _compute(instruction, state)
    if instruction.is_narrow and 0x50 <= opcode < 0x60:
        registers[STACK] = None


def _move(instruction: X86Instruction, state: PathState) -> None:
    """Apply mov or lea to a path."""
    registers = state.registers
    place = state.address(instruction.operand, instruction.displacement) if instruction.is_memory else None
    if instruction.opcode == 0x8D:
        registers[instruction.register] = place
    elif instruction.opcode == 0x8B:
        registers[instruction.register] = state.load(place) if instruction.is_memory else registers[instruction.operand]
    elif instruction.is_memory:
        state.store(place, registers[instruction.register])
    else:
        registers[instruction.operand] = registers[instruction.register]


def _compute(instruction: X86Instruction, state: PathState) -> None:
    """Apply arithmetic to a path: add a constant, or make a register unknown."""
    opcode, registers = instruction.opcode, state.registers
    if opcode in (0x80, 0x81, 0x83) and instruction.register == _COMPARE:
        return
    if opcode in (0x81, 0x83) and not instruction.is_memory and instruction.register == _AND:
        registers[instruction.operand] = ("aligned", 0)
        return
    if opcode in (0x81, 0x83) and not instruction.is_memory and instruction.register in (0, 5):
        registers[instruction.operand] = state.address(
            instruction.operand, -instruction.number if instruction.register else instruction.number
        )
        return
    writes = opcode in _WRITES_OPERAND or (opcode in (0xF6, 0xF7, 0xFE, 0xFF) and instruction.register < 4)
    written = [instruction.register] if opcode in _WRITES_REGISTER else []
    written += [instruction.operand] if writes and not instruction.is_memory else []
    for register in written:
        if opcode not in _BYTES or register not in range(4, 8):
            registers[register] = None
