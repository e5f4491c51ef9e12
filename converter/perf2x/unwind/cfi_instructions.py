"""Runs the instructions of call frame information and returns the rule rows of one function.

Source: DWARF 5, section 6.4.2; binutils readelf for the vendor extensions. A row is an address and the rule from there
on; only registers of the architecture are kept. Every instruction takes at least a byte and makes at most one row, so
the length of the entry bounds time and memory (a remembered state is shared, not copied).
"""

from collections.abc import Callable

from msgspec import Struct, field

from perf2x.abi.callframe import CallFrame
from perf2x.tables.errors import ObjectError
from perf2x.unwind.cfi_cursor import MASK, CfiCursor, to_signed
from perf2x.unwind.cfi_entries import Fde, FrameSection
from perf2x.unwind.cfi_rules import CFA_BY_EXPRESSION, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.unwind.expressions import parse_expression

Registers = dict[int, RegisterRule]


class RuleRow(Struct):
    """The rule in force from ``start`` (svma) up to the next row."""

    start: int
    rule: int


class CfiProgram(Struct):
    """The state of one run; ``cfa`` is (register, offset) or (CFA_BY_EXPRESSION, number)."""

    table: RuleTable
    fde: Fde
    location: int
    cfa: tuple[int, int] | None = None
    registers: Registers = field(default_factory=dict)
    initial: Registers = field(default_factory=dict)
    remembered: list[tuple[tuple[int, int] | None, Registers]] = field(default_factory=list)
    rows: list[RuleRow] = field(default_factory=list)
    _sorted_from: Registers | None = None
    """The dictionary that ``_sorted`` was made from; a change of rules makes a new dictionary."""
    _sorted: tuple[tuple[int, RegisterRule], ...] = ()

    def run(self, at: CfiCursor) -> None:
        """Execute instructions up to the end of ``at``."""
        while at.position < at.end:
            code = at.u8()
            high = code & 0xC0
            if high:
                self._packed(CallFrame(high), code & 0x3F, at)
                continue
            handler = HANDLERS.get(code)
            if handler is None:
                raise ObjectError(f"call frame information: unknown instruction {code:#x}")
            handler(self, at)

    def _packed(self, code: CallFrame, operand: int, at: CfiCursor) -> None:
        if code is CallFrame.ADVANCE_LOC:
            self.advance(operand)
        elif code is CallFrame.OFFSET:
            self.set(operand, RuleKind.OFFSET, at.uleb() * self.fde.cie.data_alignment)
        else:
            self.restore(operand)

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

    def cfa_offset(self, offset: int) -> None:
        """Set another offset to the current register."""
        self.define_cfa(self._cfa_register(), offset)

    def cfa_register(self, register: int) -> None:
        """Set another register with the current offset."""
        self._cfa_register()
        self.define_cfa(register, self.cfa[1] if self.cfa else 0)

    def _cfa_register(self) -> int:
        if self.cfa is None or self.cfa[0] == CFA_BY_EXPRESSION:
            raise ObjectError("call frame information: the CFA is changed before it is a register and an offset")
        return self.cfa[0]

    def expression(self, at: CfiCursor) -> int:
        """Parse the expression at ``at`` and return its number."""
        parsed = parse_expression(at.block(), self.fde.cie.address_size, at.byte_order)
        return self.table.expression_number(parsed)

    def advance(self, delta: int) -> None:
        """End the current row; the next begins ``delta`` code units later."""
        self.move((self.location + delta * self.fde.cie.code_alignment) & MASK)

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
            self.rows.append(RuleRow(self.location, self.table.number(rule)))

    def remember(self) -> None:
        """Push the current rules."""
        self.remembered.append((self.cfa, self.registers))

    def recall(self) -> None:
        """Pop the rules, the CFA among them (as in GCC and binutils)."""
        if not self.remembered:
            raise ObjectError("call frame information: a state is restored that was never remembered")
        self.cfa, self.registers = self.remembered.pop()


def _scaled(program: CfiProgram, value: int) -> int:
    return value * program.fde.cie.data_alignment


def _set_loc(program: CfiProgram, at: CfiCursor) -> None:
    location = at.pointer(program.fde.cie.pointer_encoding)
    if location is None:
        raise ObjectError("call frame information: DW_CFA_set_loc without an address")
    program.move(location)


def _def_cfa_expression(program: CfiProgram, at: CfiCursor) -> None:
    program.cfa = (CFA_BY_EXPRESSION, program.expression(at))


