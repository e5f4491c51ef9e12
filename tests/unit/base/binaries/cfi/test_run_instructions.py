"""Programs run in strides have the rows that running them plainly gives: of forged and of real programs."""

import struct
import time
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.cfi import run_instructions
from perf2x.base.binaries.cfi.byte_cursor import MAX_U64, to_signed
from perf2x.base.binaries.cfi.dwarf_expressions import parse_expression
from perf2x.base.binaries.cfi.frame_entries import FrameIndex, FrameSection
from perf2x.base.binaries.cfi.opcodes import OPCODES, Effect
from perf2x.base.binaries.cfi.run_instructions import CfiPrograms
from perf2x.base.binaries.cfi.section_rules import SectionRules, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, NO_RULE, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.errors import ObjectError
from tests.support.frame_writer import TEXT, Frame, FrameFile, advance, def_cfa, offset, sleb, uleb, undefined
from tests.unit.base.binaries.cfi.test_frame_entries import INITIAL, native_objects

REMEMBER, RESTORE = b"\x0a", b"\x0b"


class Plain:
    """Plain twin: one instruction after the other; expressions are kept by their steps."""

    def __init__(self, section, fde, registers) -> None:
        self.section, self.fde, self.count = section, fde, registers
        self.cfa, self.rules, self.initial, self.remembered, self.rows = None, {}, {}, [], []
        if fde.cie.return_register >= registers:
            raise ObjectError("return address")
        self.run(fde.cie.instructions)
        self.location, self.rows, self.remembered, self.initial = fde.start, [], [], self.rules
        self.run(fde.instructions)
        self.move(MAX_U64 + 1)

    def run(self, span) -> None:
        at = self.section.cursor(*span)
        at.address_size = self.fde.cie.address_size
        self.location = 0
        if span == self.fde.instructions:
            self.location = self.fde.start
        while at.position < at.end:
            self.step(at)

    def move(self, onward) -> None:
        if onward > self.location and self.cfa is not None:
            cie, saved = self.fde.cie, {key: rule for key, rule in self.rules.items() if rule.kind}
            rule = Rule(*self.cfa, cie.return_register, cie.is_signal_frame, tuple(sorted(saved.items())))
            self.rows.append((self.location, rule))
        self.location = onward

    def step(self, at) -> None:
        cie, byte = self.fde.cie, at.u8()
        wide = {2: "B", 3: "H", 4: "I", 0x1D: "Q"}
        if byte >> 6 == 1 or byte in wide:
            distance = byte & 63 if byte >> 6 else at.fixed(wide[byte])
            self.move((self.location + distance * cie.code_alignment) & MAX_U64)
        elif byte == 1:
            address = at.pointer(cie.pointer_encoding)
            if address is None:
                raise ObjectError("no address")
            self.move(address)
        elif byte == REMEMBER[0]:
            self.remembered.append((self.cfa, self.rules))
        elif byte == RESTORE[0]:
            if not self.remembered:
                raise ObjectError("nothing remembered")
            self.cfa, self.rules = self.remembered.pop()
        elif (opcode := OPCODES.get(byte & 0xC0 or byte)) is None:
            raise ObjectError("unknown")
        else:
            operands = [self.operand(kind, byte, at) for kind in opcode.operands]
            if opcode.factor:
                operands[-1] *= opcode.factor * cie.data_alignment
            self.change(opcode, *operands)

    def operand(self, kind, byte, at) -> object:
        if kind == "e":
            return parse_expression(at.block(), self.fde.cie.address_size, at.byte_order)
        return byte & 63 if kind == "6" else at.operand(kind)

    def change(self, opcode, first=0, second=0) -> None:
        if opcode.effect is Effect.SET and first < self.count:
            value = to_signed(second) if isinstance(second, int) else second
            self.rules = {**self.rules, first: RegisterRule(opcode.rule, value)}
        elif opcode.effect is Effect.RESTORE:
            kept = {key: rule for key, rule in self.rules.items() if key != first}
            self.rules = kept | ({first: self.initial[first]} if first in self.initial else {})
        elif opcode.effect is Effect.CFA_EXPRESSION:
            self.cfa = CFA_BY_EXPRESSION, first
        elif opcode.effect in (Effect.CFA, Effect.CFA_REGISTER, Effect.CFA_OFFSET):
            if opcode.effect is not Effect.CFA:
                if self.cfa is None or self.cfa[0] == CFA_BY_EXPRESSION:
                    raise ObjectError("no simple CFA")
                offset_only = opcode.effect is Effect.CFA_OFFSET
                first, second = (self.cfa[0], first) if offset_only else (first, self.cfa[1])
            if first >= self.count:
                raise ObjectError("CFA in a register")
            self.cfa = first, to_signed(second)


