"""Recordings with very many events, and with events that share one section of ids."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf2x.errors import FormatError
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from perf2x.reader.index_pass import narrow_owners
from tests import forge
from tests.forge import kernel as k
from tests.support.extremes import EVENT, SAMPLE

MANY = 33_000
"""More events than int16 can number."""


@pytest.mark.parametrize("last", [-1, 0, 2**15 - 1, 2**15, 2**16, 2**31 - 1])
def test_event_numbers_of_any_size_are_kept(last: int) -> None:
    assert narrow_owners(np.array([-1, 7, last], np.int32)).tolist() == [-1, 7, last]


@pytest.mark.parametrize("number", [-1, 0, 40_000])
def test_equal_event_numbers_are_stored_once(number: int) -> None:
    """However many samples a block has, a single number lies below them, and not the column that they came in."""
    stored = narrow_owners(np.full(1000, number, np.int32))
    assert stored.tolist() == [number] * 1000
    assert stored.strides == (0,) and stored.base is not None and stored.base.size == 1


@pytest.mark.slow
def test_event_numbers_may_need_more_than_sixteen_bits(tmp_path: Path) -> None:
    described = tuple(replace(EVENT, name=f"e{row}", ids=(row + 1,)) for row in range(MANY))
    path = tmp_path / "perf.data"
    chosen = (3, MANY - 1, 2**15)
    path.write_bytes(forge.write_file(forge.Session(described), [replace(SAMPLE, event=e, id=e + 1) for e in chosen]))
    batches = list(open_recording(str(path)).samples(Want(0)))
    assert sorted(event for batch in batches for event in batch.event.tolist()) == sorted(chosen)


def test_events_that_share_one_section_of_ids_are_refused(tmp_path: Path) -> None:
    described = tuple(replace(EVENT, ids=tuple(range(1, 400)) if row == 0 else ()) for row in range(50))
    data = bytearray(forge.write_file(forge.Session(described), [SAMPLE]))
    entry_size, offset, size = struct.unpack_from("<3Q", data, 16)
    shared = data[offset + entry_size - 16 : offset + entry_size]
    assert struct.unpack("<QQ", shared)[1] == 8 * 399
    for at in range(offset, offset + size, entry_size):
        data[at + entry_size - 16 : at + entry_size] = shared
    (tmp_path / "perf.data").write_bytes(data)
    with pytest.raises(FormatError, match="ids take more bytes than the file has"):
        open_recording(str(tmp_path / "perf.data"))


@pytest.mark.parametrize("more", [0, k.STREAM_ID, k.CPU, k.STREAM_ID | k.CPU, k.IDENTIFIER, k.IDENTIFIER | k.CPU])
def test_a_record_is_of_the_event_whose_id_its_trailer_has(more: int, tmp_path: Path) -> None:
    """Counted from the end: the stream's id and the CPU stand behind the id, if they are there."""
    events = tuple(
        forge.Event(name=name, ids=(number,), sample_type=k.IP | k.TID | k.TIME | k.ID | more)
        for name, number in (("one", 5), ("other", 6))
    )
    stamps = [forge.Stamp(pid=1, tid=2, time=9, cpu=6, stream_id=6, id=number) for number in (5, 6)]
    records = [forge.LostSamples(event=row, stamp=stamp, lost=3) for row, stamp in enumerate(stamps)]
    (tmp_path / "perf.data").write_bytes(forge.write_file(forge.Session(events), records))
    assert open_recording(str(tmp_path / "perf.data")).sideband.losts.event.tolist() == [0, 1]