def _ignore(_: int) -> None:
    """Ignore an operand that no rule depends on."""


Handler = Callable[[CfiProgram, CfiCursor], None]
HANDLERS: dict[int, Handler] = {
    CallFrame.NOP: lambda _, at: None,
    CallFrame.SET_LOC: _set_loc,
    CallFrame.ADVANCE_LOC1: lambda p, at: p.advance(at.u8()),
    CallFrame.ADVANCE_LOC2: lambda p, at: p.advance(at.fixed("H")),
    CallFrame.ADVANCE_LOC4: lambda p, at: p.advance(at.fixed("I")),
    CallFrame.MIPS_ADVANCE_LOC8: lambda p, at: p.advance(at.fixed("Q")),
    CallFrame.OFFSET_EXTENDED: lambda p, at: p.set(at.uleb(), RuleKind.OFFSET, _scaled(p, at.uleb())),
    CallFrame.OFFSET_EXTENDED_SF: lambda p, at: p.set(at.uleb(), RuleKind.OFFSET, _scaled(p, at.sleb())),
    CallFrame.GNU_NEGATIVE_OFFSET_EXTENDED: lambda p, at: p.set(at.uleb(), RuleKind.OFFSET, -_scaled(p, at.uleb())),
    CallFrame.VAL_OFFSET: lambda p, at: p.set(at.uleb(), RuleKind.VAL_OFFSET, _scaled(p, at.uleb())),
    CallFrame.VAL_OFFSET_SF: lambda p, at: p.set(at.uleb(), RuleKind.VAL_OFFSET, _scaled(p, at.sleb())),
    CallFrame.REGISTER: lambda p, at: p.set(at.uleb(), RuleKind.REGISTER, at.uleb()),
    CallFrame.UNDEFINED: lambda p, at: p.set(at.uleb(), RuleKind.UNDEFINED),
    CallFrame.SAME_VALUE: lambda p, at: p.set(at.uleb(), RuleKind.SAME),
    CallFrame.RESTORE_EXTENDED: lambda p, at: p.restore(at.uleb()),
    CallFrame.EXPRESSION: lambda p, at: p.set(at.uleb(), RuleKind.EXPRESSION, p.expression(at)),
    CallFrame.VAL_EXPRESSION: lambda p, at: p.set(at.uleb(), RuleKind.VAL_EXPRESSION, p.expression(at)),
    CallFrame.REMEMBER_STATE: lambda p, _: p.remember(),
    CallFrame.RESTORE_STATE: lambda p, _: p.recall(),
    CallFrame.DEF_CFA: lambda p, at: p.define_cfa(at.uleb(), at.uleb()),
    CallFrame.DEF_CFA_SF: lambda p, at: p.define_cfa(at.uleb(), _scaled(p, at.sleb())),
    CallFrame.DEF_CFA_REGISTER: lambda p, at: p.cfa_register(at.uleb()),
    CallFrame.DEF_CFA_OFFSET: lambda p, at: p.cfa_offset(at.uleb()),
    CallFrame.DEF_CFA_OFFSET_SF: lambda p, at: p.cfa_offset(_scaled(p, at.sleb())),
    CallFrame.DEF_CFA_EXPRESSION: _def_cfa_expression,
    CallFrame.GNU_ARGS_SIZE: lambda _, at: _ignore(at.uleb()),
    CallFrame.AARCH64_NEGATE_RA_STATE: lambda _, at: None,
    CallFrame.AARCH64_NEGATE_RA_STATE_WITH_PC: lambda _, at: None,
}
"""Ignores whether return addresses are signed (aarch64): the signature bits are removed from all of them."""


def rule_rows(section: FrameSection, fde: Fde, table: RuleTable) -> list[RuleRow]:
    """Rows of one function by rising address, the first at its start; ``table`` interns the rules.

    Raises ObjectError if the entry is damaged.
    """
    if fde.cie.return_register >= table.register_count:
        raise ObjectError(f"call frame information: return address in register {fde.cie.return_register}")
    program = CfiProgram(table, fde, fde.start)
    program.run(_cursor(section, fde, fde.cie.instructions))
    program.initial = program.registers
    program.run(_cursor(section, fde, fde.instructions))
    program.flush()
    return program.rows


def _cursor(section: FrameSection, fde: Fde, span: tuple[int, int]) -> CfiCursor:
    at = section.cursor(*span)
    at.address_size = fde.cie.address_size
    return at
