"""Blocks equal their records read one by one, and block boundaries do not change the result."""

import struct
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording.events import Event
from perf2x.reader import first_walk, open_recording, sideband_decoder
from perf2x.reader.event_table import EventTable
from perf2x.reader.record_block import Block, compact_sizes, copy_records, join_blocks, make_block, sizes_in_bytes
from perf2x.reader.records.field_cursor import FieldCursor
from tests import forge
from tests.forge import strategies
from tests.support.examples import examples
from tests.support.reading import facts

Order = Literal["<", ">"]
Records = list[tuple[int, int, bytes]]
RECORDS = st.lists(
    st.tuples(st.integers(0, (1 << 32) - 1), st.integers(0, 0xFFFF), st.binary(max_size=40)), min_size=1, max_size=12
)
"""(type, misc, payload)."""
BOTH = pytest.mark.parametrize("order", ["<", ">"])


def _block(records: Records, order: Order, position: int = 0, left_out: tuple[int, ...] = ()) -> Block:
    data = b"".join(struct.pack(order + "IHH", kind, misc, 8 + len(rest)) + rest for kind, misc, rest in records)
    sizes = np.array([8 + len(rest) for _, _, rest in records], np.uint16)
    return make_block(np.frombuffer(data, np.uint8), sizes, position, order, np.array(left_out, np.int32))


def _read(block: Block) -> Records:
    """Read the records one by one."""
    starts = (block.starts * 8).tolist()
    raw = [block.data[at : at + size].tobytes() for at, size in zip(starts, block.sizes.tolist(), strict=True)]
    words = [struct.unpack_from(block.byte_order + "Q", record)[0] for record in raw]
    assert block.words[block.starts].tolist() == words == block.headers.tolist()
    return [(int(kind), int(misc), record[8:]) for kind, misc, record in zip(block.types, block.misc, raw, strict=True)]


@given(st.lists(st.integers(1, 300) | st.integers(1, 8191), max_size=10), st.lists(st.integers(8, 65535), max_size=2))
def test_sizes_of_small_records_take_a_byte_each(words: list[int], bytes_of_others: list[int]) -> None:
    sizes = [8 * each for each in words] + bytes_of_others
    compact = compact_sizes(np.array(sizes, np.uint16))
    assert sizes_in_bytes(compact).tolist() == sizes
    assert compact.nbytes == len(sizes) * (1 if all(size % 8 == 0 and size < 2048 for size in sizes) else 2)


@BOTH
@given(records=RECORDS, position=st.integers(0, 1 << 40), data=st.data())
def test_a_block_holds_its_records(order: Order, records: Records, position: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(records) - 1), unique=True, max_size=len(records)).map(sorted))
    stay = [row for row in range(len(records)) if row not in rows]
    positions = position + np.cumsum([0, *(8 + len(rest) for _, _, rest in records)], dtype=np.int64)
    whole = _block(records, order, position)
    assert _read(whole) == records
    assert whole.positions.tolist() == positions[:-1].tolist()
    for part in (whole.only(np.array(stay, np.int64)), _block(records, order, position, tuple(rows))):
        assert _read(part) == [records[row] for row in stay]
        assert part.positions.tolist() == positions[stay].tolist()


@BOTH
@given(parts=st.lists(RECORDS, min_size=1, max_size=4))
def test_joined_copies_hold_the_chosen_records_alone(order: Order, parts: list[Records]) -> None:
    blocks = [_block(records, order, 1000 * at) for at, records in enumerate(parts)]
    second = [copy_records(block.only(np.arange(0, len(block.sizes), 2))) for block in blocks]
    joined = join_blocks(second)
    assert _read(joined) == [record for records in parts for record in records[::2]]
    assert joined.positions.tolist() == [int(at) for block in blocks for at in block.positions[::2]]
    assert len(joined.words) == sum(-(-size // 8) for size in joined.sizes.tolist())


@given(records=RECORDS, skipped=st.integers(0, 4))
def test_strings_end_at_a_nul_or_with_the_record(records: Records, skipped: int) -> None:
    cursor = FieldCursor(_block(records, "<"))
    cursor.skip(skipped)
    assert list(cursor.remaining_bytes()) == [rest[8 * skipped :].split(b"\0")[0] for _, _, rest in records]


IDS = st.one_of(st.integers(1, 40), st.integers(1, (1 << 64) - 1))


@given(ids=st.lists(st.lists(IDS, max_size=4), min_size=1, max_size=4), others=st.lists(st.one_of(st.just(0), IDS)))
def test_an_id_belongs_to_the_first_event_that_has_it(ids: list[list[int]], others: list[int]) -> None:
    table = EventTable()
    for at, mine in enumerate(ids):
        table.add(_event(at, tuple(mine)))
    wanted = [each for mine in ids for each in mine] + others

    def owner(identifier: int) -> int:
        known = [at for at, mine in enumerate(ids) if identifier in mine]
        return 0 if identifier == 0 or not any(ids) else known[0] if known else -1

    assert table.owners_of_ids(np.array(wanted, np.uint64)).tolist() == [owner(each) for each in wanted]


def _event(at: int, ids: tuple[int, ...]) -> Event:
    return Event(at, "e", 0, 0, 1, 0, 0, frozenset(), ids=ids)


@settings(max_examples=examples(10))
@given(strategies.recordings())
def test_block_boundaries_do_not_change_the_result(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[forge.Session, list[forge.Record]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.data"
    session, records = made
    path.write_bytes(forge.write_file(session, records * 200))
    whole = facts(path)
    with (
        patch.object(first_walk, "BLOCK_SIZE", 1 << 16),
        patch.object(first_walk, "FEW_RECORDS", 1),
        patch.object(sideband_decoder, "_MIN_BATCH", 3),
    ):
        assert facts(path) == whole


def test_damage_is_noted_in_file_order_whatever_the_block_size(tmp_path: Path) -> None:
    """A cut fork comes before a cut comm, though its type is greater, and both before the end of the file."""
    records = [forge.Comm(pid=1, tid=1, comm="a"), forge.Raw(type=7, body=bytes(8)), forge.Raw(type=3)]
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(unfinished=True), records) + b"cut")
    for many in (1, 1000):
        diagnostics = Diagnostics()
        with patch.object(sideband_decoder, "_MIN_BATCH", many):
            open_recording(str(path), diagnostics=diagnostics)
        counts = [count for count in diagnostics.counts.values() if count.severity == "loss"]
        assert [(count.name, count.count) for count in counts] == [
            ("unfinished_file", 1),
            ("records_malformed", 2),
            ("bytes_after_last_record", 3),
        ]
        assert counts[1].first == "FORK"
