"""Selects and joins rows of sample batches, whichever of the optional columns they have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, Bools, Ragged, argsort, concatenate, flatnonzero, offsets_of, ranges
from perf2x.model.recording.events import Branches, ReadValues, Samples, UserStacks

_FILL = {"cpu": -1}


def select_rows(samples: Samples, keep: Bools) -> Samples:
    """Select the rows where ``keep`` (n,) holds."""
    return samples if keep.all() else take_rows(samples, flatnonzero(keep))


def take_rows(samples: Samples, rows: I64) -> Samples:
    """Select rows by number, in the order given; a number may be repeated."""
    return replace(
        samples, **{field: _take_value(getattr(samples, field), rows) for field in Samples.__struct_fields__}
    )


def join_batches(parts: Sequence[Samples]) -> Samples:
    """Join batches in file order; a column that some of them lack is filled with 0 (cpu: −1)."""
    if len(parts) == 1:
        return parts[0]
    counts = [len(part) for part in parts]
    columns: dict[str, Any] = {
        field: _join_column(field, [getattr(part, field) for part in parts], counts)
        for field in Samples.__struct_fields__
    }
    joined = Samples(**columns)
    return take_rows(joined, argsort(joined.position))


def _take_value(value: Any, rows: I64) -> Any:
    if isinstance(value, Ragged):
        return value.take(rows)
    if isinstance(value, np.ndarray):
        return value[rows]
    if isinstance(value, Branches | ReadValues):
        return _take_ragged(value, rows)
    if isinstance(value, UserStacks):
        return replace(
            value, abi=value.abi[rows], regs=value.regs[rows], start=value.start[rows], size=value.size[rows]
        )
    if isinstance(value, dict):
        return {name: _take_value(column, rows) for name, column in value.items()}
    return value


_SCALARS = frozenset({"hw_index", "enabled", "running"})


def _take_ragged(value: Any, rows: I64) -> Any:
    """Select samples of a ragged table; its scalar columns have one entry per sample."""
    lengths = np.diff(value.offsets)[rows]
    entries = ranges(value.offsets[rows], lengths)
    changes: dict[str, Any] = {"offsets": offsets_of(lengths)}
    for field in value.__struct_fields__:
        column = getattr(value, field)
        if field != "offsets" and column is not None:
            changes[field] = column[rows if field in _SCALARS else entries]
    return replace(value, **changes)


def _join_column(name: str, values: Sequence[Any], counts: Sequence[int]) -> Any:
    present = [value for value in values if value is not None]
    if not present:
        return None
    like = present[0]
    if isinstance(like, dict):
        names = dict.fromkeys(key for value in values for key in value)
        return {key: _join_column(key, [value.get(key) for value in values], counts) for key in names}
    filled = [
        _absent_rows(name, like, count) if value is None else value for value, count in zip(values, counts, strict=True)
    ]
    if isinstance(like, Ragged):
        return concatenate(filled, like.values.dtype)
    if isinstance(like, Branches | ReadValues):
        return _join_ragged(filled)
    if isinstance(like, UserStacks):
        return _join_user_stacks(filled)
    if like.ndim == 2:
        filled = [_widen(part, max(part.shape[1] for part in filled)) for part in filled]
    return np.concatenate(filled)


def _absent_rows(name: str, like: Any, count: int) -> Any:
    """Make rows for samples whose layout lacks the column."""
    none = np.zeros(count, np.int64)
    if isinstance(like, Ragged):
        return Ragged.of_empty_rows(count, like.values.dtype)
    if isinstance(like, Branches | ReadValues):
        return _take_ragged(_one_empty_row(like), none)
    if isinstance(like, UserStacks):
        return replace(
            like, abi=none.astype(np.uint8), regs=np.zeros((count, 0), np.uint64), start=none, size=none, mask=0
        )
    return np.full((count, *like.shape[1:]), _FILL.get(name, 0), like.dtype)


def _one_empty_row(value: Any) -> Any:
    """Make a table of one sample without entries."""
    blank = {
        field: np.zeros(1 if field in _SCALARS else 0, np.uint64)
        for field in value.__struct_fields__
        if field != "offsets" and getattr(value, field) is not None
    }
    return replace(value, offsets=np.zeros(2, np.int64), **blank)


def _join_ragged(parts: Sequence[Any]) -> Any:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    changes: dict[str, Any] = {"offsets": offsets_of(lengths)}
    for field in parts[0].__struct_fields__:
        columns = [getattr(part, field) for part in parts]
        if field != "offsets":
            known = all(column is not None for column in columns)
            changes[field] = np.concatenate(columns) if known else None
    return replace(parts[0], **changes)


def _join_user_stacks(parts: Sequence[UserStacks]) -> UserStacks:
    """Join stacks of one block, which share their words; registers are spread to the union of the masks."""
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


def _widen(part: Any, width: int) -> Any:
    return np.pad(part, ((0, 0), (0, width - part.shape[1])))