def plainly(section, offsets, registers) -> list[list | None]:
    """Rows with their rules of every function; None for a damaged one."""
    found = []
    for at in offsets:
        try:
            found.append(Plain(section, section.fde(at), registers).rows)
        except ObjectError:
            found.append(None)
    return found


def in_strides(section, offsets, registers) -> list[list | None]:
    table, found, programs = RuleTable(registers), [], {}

    def expanded(rule) -> Rule:
        """A rule with expressions in place of their numbers."""
        steps = table.expressions
        saved = tuple(
            (register, RegisterRule(how, steps[value] if how >= RuleKind.EXPRESSION else value))
            for register, (how, value) in rule.registers
        )
        by_steps = rule.cfa_register == CFA_BY_EXPRESSION
        return rule._replace(registers=saved, cfa_value=steps[rule.cfa_value] if by_steps else rule.cfa_value)

    for at in offsets:
        try:
            fde = section.fde(at)
            if fde.cie not in programs:
                programs[fde.cie] = CfiPrograms(section, fde.cie, table)
            rows = programs[fde.cie].rows(fde)
        except ObjectError:
            found.append(None)
        else:
            assert rows.end == fde.end
            rules = [expanded(table.rules[rule]) for rule in rows.rule_number]
            found.append(list(zip(rows.start, rules, strict=True)))
    return found


def assert_same(section, offsets, registers=17) -> list:
    expected = plainly(section, offsets, registers)
    assert in_strides(section, offsets, registers) == expected
    return expected


@pytest.fixture(params=[None, 16])
def at_once(request, monkeypatch) -> None:
    """Programs are taken apart at once, or in pieces that end within instructions."""
    if request.param is not None:
        monkeypatch.setattr(run_instructions, "_MATCH_SIZE", request.param)


def some_uleb(random) -> bytes:
    number = uleb(random.choice([0, 1, 2, 3, 8, 16, 200, random.getrandbits(random.randrange(1, 70))]))
    if random.random() < 0.03:
        return number[:-1] + bytes([number[-1] | 0x80]) + b"\x80" * random.randrange(12) + b"\0"
    return number


def some_sleb(random) -> bytes:
    return sleb(random.choice([-2, 1, 8, -64, 64, random.getrandbits(random.randrange(1, 64)) - 2**40]))


def some_register(random) -> bytes:
    return uleb(random.choice([3, 6, 7, 12, 16, 16, 17, 2**63]) if random.random() < 0.1 else random.randrange(3, 8))


def some_instruction(random) -> bytes:
    def plain(*operands) -> bytes:
        return b"".join(operand(random) for operand in operands)

    common = [
        lambda: bytes([0x40 | random.randrange(64)]),
        lambda: bytes([0x80 | random.randrange(3, 18)]) + plain(some_uleb),
        lambda: bytes([0xC0 | random.randrange(3, 18)]),
        lambda: b"\x02" + random.randbytes(1),
        lambda: b"\x03" + random.randbytes(2),
        lambda: b"\x0c" + plain(some_register, some_uleb),
        lambda: b"\x0d" + plain(some_register),
        lambda: b"\x0e" + plain(some_uleb),
        lambda: REMEMBER,
        lambda: REMEMBER,
        lambda: RESTORE,
    ]
    seldom = [
        lambda: b"\x04" + random.randbytes(4),
        *(lambda code=code: bytes([code]) + plain(some_register, some_uleb) for code in (0x05, 0x09, 0x14, 0x2F)),
        *(lambda code=code: bytes([code]) + plain(some_register, some_sleb) for code in (0x11, 0x12, 0x15)),
        *(lambda code=code: bytes([code]) + plain(some_register) for code in (0x06, 0x07, 0x08)),
        lambda: b"\x13" + plain(some_sleb),
        lambda: b"\x2e" + plain(some_uleb),
        lambda: random.choice([b"\0", b"\x2c", b"\x2d"]),
    ]
    strange = [
        lambda: b"\x01" + random.randbytes(8),
        lambda: b"\x1d" + random.randbytes(8),
        lambda: b"\x0f\x02\x77\x08",
        lambda: b"\x10\x03\x02\x77\x08",
        lambda: random.randbytes(1),
    ]
    kind = random.random()
    return random.choice(strange if kind < 0.01 else seldom if kind < 0.3 else common)()


