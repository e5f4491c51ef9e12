"""Runs the instructions of call frame information and returns the rule rows of one function.

`opcodes` lists the instructions. A row is an address and the rule from there on; only registers of the
architecture are kept. Every instruction takes at least a byte and makes at most one row, so the length of the entry
bounds time and memory (a remembered state is shared, not copied).
"""

from msgspec import Struct, field

from perf2x.base.binaries.cfi.byte_cursor import MASK, CfiCursor, to_signed
from perf2x.base.binaries.cfi.dwarf_expressions import parse_expression
from perf2x.base.binaries.cfi.frame_entries import Fde, FrameSection
from perf2x.base.binaries.cfi.opcodes import OPCODES, PACKED, Effect, Opcode
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.errors import ObjectError

_Registers = dict[int, RegisterRule]
RuleRow = tuple[int, int]
"""The svma that a rule begins at, and its number; it is in force up to the next row."""


class _CfiProgram(Struct):
    """The state of one run; ``cfa`` is (register, offset) or (CFA_BY_EXPRESSION, number)."""

    table: RuleTable
    fde: Fde
    location: int
    cfa: tuple[int, int] | None = None
    registers: _Registers = field(default_factory=dict)
    initial: _Registers = field(default_factory=dict)
    remembered: list[tuple[tuple[int, int] | None, _Registers]] = field(default_factory=list)
    rows: list[RuleRow] = field(default_factory=list)
    _sorted_from: _Registers | None = None
    """The dictionary that ``_sorted`` was made from; a change of rules makes a new dictionary."""
    _sorted: tuple[tuple[int, RegisterRule], ...] = ()

    def run(self, at: CfiCursor) -> None:
        """Execute instructions up to the end of ``at``."""
        while at.position < at.end:
            byte = at.u8()
            opcode = OPCODES.get(byte & PACKED or byte)
            if opcode is None:
                raise ObjectError(f"call frame information: unknown instruction {byte:#x}")
            operands = [self._operand(kind, byte, at) for kind in opcode.operands]
            if opcode.factor:
                operands[-1] *= opcode.factor * self.fde.cie.data_alignment
            self._execute(opcode, *operands)

    def _operand(self, kind: str, byte: int, at: CfiCursor) -> int:
        match kind:
            case "6":
                return byte & ~PACKED
            case "e":
                parsed = parse_expression(at.block(), self.fde.cie.address_size, at.byte_order)
                return self.table.expression_number(parsed)
            case "p":
                address = at.pointer(self.fde.cie.pointer_encoding)
                if address is None:
                    raise ObjectError("call frame information: DW_CFA_set_loc without an address")
                return address
        return at.operand(kind)

    def _execute(self, opcode: Opcode, first: int = 0, second: int = 0) -> None:
        match opcode.effect:
            case Effect.ADVANCE:
                self.move((self.location + first * self.fde.cie.code_alignment) & MASK)
            case Effect.MOVE:
                self.move(first)
            case Effect.SET:
                self.set(first, opcode.rule, second)
            case Effect.RESTORE:
                self.restore(first)
            case Effect.REMEMBER:
                self.remembered.append((self.cfa, self.registers))
            case Effect.RECALL:
                self.recall()
            case Effect.CFA:
                self.define_cfa(first, second)
            case Effect.CFA_REGISTER:
                self.define_cfa(first, self._simple_cfa()[1])
            case Effect.CFA_OFFSET:
                self.define_cfa(self._simple_cfa()[0], first)
            case Effect.CFA_EXPRESSION:
                self.cfa = (CFA_BY_EXPRESSION, first)

    def set(self, register: int, kind: RuleKind, value: int = 0) -> None:
        """Set a register's rule from here on; registers that are not tracked (vector registers, say) are ignored."""
        if register < self.table.register_count:
            self.registers = {**self.registers, register: RegisterRule(kind, to_signed(value))}

    def restore(self, register: int) -> None:
        """Restore the rule that the CIE gave a register."""
        kept = {key: rule for key, rule in self.registers.items() if key != register}
        if register in self.initial:
            kept[register] = self.initial[register]
        self.registers = kept

    def define_cfa(self, register: int, offset: int) -> None:
        """Set CFA = register + offset."""
        if register >= self.table.register_count:
            raise ObjectError(f"call frame information: CFA in register {register}")
        self.cfa = (register, to_signed(offset))

    def _simple_cfa(self) -> tuple[int, int]:
        if self.cfa is None or self.cfa[0] == CFA_BY_EXPRESSION:
            raise ObjectError("call frame information: the CFA is changed before it is a register and an offset")
        return self.cfa

    def move(self, location: int) -> None:
        """End the current row; the next begins at ``location``."""
        if location > self.location:
            self.flush()
        self.location = location

    def flush(self) -> None:
        """Write the current row."""
        if self.cfa is not None:
            cie = self.fde.cie
            if self._sorted_from is not self.registers:
                self._sorted_from = self.registers
                self._sorted = tuple(
                    sorted(item for item in self.registers.items() if item[1].kind is not RuleKind.SAME)
                )
            rule = Rule(*self.cfa, cie.return_register, cie.is_signal_frame, self._sorted)
            self.rows.append((self.location, self.table.number(rule)))

    def recall(self) -> None:
        """Pop the rules, the CFA among them (as in GCC and binutils)."""
        if not self.remembered:
            raise ObjectError("call frame information: a state is restored that was never remembered")
        self.cfa, self.registers = self.remembered.pop()


def rule_rows(section: FrameSection, fde: Fde, table: RuleTable) -> list[RuleRow]:
    """Rows of one function by rising address, the first at its start; ``table`` interns the rules.

    Raises ObjectError if the entry is damaged.
    """
    if fde.cie.return_register >= table.register_count:
        raise ObjectError(f"call frame information: return address in register {fde.cie.return_register}")
    program = _CfiProgram(table, fde, fde.start)
    program.run(_cursor(section, fde, fde.cie.instructions))
    program.initial = program.registers
    program.run(_cursor(section, fde, fde.instructions))
    program.flush()
    return program.rows


def _cursor(section: FrameSection, fde: Fde, span: tuple[int, int]) -> CfiCursor:
    at = section.cursor(*span)
    at.address_size = fde.cie.address_size
    return at
