"""Events of a recording that make the pairs asked for, and keys of their samples.

A key is one number for each sample: equal where all key fields are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import SampleType
from perf2x.base.columnar.arrays import I64, Bools
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import SettingError
from perf2x.model.profile.tracepoint_fields import FieldColumn
from perf2x.model.recording.events import Recording
from perf2x.transforms.filters.filter_batches import not_recorded
from perf2x.transforms.pairs.pair_spec import PRESETS, Pair, is_event, parse_pairs, whole_name
from perf2x.transforms.traced_samples import Traced, decode_columns, numbers_at


class PairEvents(Struct, frozen=True):
    """A pair, and the rows of Session.events that begin and end it."""

    pair: Pair
    name: str
    """Name of the event of durations, which no other event has."""
    begins: tuple[int, ...]
    ends: tuple[int, ...]


def pairs_in(recording: Recording, wanted: Sequence[str]) -> list[PairEvents]:
    """Return the pairs that were asked for; OptionError for one that the recording lacks, or one without times."""
    found: list[PairEvents] = []
    taken = {event.name for event in recording.session.events}
    for text, choices in zip(dict.fromkeys(wanted), parse_pairs(wanted), strict=True):
        some = [pair for choice in choices if (pair := _events_of(choice, recording))]
        if not some:
            raise SettingError("", f"pairs={text}", f": {_lacking(text, choices, recording)}")
        for pair in some:
            whole = f"{pair.pair.begin}:{pair.pair.end}"
            name = next(name for name in (pair.name, whole, f"{whole}/{','.join(pair.pair.keys)}") if name not in taken)
            taken.add(name)
            found.append(PairEvents(pair.pair, name, pair.begins, pair.ends))
    if not all(recording.session.events[row].sample_type & SampleType.TIME for pair in found for row in pair.ends):
        raise not_recorded(f"pairs={wanted[0]}")
    return found


def _events_of(pair: Pair, recording: Recording) -> PairEvents | None:
    """The events of a pair, None where one of them is not there."""
    begins = _rows(pair.begin, recording)
    ends = _rows(pair.end, recording)
    if begins and not ends:
        pair = whole_name(pair)
        ends = _rows(pair.end, recording)
    return PairEvents(pair, pair.name, begins, ends) if begins and ends else None


def _rows(name: str, recording: Recording) -> tuple[int, ...]:
    return tuple(row for row, event in enumerate(recording.session.events) if is_event(name, event.name))


def _lacking(text: str, choices: Sequence[Pair], recording: Recording) -> str:
    """Say which event is missing, and how to record it."""
    missing = next(name for name in (choices[0].begin, choices[0].end) if not _rows(name, recording))
    there = ", ".join(event.name for event in recording.session.events)
    wanted = " ".join(f"-e {name}" for pair in choices for name in (pair.begin, pair.end))
    how = f"; record with: perf record {wanted} -g -a" if text in PRESETS else ""
    return f"the recording has no event {missing!r}; it has {there}{how}"


_NUMBER_SIZES = (1, 2, 4, 8)
_OF_SAMPLE = ("tid", "pid", "cpu")
Fields = Sequence[Mapping[str, Any]]


def fields_of_keys(pair: Pair, formats: Sequence[Fields]) -> tuple[str, ...]:
    """Return the keys of a pair; by default fields of one name and type in all formats, and the thread.

    OptionError for a key that one of the events lacks.
    """
    kinds = [{field["name"]: field["type"] for field in fields} for fields in formats]
    if not pair.keys:
        shared = [name for name, kind in kinds[0].items() if all(other.get(name) == kind for other in kinds)]
        return (*(name for name in shared if name not in _OF_SAMPLE), "tid")
    for key in pair.keys:
        if key not in _OF_SAMPLE and any(key not in known for known in kinds):
            there = ", ".join(dict.fromkeys(name for known in kinds for name in known)) or "no fields"
            words = f" {pair.name}: no key {key!r} in both events; they have {there}; or tid, pid, cpu"
            raise SettingError("", "pairs", words)
    return pair.keys


def key_numbers(keys: Sequence[str], parts: Sequence[tuple[Fields, Traced]], order: str) -> tuple[I64, Bools]:
    """Return a number for each row of all parts, and where all key fields were recorded.

    The idle tasks of all CPUs are thread 0: they are told apart by their CPU.
    """
    texts: dict[str, int] = {}
    columns, whole = [], []
    for key in keys:
        found = [_column(key, fields, traced, order, texts) for fields, traced in parts]
        columns.append(np.concatenate([column for column, _ in found]))
        whole.append(np.concatenate([held for _, held in found]))
    if "tid" in keys and "cpu" not in keys:
        columns.append(np.concatenate([np.where(traced.tid == 0, traced.cpu, -1) for _, traced in parts]))
    return group_rows(columns)[1], np.logical_and.reduce(whole)


def _column(key: str, fields: Fields, traced: Traced, order: str, texts: dict[str, int]) -> tuple[I64, Bools]:
    """(rows,) numbers that stand for one key, and where it was recorded; ``texts`` numbers texts, and grows."""
    if key in _OF_SAMPLE:
        return getattr(traced, key).astype(np.int64), np.ones(len(traced), np.bool_)
    field = next(field for field in fields if field["name"] == key)
    held = traced.raw.lengths >= field["offset"] + field["size"]
    if field["size"] in _NUMBER_SIZES and not _is_bytes(field["type"]):
        numbers = numbers_at(traced.raw, field["offset"], field["size"], field["signed"], order)
        return numbers.view(np.int64), held
    parts = decode_columns([field], traced.raw, order).columns
    first, row = group_rows([part.values for part in parts])
    words = ["\0".join(_word(part, at) for part in parts) for at in first.tolist()]
    return np.array([texts.setdefault(each, len(texts)) for each in words], np.int64)[row], held


def _word(column: FieldColumn, row: int) -> str:
    value = int(column.values[row])
    return column.texts[value] if column.kind == "text" else str(value)


def _is_bytes(kind: str) -> bool:
    return "[" in kind or kind.startswith(("__data_loc", "__rel_loc"))