def some_program(random) -> bytes:
    steps = [some_instruction(random) for _ in range(random.randrange(random.choice([1, 4, 40])))]
    opened = 0
    for place, step in enumerate(steps):  # most states that are restored have been remembered
        opened += (step == REMEMBER) - (step == RESTORE)
        if opened < 0 and random.random() < 0.95:
            steps[place], opened = REMEMBER, 1
    program = b"".join(steps)
    return program[: -random.randrange(1, 4)] if random.random() < 0.02 else program


def some_section(random, is_eh, functions) -> tuple[FrameSection, list[int]]:
    """A section of several CIEs and many FDEs, some of them damaged."""
    data, cies, offsets = b"", [], []
    for _ in range(functions):
        if not cies or random.random() < 0.08:
            encoding = random.choice([0x1B, 0x1B, 0x1B, 0, 0x10, 0x03, 0x04, 0x0C, 0x1C, 0x02, 0x01, 0xFF, 0x50])
            cies.append((len(data), encoding))
            data += entry(0 if is_eh else 2**32 - 1, some_cie(random, encoding))
        cie, encoding = random.choice(cies)
        offsets.append(len(data))
        back = len(data) + 4 - cie if is_eh else cie
        data += entry(back + (random.random() < 0.01), some_range(random, encoding) + some_program(random))
    if random.random() < 0.3:
        data = data[: -random.randrange(1, 12)]
    damaged = [random.randrange(-20, len(data) + 20) for _ in range(2)]
    return FrameSection(data, 0x5000, is_eh, "<", 8), [*offsets, *damaged]


def some_cie(random, encoding) -> bytes:
    code = random.choice([1, 1, 1, 4, 0, 2**63, 2**70])
    alignment = random.choice([-8, -8, 8, 0, -(2**40)])
    head = uleb(code) + sleb(alignment) + uleb(40 if random.random() < 0.05 else 16)
    name = random.choice([b"zR", b"zR", b"zRS", b"zRL"])
    data = bytes([encoding]) + (b"\x1b" if name == b"zRL" else b"")
    program = (INITIAL if random.random() < 0.9 else b"") + (some_program(random) if random.random() < 0.3 else b"")
    return b"\x03" + name + b"\0" + head + uleb(len(data)) + data + program


def some_range(random, encoding) -> bytes:
    """The start and size of a function, and augmentation data."""
    form = {0: "Q", 2: "H", 3: "I", 4: "Q", 0xB: "i", 0xC: "q"}.get(encoding & 0x0F, "B")
    bits = 8 * struct.calcsize(form) - form.islower()
    size = random.choice([1, 100, 2**bits - 1, -1 if form.islower() else 7])
    start = random.choice([64, 90, 2**bits - 8])
    extra = random.choice([0, 0, 4, 130]) if random.random() < 0.2 else 0
    return struct.pack("<" + 2 * form, min(start, 2**bits - 1), min(size, 2**bits - 1)) + uleb(extra) + bytes(extra)


def entry(identity, body) -> bytes:
    return struct.pack("<II", len(body) + 4, identity) + body


@pytest.mark.usefixtures("at_once")
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([17, 9]))
def test_forged_programs(seed, is_eh, registers) -> None:
    section, offsets = some_section(Random(seed), is_eh, 40)
    assert_same(section, offsets, registers)


def test_forged_programs_are_mostly_sound_and_of_every_kind() -> None:
    """The test above compares something: most of what it forges has rows."""
    found = assert_same(*some_section(Random(1), True, 300))
    assert sum(bool(rows) for rows in found) > 150
    assert sum(rows is None for rows in found) > 10


@pytest.mark.parametrize("path", native_objects()[:1], ids=lambda path: path.name)
def test_programs_of_this_machine(path) -> None:
    index = eh_frame_index(open_elf(path))
    found = assert_same(index.section, index.offset.tolist()[:3000])
    assert sum(len(rows) for rows in found) > 50


def frames_of(*programs) -> tuple[FrameSection, list[int]]:
    file = FrameFile([Frame(TEXT + 64 * row, 64, program) for row, program in enumerate(programs)], initial=INITIAL)
    section = eh_frame_index(open_elf(file.bytes())).section
    return section, file.eh_frame()[1]


STEP = advance(1) + offset(3, -16) + b"\x0e"


