"""Forged recordings, opened by the reader."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.list_array import ListArray, SharedRows
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording.events import ALL_BLOCKS, Samples, Shard, Want
from perf2x.reader import PerfRecording, open_recording
from tests.forge import Record, Session, write_file

EVERYTHING = ~Want.REREAD


def reopened(folder: Path, session: Session, records: Iterable[Record]) -> PerfRecording:
    """Read a forged recording."""
    return opened(folder, write_file(session, records))


def opened(folder: Path, data: bytes) -> PerfRecording:
    """Read a recording of these bytes."""
    path = folder / "perf.data"
    path.write_bytes(data)
    return open_recording(str(path))


def one_batch(recording: PerfRecording, want: Want = EVERYTHING) -> Samples:
    """All samples of a small recording."""
    (batch,) = recording.samples(want)
    return batch


def facts(path: Path, shards: Sequence[Shard] = (ALL_BLOCKS,)) -> dict[str, Any]:
    """All that a recording says, as plain values; its samples one by one, those of some shards one behind the other."""
    diagnostics = Diagnostics()
    recording = open_recording(str(path), diagnostics=diagnostics)
    batches = [batch for shard in shards for batch in recording.samples(EVERYTHING, shard)]
    samples: dict[str, list[Any]] = {}
    for batch in batches:
        for name in batch.__struct_fields__:
            samples.setdefault(name, []).extend(_rows(getattr(batch, name), len(batch)))
    return {
        "session": recording.session,
        "sideband": plain(recording.sideband),
        "samples": samples,
        "count": recording.sample_count,
        "fingerprint": recording.fingerprint,
        "traces": [
            (one.start, one.stop, one.buffer_offset, one.buffer, one.tid, one.cpu) for one in recording._index.traces
        ],
        "damage": sorted((count.name, count.count) for count in diagnostics.counts.values()),
    }


def _rows(column: Any, count: int) -> list[Any]:
    """Plain values of each row."""
    found = plain(column)
    return found if isinstance(found, list) and len(found) == count else [None] * count


def plain(value: Any) -> Any:
    """A table as lists."""
    if isinstance(value, DictionaryColumn):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, SharedRows):
        value = value.table[value.indices]
    if isinstance(value, ListArray):
        return [row.tolist() for row in value.rows()]
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return value
