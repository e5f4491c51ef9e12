"""Names that a dataset has of a profile's places, as the symbolizer takes them."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, Bools, begins_run, flatnonzero
from perf2x.base.columnar.ragged import ranges
from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile
from perf2x.storage.dataset.dataset_schema import arrow
from perf2x.storage.dataset.names.symbol_index import NAMES, SymbolIndex
from perf2x.storage.dataset.parquet_files import numbers, texts
from perf2x.storage.dataset.read.restore_stacks import RecordingRows
from perf2x.storage.dataset.write.profile_places import profile_places
from perf2x.symbolizer.demangle.demangle import NameStyle
from perf2x.symbolizer.known.place_names import LocationNames
from perf2x.symbolizer.object_resolver import function_row
from perf2x.symbolizer.sources.symbol_source import Function

if TYPE_CHECKING:
    import pyarrow


def known_names(
    profile: Profile, rows: RecordingRows, symbols: SymbolIndex, style: NameStyle, *, inline: bool = True
) -> LocationNames:
    """Find the names of a recording's locations, and of their exact twins: its own, else those of their objects.

    Without ``inline`` of each place only the function that it really belongs to.
    """
    places = profile_places(profile, rows.ident)
    own = SymbolIndex(rows.lines, rows.places.take(numbers(rows.lines, "place")))
    found = [own.of(places)]
    found.append(symbols.of(places, without=found[0][1]))
    table = arrow().concat_tables([one.select(NAMES) for one, _ in found])
    place = np.concatenate([at for _, at in found])
    first, count = _runs(place)
    if not inline:
        first, count = first + count - 1, np.minimum(count, 1)
    is_named = np.array([*texts(table, "function")[1], ""], np.bool_)  # others were looked up and have none
    count *= is_named[texts(table, "function")[0][first]] if len(first) else 1
    line_rows = ranges(first, count)
    location = place[first] if len(first) else np.zeros(0, np.int64)
    functions, function = _functions(table, style)
    return LocationNames(
        location=location,
        count=count,
        is_exact=numbers(table, "is_exact").astype(np.bool_)[first],
        has_inlines=numbers(table, "has_inlines").astype(np.bool_)[first] & inline,
        function=function[line_rows].astype(np.int32),
        line=numbers(table, "line")[line_rows],
        functions=functions,
        looked_up=_looked_up(profile, rows.mappings),
        kernel_looked_up=False,
    )


def _looked_up(profile: Profile, table: "pyarrow.Table") -> Bools:
    """(mappings,) whether names were looked up when the recording was added."""
    names = [[known[row] for row in code.tolist()] for code, known in (texts(table, "file"), texts(table, "build_id"))]
    words = (numbers(table, name).astype(np.int64).view(np.uint64) for name in ("start", "limit", "file_offset"))
    columns = (column.tolist() for column in (*words, numbers(table, "pid")))
    asked = numbers(table, "looked_up").tolist()
    known = {row for row, was_asked in zip(zip(*columns, *names, strict=True), asked, strict=True) if was_asked}
    mappings, strings = profile.mappings, profile.strings
    own = (mappings.start, mappings.limit, mappings.offset, mappings.pid)
    mine = [[strings[row] for row in column.tolist()] for column in (mappings.filename, mappings.build_id)]
    return np.array([row in known for row in zip(*(column.tolist() for column in own), *mine, strict=True)], np.bool_)


def _runs(place: AnyArray) -> tuple[I64, I64]:
    """First row and length of each run of equal places."""
    first = flatnonzero(begins_run(place))
    return first, np.diff(np.append(first, len(place)))


def _functions(lines: "pyarrow.Table", style: NameStyle) -> tuple[list[tuple[str, str, str, int]], I64]:
    """The distinct functions of lines as the profile has them, and (lines,) the function of each."""
    columns = [texts(lines, name) for name in ("function", "system_name", "file")]
    start_line = numbers(lines, "start_line").astype(np.int64)
    first, group = group_rows([*(code.astype(np.int64) for code, _ in columns), start_line])
    named = [[known[row] for row in code[first].tolist()] for code, known in columns]
    functions = [
        function_row(Function(system_name, name, file, start), style)
        for name, system_name, file, start in zip(*named, start_line[first].tolist(), strict=True)
    ]
    return functions, group
