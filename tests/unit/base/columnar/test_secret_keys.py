"""Numbers in a file that are chosen to collide cost no more than others."""

import time

import pytest

from perf2x.base.binaries.dwarf.attribute_forms import AbbreviationTable, UnitEncoding
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.columnar.hashing import numbers_from_keys, salted_key
from perf2x.errors import ObjectError
from perf2x.reader.event_table import EventTable
from perf2x.reader.header.event_attributes import parse_attr
from perf2x.symbolizer.sources.parse_jitdump import parse_jitdump
from tests.support.frame_writer import uleb
from tests.support.jitdump_writer import code_load, debug, header, move
from tests.support.keys import colliding

BITS = 12
MOST = 5.0
"""A dictionary of such integers takes many times as long as one of others."""


@pytest.fixture(scope="module")
def chosen() -> list[int]:
    return colliding(BITS)


def seconds(work, keys) -> float:
    took = []
    for _ in range(3):
        begin = time.process_time()
        work(keys)
        took.append(time.process_time() - begin)
    return min(took)


def as_integers(keys) -> None:
    dict.fromkeys(keys)


def as_events(keys) -> None:
    table = EventTable()
    table.add(parse_attr(bytes(64), "<", 0, tuple(keys)))
    assert all(table.index_of_id(key) == 0 for key in keys)


def as_code(keys) -> None:
    records = [code_load(1, 0x1000, "f", key) for key in keys] + [move(1, 0x1000, 0x2000, key) for key in keys]
    dump = parse_jitdump(header() + b"".join(records), "x")
    assert len(dump.codes) == 2 * len(keys)


def as_lines(keys) -> None:
    parse_jitdump(header() + b"".join(debug(key) for key in keys), "x")


def test_such_integers_make_a_dictionary_slow(chosen) -> None:
    assert len(set(chosen)) == len(chosen) > 2500
    assert seconds(as_integers, chosen) > 10 * seconds(as_integers, list(range(len(chosen))))


@pytest.mark.parametrize("work", [as_events, as_code, as_lines])
def test_no_table_is_slow(work, chosen) -> None:
    usual = seconds(work, list(range(1, len(chosen) + 1)))
    assert seconds(work, chosen) < MOST * usual + 0.01


def test_keys_are_the_numbers() -> None:
    numbers = [0, 1, 255, 256, 2**32, 2**63, 2**64 - 1]
    assert numbers_from_keys(map(salted_key, numbers)).tolist() == numbers


def abbreviations(data) -> dict:
    return AbbreviationTable(data, 0, UnitEncoding("<", 8, 4, 5), ReadBudget("", len(data), times=2), {}).all()


def test_abbreviations_are_counted_and_not_strewn() -> None:
    entry = b"\x11\0\0\0"
    many = 70_000
    dense = b"".join(uleb(code) + entry for code in range(1, many + 1)) + b"\0"
    assert len(abbreviations(dense)) == many
    for code in (2**61 - 1, 2**16 + 1):
        with pytest.raises(ObjectError, match="is implausibly large"):
            abbreviations(uleb(1) + entry + uleb(code) + entry + b"\0")
    assert list(abbreviations(uleb(2**16) + entry + b"\0")) == [2**16]
