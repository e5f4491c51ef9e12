"""Functions decoded side by side have the rows that decoding them one by one gives: of forged and of real programs."""

import struct
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.cfi import function_rules
from perf2x.base.binaries.cfi.frame_entries import FrameSection
from perf2x.base.binaries.cfi.function_rules import FrameSource, decode_functions, eh_frame_index
from perf2x.base.binaries.cfi.run_instructions import rule_rows
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.errors import ObjectError
from tests.support.frame_writer import TEXT, Frame, FrameFile, advance, def_cfa, offset, sleb, uleb, undefined
from tests.unit.base.binaries.cfi.test_frame_entries import INITIAL, native_objects

REMEMBER, RESTORE = b"\x0a", b"\x0b"


def one_by_one(section, offsets, registers) -> tuple[list, list[str], int]:
    """Scalar twin: (end, rows with their rules) of every function, what is wrong, the registers that are needed."""
    table, found, problems = RuleTable(registers), [], []
    for at in offsets:
        try:
            fde = section.fde(at)
            rows = rule_rows(section, fde, table)
        except ObjectError as error:
            problems.append(str(error))
            found.append((0, []))
        else:
            found.append((fde.end, [(start, table.rules[rule]) for start, rule in rows]))
    return found, problems, table.needed


def side_by_side(section, offsets, registers) -> tuple[list, list[str], int]:
    table, problems = RuleTable(registers), []
    found = decode_functions(section, np.array(offsets, np.int64), table, problems)
    rows = [(start, table.rules[rule]) for start, rule in zip(found.start.tolist(), found.rule.tolist(), strict=True)]
    bounds = found.offsets.tolist()
    each = [rows[first:stop] for first, stop in pairwise(bounds)]
    return list(zip(found.end.tolist(), each, strict=True)), problems, table.needed


@pytest.fixture(autouse=True)
def few(monkeypatch) -> None:
    """Two functions are many."""
    monkeypatch.setattr(function_rules, "FEW", 1)


def assert_same(section, offsets, registers=17) -> list:
    expected = one_by_one(section, offsets, registers)
    assert side_by_side(section, offsets, registers) == expected
    return expected[0]


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


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([17, 9]))
def test_forged_programs(seed, is_eh, registers) -> None:
    section, offsets = some_section(Random(seed), is_eh, 40)
    assert_same(section, offsets, registers)


def test_forged_programs_are_mostly_sound_and_of_every_kind(monkeypatch) -> None:
    """The test above compares something: most of what it forges goes through columns and has rows."""
    section, offsets = some_section(Random(1), True, 300)
    found = assert_same(section, offsets)
    assert sum(bool(rows) for _, rows in found) > 150
    assert sum(not end for end, _ in found) > 10
    alone = []
    monkeypatch.setattr(function_rules, "rule_rows", lambda *args: alone.append(args) or rule_rows(*args))
    side_by_side(section, offsets, 17)
    assert len(alone) < 150


@pytest.mark.parametrize("path", native_objects()[:1], ids=lambda path: path.name)
def test_programs_of_this_machine(path, monkeypatch) -> None:
    index = eh_frame_index(open_elf(path))
    found = assert_same(index.section, index.offset.tolist()[:3000])
    assert sum(len(rows) for _, rows in found) > 50
    alone = []
    monkeypatch.setattr(function_rules, "rule_rows", lambda *args: alone.append(args) or rule_rows(*args))
    side_by_side(index.section, index.offset.tolist()[:3000], 17)
    assert len(alone) < len(found) / 10  # expressions of PLTs and signal frames


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
def test_states_in_states(program) -> None:
    """Neighbors of a damaged program keep their rows, and pointers in a circle end."""
    section, offsets = frames_of(ORDINARY, program, ORDINARY, program, ORDINARY)
    found = assert_same(section, offsets)
    assert len(found[0][1]) == len(found[4][1]) == 3


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
            offset(3, -24),
            INITIAL + offset(3, -16) + bytes([0xC3]) + advance(1) + offset(3, -32) + REMEMBER + advance(1),
        ),
    ],
)
def test_ends_of_programs_and_of_numbers(program, initial) -> None:
    """Instructions that end behind their program are damage, in the CIE as well; longer numbers lose bits."""
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


@pytest.mark.parametrize("name", ["LARGEST", "ALL"])
def test_programs_of_many_batches_and_large_ones(name, monkeypatch) -> None:
    """Programs that are too large, or too many, are decoded one by one."""
    programs = [(STEP + uleb(8 * row)) * (1 + row % 7) for row in range(60)]
    section, offsets = frames_of(*programs)
    expected = one_by_one(section, offsets, 17)
    monkeypatch.setattr(function_rules, "BATCH", 100)
    monkeypatch.setattr(function_rules, name, 45)
    alone, decode = [], function_rules._one
    monkeypatch.setattr(function_rules, "_one", lambda *of: (alone.append(of), decode(*of))[1])
    assert side_by_side(section, offsets, 17) == expected
    assert 0 < len(alone) < len(programs)


def test_sections_of_the_other_byte_order_and_few_functions_are_decoded_one_by_one() -> None:
    section, offsets = frames_of(*[STEP + b"\x18"] * 8)
    assert_same(section, offsets[:1])
    section.byte_order = ">"
    section.cies.clear()
    assert_same(section, offsets)


def test_a_source_remembers_functions_and_finds_rows_by_bisection(monkeypatch) -> None:
    monkeypatch.setattr("perf2x.base.binaries.cfi.function_rules.MOST", 4)
    frames = [Frame(TEXT + 64 * row, 40, (STEP + uleb(8 * row + 8)) * row) for row in range(30)]
    index = eh_frame_index(open_elf(FrameFile(frames, initial=INITIAL).bytes()))
    source, table, problems = FrameSource(index), RuleTable(17), []
    address = np.random.default_rng(1).permutation(np.arange(TEXT - 9, TEXT + 64 * 30, dtype=np.uint64))
    pieces = [source.find(part, table, problems) for part in np.array_split(address, 7)]
    found = dict(zip(address.tolist(), np.concatenate(pieces).tolist(), strict=True))
    functions, _, _ = one_by_one(index.section, index.offset.tolist(), 17)
    for at, rule in found.items():
        number = (at - TEXT) // 64
        rows = functions[number][1] if number >= 0 and (at - TEXT) % 64 < 40 else []
        rows = [row for row in rows if row[0] <= at]
        assert (table.rules[rule] if rule != NO_RULE else None) == (rows[-1][1] if rows else None)
    assert not problems
