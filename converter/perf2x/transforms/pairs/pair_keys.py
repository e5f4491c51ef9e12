"""Keys of tracepoint pairs as one number for each sample: equal where all key fields are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import I64, Bools
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import SettingError
from perf2x.model.profile.tracepoint_fields import FieldColumn
from perf2x.transforms.add_tracepoint_fields import decode_columns
from perf2x.transforms.pairs.pair_spec import Pair
from perf2x.transforms.traced_samples import Traced, numbers_at

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
