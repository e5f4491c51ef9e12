"""Rules for finding the caller's registers, numbered and stored as columns.

A rule applies to a range of code: "CFA = rsp + 16, rbp at CFA − 16, return address at CFA − 8". A program has thousands
of functions but only a few hundred distinct rules. So equal rules get one number, and an unwind step looks up the rules
of many samples at once by these numbers.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from perf2x.base.binaries.cfi.dwarf_expressions import Expression
from perf2x.base.columnar import I64, U8, U64, Bools, Frozen, GrowableColumns, as_int64, zeros

NO_RULE = -1
"""Rule number of an address that no unwind information covers."""
CFA_BY_EXPRESSION = -1
"""Value of ``cfa_register`` that makes ``cfa_value`` the number of an expression."""


class RuleKind(IntEnum):
    """The place of the caller's value of a register; ``value`` is that of RegisterRule. DWARF 5, section 6.4.1."""

    SAME = 0
    """Still in the register; also for registers that a rule does not mention, as in libdw and libunwind."""
    UNDEFINED = 1
    OFFSET = 2
    """In memory at CFA + ``value``."""
    VAL_OFFSET = 3
    """It is CFA + ``value``."""
    REGISTER = 4
    """In register number ``value``."""
    EXPRESSION = 5
    """In memory at the result of expression number ``value``."""
    VAL_EXPRESSION = 6
    """It is the result of expression number ``value``."""


class RegisterRule(NamedTuple):
    """The kind and the value of the rule for one register."""

    kind: RuleKind
    value: int


class Rule(NamedTuple):
    """The rules of all registers at one address; registers that it does not mention are ``SAME``. Hashable."""

    cfa_register: int
    cfa_value: int
    return_register: int
    is_signal_frame: bool
    registers: tuple[tuple[int, RegisterRule], ...]


class RuleColumns(Frozen):
    """All ``n`` rules, by number, for ``r`` registers."""

    cfa_register: I64
    cfa_value: U64
    return_register: I64
    is_signal_frame: Bools
    kind: U8
    """(r, n) RuleKind of each register in each rule."""
    value: U64
    """(r, n) the value of each of these register rules; offsets are in two's complement."""


class RuleTable:
    """All distinct rules and expressions so far, for ``register_count`` registers."""

    def __init__(self, register_count: int) -> None:
        self.register_count = register_count
        self.needed = 0
        """Bit r is set if any rule or expression reads register r; other registers need not be restored."""
        self.rules: list[Rule] = []
        self.expressions: list[Expression] = []
        self._numbers: dict[Rule, int] = {}
        self._expression_numbers: dict[Expression, int] = {}
        self._fixed, self._signal = GrowableColumns(np.int64, 3), GrowableColumns(np.bool_)
        self._kind, self._value = (GrowableColumns(dtype, register_count) for dtype in (np.uint8, np.int64))
        self._columns: RuleColumns | None = None

    def number(self, rule: Rule) -> int:
        """Return the number of a rule; equal rules have the same number."""
        found = self._numbers.get(rule)
        if found is None:
            found = self._numbers[rule] = len(self.rules)
            self.rules.append(rule)
            self.needed |= _registers_read_by(rule)
        return found

    def expression_number(self, expression: Expression) -> int:
        """Return the number of an expression; equal expressions have the same number."""
        found = self._expression_numbers.get(expression)
        if found is None:
            found = self._expression_numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
            for step in expression:
                self.needed |= 1 << step.register if 0 <= step.register < self.register_count else 0
        return found

    def columns(self) -> RuleColumns:
        """Return all rules so far as columns; later batches of samples may add rules."""
        new = self.rules[len(self._signal) :]
        if new or self._columns is None:
            self._add(new)
            cfa_register, cfa_value, return_register = self._fixed.columns()
            self._columns = RuleColumns(
                cfa_register, cfa_value.view(np.uint64), return_register, self._signal[0],
                self._kind.whole(), self._value.whole().view(np.uint64),
            )  # fmt: skip
        return self._columns

    def _add(self, rules: list[Rule]) -> None:
        kind = np.zeros((self.register_count, len(rules)), np.uint8)
        value = zeros(kind.shape)
        for number, rule in enumerate(rules):
            for register, (how, amount) in rule.registers:
                kind[register, number] = how
                value[register, number] = amount
        fixed = [(rule.cfa_register, rule.cfa_value, rule.return_register) for rule in rules]
        self._fixed.extend(*as_int64(fixed).reshape(-1, 3).T)
        self._signal.extend(np.array([rule.is_signal_frame for rule in rules], np.bool_))
        self._kind.extend(*kind)
        self._value.extend(*value)


def _registers_read_by(rule: Rule) -> int:
    """Return the registers that a rule reads, including the return address's, as bits."""
    needed = 1 << rule.return_register
    if rule.cfa_register != CFA_BY_EXPRESSION:
        needed |= 1 << rule.cfa_register
    for _, (kind, value) in rule.registers:
        if kind is RuleKind.REGISTER and 0 <= value < 64:
            needed |= 1 << value
    return needed