@pytest.mark.parametrize(
    "program",
    [
        b"".join(REMEMBER + STEP + uleb(8 * row) for row in range(300)) + (RESTORE + advance(1)) * 300,
        b"".join(REMEMBER + STEP + uleb(8 * row) + RESTORE for row in range(300)),
        (REMEMBER + STEP + b"\x18") * 20 + (RESTORE + advance(1)) * 21,
        (REMEMBER + RESTORE) * 500 + RESTORE + (REMEMBER + STEP + b"\x18") * 500 + RESTORE * 300 + advance(9),
        RESTORE * 700 + REMEMBER * 700,
        (advance(1) + undefined(3) + advance(1) + bytes([0xC3])) * 50,
    ],
    ids=["nested", "one after the other", "one too many", "in the middle", "none remembered", "registers"],
)
@pytest.mark.usefixtures("at_once")
def test_states_in_states(program) -> None:
    """Neighbors of a damaged program keep their rows."""
    section, offsets = frames_of(ORDINARY, program, ORDINARY, program, ORDINARY)
    found = assert_same(section, offsets)
    assert len(found[0]) == len(found[4]) == 3


ORDINARY = STEP + b"\x18" + advance(2) + def_cfa(6, 16)


@pytest.mark.parametrize(
    ("program", "initial"),
    [
        *((program, INITIAL) for program in (b"\x0c\x07", b"\x02", b"\x04\0\0", b"\x0e\x80", b"\x0e", b"\x85")),
        *((program, INITIAL + program) for program in (b"\x0c\x07", b"\x02", b"\x85\x80")),
        (b"\x0e\x88" + b"\x80" * 9 + b"\0", INITIAL),
        (b"\x0e\x88" + b"\x80" * 8 + b"\0", INITIAL),
        (b"\x11\x03" + sleb(-(2**63)), INITIAL),
        (b"\x11\x03\x88" + b"\x80" * 8 + b"\x40", INITIAL),
        (
            bytes([0xC3]),
            INITIAL + offset(3, -16) + advance(1) + bytes([0xC3]) + advance(1) + offset(3, -16),
        ),
        (
            offset(3, -24),
            INITIAL + offset(3, -16) + bytes([0xC3]) + advance(1) + offset(3, -32) + REMEMBER + advance(1),
        ),
    ],
)
def test_ends_of_programs_and_of_numbers(program, initial) -> None:
    """Instructions that end behind their program are damage, in the CIE as well; longer numbers lose bits.

    A restored register has no rule in the CIE, and the CIE's behind it.
    """
    cie = b"\x01\0" + uleb(1) + sleb(-8) + bytes([16])
    data = entry(2**32 - 1, cie + initial)
    offsets = []
    for body in (ORDINARY, program, ORDINARY):
        offsets.append(len(data))
        data += entry(0, struct.pack("<QQ", 0x4000, 64) + body)
    for identity in (b"\x02\0\0\0\0\0", b"\0\0\0\0"):
        assert_same(FrameSection(data + identity * 2, 0, False, "<", 8), [*offsets, len(data)])


@pytest.mark.parametrize(("start", "size"), [(0, -1), (0, 5), (-9, 5), (-9, 20)])
def test_functions_end_within_the_address_space(start, size) -> None:
    cie = entry(0, b"\x01zR\0" + uleb(1) + sleb(-8) + bytes([16]) + uleb(1) + b"\x0c" + INITIAL)
    fde = struct.pack("<qq", start, size) + uleb(0)
    data = cie + entry(len(cie) + 4, fde)
    assert_same(FrameSection(data + entry(len(data) + 4, fde), 0, True, "<", 8), [len(cie), len(data)])


def test_sections_of_the_other_byte_order() -> None:
    head = b"\x01\0" + uleb(1) + sleb(-8) + bytes([16]) + INITIAL
    program = b"\x03\x01\x02" + STEP + b"\x18" + b"\x04\0\0\x01\0" + b"\x0e\x20"
    body = struct.pack(">QQ", 0x4000, 0x8000) + program
    cie = struct.pack(">Ii", len(head) + 4, -1) + head
    section = FrameSection(cie + struct.pack(">II", len(body) + 4, 0) + body, 0, False, ">", 8)
    (rows,) = assert_same(section, [len(cie)])
    assert [start for start, _ in rows] == [0x4000, 0x4102, 0x4103, 0x4203]


def test_programs_without_end_take_linear_time() -> None:
    """Unusual instructions end a stride, and must not have the rest of the program read again each time."""
    program = (b"\x10\x03\x01\x30" + advance(1)) * 40_000
    section, offsets = frames_of(program)
    index = FrameIndex(section, np.array([TEXT], np.uint64), np.array(offsets))
    begun = time.process_time()
    assert SectionRules(index, RuleTable(17), []).find(index.start) != NO_RULE
    assert time.process_time() - begun < 4
