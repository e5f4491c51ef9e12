"""Batches of samples that were decoded by layout, put together again in file order; and rows of batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.columnar.arrays import I64, Bools
from perf2x.columnar.ragged import Ragged, concatenate, offsets_of, ranges
from perf2x.tables.events import Branches, ReadValues, Samples, UserStacks

_FILL = {"cpu": -1}


def select_rows(samples: Samples, keep: Bools) -> Samples:
    """Only the rows of ``keep``."""
    return samples if keep.all() else take_rows(samples, np.flatnonzero(keep))


def take_rows(samples: Samples, rows: I64) -> Samples:
    """The named rows, in the order given; one may be named twice."""
    return replace(samples, **{field: _take(getattr(samples, field), rows) for field in Samples.__struct_fields__})


def join_batches(parts: Sequence[Samples]) -> Samples:
    """All rows in file order; a column that only some layouts have is filled with 0 (cpu: −1) for the others."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(part) for part in parts]
    columns: dict[str, Any] = {
        field: _join(field, [getattr(part, field) for part in parts], counts) for field in Samples.__struct_fields__
    }
    joined = Samples(**columns)
    return take_rows(joined, np.argsort(joined.position, kind="stable"))


def _take(value: Any, rows: I64) -> Any:
    if isinstance(value, Ragged):
        return value.take(rows)
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Branches | ReadValues):
        return _take_entries(value, rows)
    if isinstance(value, UserStacks):
        return replace(
            value, abi=value.abi[rows], regs=value.regs[rows], start=value.start[rows], size=value.size[rows]
        )
    if isinstance(value, dict):
        return {name: _take(column, rows) for name, column in value.items()}
    return value


_PER_SAMPLE = frozenset({"hw_index", "enabled", "running"})


def _take_entries(value: Any, rows: I64) -> Any:
    """Rows of a table whose columns have several entries for each sample, but for those that have one."""
    lengths = np.diff(value.offsets)[rows]
    entries = ranges(value.offsets[rows], lengths)
    changes: dict[str, Any] = {"offsets": offsets_of(lengths)}
    for field in value.__struct_fields__:
        column = getattr(value, field)
        if field != "offsets" and column is not None:
            changes[field] = column[rows if field in _PER_SAMPLE else entries]
    return replace(value, **changes)


def _join(name: str, values: Sequence[Any], counts: Sequence[int]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    like = present[0]
    if isinstance(like, dict):
        names = dict.fromkeys(key for value in values for key in value)
        return {key: _join(key, [value.get(key) for value in values], counts) for key in names}
    filled = [
        _absent(name, like, count) if value is None else value for value, count in zip(values, counts, strict=True)
    ]
    if isinstance(like, Ragged):
        return concatenate(filled, like.values.dtype)
    if isinstance(like, Branches | ReadValues):
        return _join_entries(filled)
    if isinstance(like, UserStacks):
        return _join_stacks(filled)
    if like.ndim == 2:
        filled = [_widened(part, max(part.shape[1] for part in filled)) for part in filled]
    return np.concatenate(filled)


def _absent(name: str, like: Any, count: int) -> Any:
    """Rows for samples whose layout has no such field."""
    none = np.zeros(count, np.int64)
    if isinstance(like, Ragged):
        return Ragged(np.zeros(count + 1, np.int64), np.zeros(0, like.values.dtype))
    if isinstance(like, Branches | ReadValues):
        return _take_entries(_emptied(like), none)
    if isinstance(like, UserStacks):
        return replace(
            like, abi=none.astype(np.uint8), regs=np.zeros((count, 0), np.uint64), start=none, size=none, mask=0
        )
    return np.full((count, *like.shape[1:]), _FILL.get(name, 0), like.dtype)


def _emptied(value: Any) -> Any:
    """One sample without entries."""
    blank = {
        field: np.zeros(1 if field in _PER_SAMPLE else 0, np.uint64)
        for field in value.__struct_fields__
        if field != "offsets" and getattr(value, field) is not None
    }
    return replace(value, offsets=np.zeros(2, np.int64), **blank)


def _join_entries(parts: Sequence[Any]) -> Any:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    changes: dict[str, Any] = {"offsets": offsets_of(lengths)}
    for field in parts[0].__struct_fields__:
        columns = [getattr(part, field) for part in parts]
        if field != "offsets":
            known = all(column is not None for column in columns)
            changes[field] = np.concatenate(columns) if known else None
    return replace(parts[0], **changes)


def _join_stacks(parts: Sequence[UserStacks]) -> UserStacks:
    """Stacks of one block share their words; registers are spread to the union of the masks."""
    mask = 0
    for part in parts:
        mask |= part.mask
    return UserStacks(
        abi=np.concatenate([part.abi for part in parts]),
        regs=np.concatenate([_spread_registers(part, mask) for part in parts]),
        mask=mask,
        words=parts[0].words,
        start=np.concatenate([part.start for part in parts]),
        size=np.concatenate([part.size for part in parts]),
        asked=max(part.asked for part in parts),
    )


def _spread_registers(part: UserStacks, mask: int) -> Any:
    if part.mask == mask:
        return part.regs
    spread = np.zeros((len(part.abi), mask.bit_count()), np.uint64)
    for source, bit in enumerate(bit for bit in range(64) if part.mask >> bit & 1):
        spread[:, (mask & ((1 << bit) - 1)).bit_count()] = part.regs[:, source]
    return spread


def _widened(part: Any, width: int) -> Any:
    return np.pad(part, ((0, 0), (0, width - part.shape[1])))
