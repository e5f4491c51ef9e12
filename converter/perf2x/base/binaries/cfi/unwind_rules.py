"""Rules for finding the caller's registers, numbered and stored as columns.

A rule applies to a range of code, for example "CFA = rsp + 16, rbp at CFA − 16, return address at CFA − 8". The
canonical frame address, CFA, is the value of the stack pointer before the call. A program has thousands of functions
but only a few hundred distinct rules. Registers have DWARF's numbers.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from perf2x.base.binaries.cfi.dwarf_expressions import Expression
from perf2x.base.columnar import I64, U8, U64, Bools, Frozen, GrowableColumns, as_int64, zeros

NO_RULE = -1
# If ``cfa_register`` has this value, ``cfa_value`` is the number of an expression.
CFA_BY_EXPRESSION = -1


class RuleKind(IntEnum):
    """Ways to find the caller's value of a register (DWARF 5, section 6.4.1); ``value`` is `RegisterRule.value`."""

    SAME = 0
    """Still in the register; as in libdw and libunwind, also the kind of registers that a rule does not mention."""
    UNDEFINED = 1
    """Nowhere: the function does not preserve it."""
    OFFSET = 2
    """In memory at CFA + ``value``."""
    VAL_OFFSET = 3
    """CFA + ``value`` itself."""
    REGISTER = 4
    """In register number ``value``."""
    EXPRESSION = 5
    """In memory at the result of expression number ``value``."""
    VAL_EXPRESSION = 6
    """The result of expression number ``value``."""


class RegisterRule(NamedTuple):
    """The rule for one register."""

    kind: RuleKind
    value: int


class Rule(NamedTuple):
    """The rules of all registers at one address; registers that are not mentioned are ``SAME``."""

    cfa_register: int
    """The register that the CFA is computed from, or CFA_BY_EXPRESSION."""
    cfa_value: int
    """Bytes to add to that register; with CFA_BY_EXPRESSION, the number of an expression."""
    return_register: int
    """The register whose rule gives the return address."""
    is_signal_frame: bool
    """A signal interrupted the caller, so the return address is the next instruction to run."""
    registers: tuple[tuple[int, RegisterRule], ...]
    """By ascending register."""


class RuleColumns(Frozen):
    """The fields of all ``n`` rules, by number, for ``r`` registers; shapes are (n,) unless stated."""

    cfa_register: I64
    cfa_value: U64
    return_register: I64
    is_signal_frame: Bools
    kind: U8
    """(r, n) `RuleKind`."""
    value: U64
    """(r, n) ``RegisterRule.value``; offsets are in two's complement."""


class RuleTable:
    """All distinct rules and expressions so far, for ``register_count`` registers.

    Their numbers are indexes into ``rules`` and into ``expressions``.
    """

    def __init__(self, register_count: int) -> None:
        self.register_count = register_count
        # bit r is set if a rule or expression reads register r; the others need not be restored
        self.registers_read = 0
        self.rules: list[Rule] = []
        self.expressions: list[Expression] = []
        self._rule_numbers: dict[Rule, int] = {}
        self._expression_numbers: dict[Expression, int] = {}
        self._cfa_and_return, self._is_signal = GrowableColumns(np.int64, 3), GrowableColumns(np.bool_)
        self._kind, self._value = (GrowableColumns(dtype, register_count) for dtype in (np.uint8, np.int64))
        self._columns: RuleColumns | None = None

    def number(self, rule: Rule) -> int:
        """Return the number of a rule; a new rule is added."""
        number = self._rule_numbers.get(rule)
        if number is None:
            number = self._rule_numbers[rule] = len(self.rules)
            self.rules.append(rule)
            self.registers_read |= _registers_read_by(rule)
        return number

    def expression_number(self, expression: Expression) -> int:
        """Return the number of an expression; a new expression is added."""
        number = self._expression_numbers.get(expression)
        if number is None:
            number = self._expression_numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
            for operation in expression:
                self.registers_read |= 1 << operation.register if 0 <= operation.register < self.register_count else 0
        return number

    def columns(self) -> RuleColumns:
        """Return all rules so far as columns; call it again after rules were added."""
        new_rules = self.rules[len(self._is_signal) :]
        if new_rules or self._columns is None:
            self._append_to_columns(new_rules)
            cfa_register, cfa_value, return_register = self._cfa_and_return.columns()
            self._columns = RuleColumns(
                cfa_register, cfa_value.view(np.uint64), return_register, self._is_signal[0],
                self._kind.matrix(), self._value.matrix().view(np.uint64),
            )  # fmt: skip
        return self._columns

    def _append_to_columns(self, rules: list[Rule]) -> None:
        kinds = np.zeros((self.register_count, len(rules)), np.uint8)  # RuleKind.SAME
        values = zeros(kinds.shape)
        for index, rule in enumerate(rules):
            for register, (kind, value) in rule.registers:
                kinds[register, index] = kind
                values[register, index] = value
        cfa_and_return = [(rule.cfa_register, rule.cfa_value, rule.return_register) for rule in rules]
        self._cfa_and_return.extend(*as_int64(cfa_and_return).reshape(-1, 3).T)
        self._is_signal.extend(np.array([rule.is_signal_frame for rule in rules], np.bool_))
        self._kind.extend(*kinds)
        self._value.extend(*values)


def _registers_read_by(rule: Rule) -> int:
    """Return a bit mask of the registers that a rule reads, apart from those in its expressions."""
    registers = 1 << rule.return_register
    if rule.cfa_register != CFA_BY_EXPRESSION:
        registers |= 1 << rule.cfa_register
    for _, (kind, value) in rule.registers:
        if kind is RuleKind.REGISTER and 0 <= value < 64:
            registers |= 1 << value
    return registers
