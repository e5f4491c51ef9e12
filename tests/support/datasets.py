"""Datasets in the tests' own process: recordings go in, rows come out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perf2x.model.diagnostics import Diagnostics
from perf2x.pipeline.datasets.ingest_recording import ingest, ingest_session
from perf2x.pipeline.load_options import LoadContext, LoadOptions
from perf2x.pipeline.open_sessions import Input, find_sessions
from perf2x.pipeline.stage_timer import Stages
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.names.object_profile import write_symbols
from perf2x.storage.dataset.table_log import commit, read_log
from perf2x.storage.dataset.write.recording_to_store import FunctionRow, PlaceKeys, PlaceNames, StoredRecording
from perf2x.storage.dataset.write.table_rows import MODES, object_symbols
from perf2x.storage.dataset.write.write_recording import write_table
from perf2x.symbolizer.symbol_options import SymbolOptions


def context_for(symbols: SymbolOptions | None = None) -> LoadContext:
    return LoadContext(LoadOptions(by_cgroup=True, symbols=symbols), Diagnostics(), None, Stages())


def add_recording(
    folder: Path,
    recording: Path,
    tags: dict[str, str] | None = None,
    partition: Sequence[str] = (),
    *,
    symbols: SymbolOptions | None = None,
    timeline: bool = False,
) -> None:
    options = LoadOptions(by_cgroup=True, timeline=timeline, symbols=symbols, tags=(tags or {},))
    ingest([str(recording)], options, folder, partition)


def stored(recording: Path, symbols: SymbolOptions | None = None) -> StoredRecording:
    context = context_for(symbols)
    (session,) = find_sessions([Input(str(recording), str(recording), {})], context)
    return ingest_session(session, context).stored


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Rows of a table's files, as its log has them."""
    from pyarrow import parquet

    files = [folder / table / name for name in sorted(read_log(folder / table).files)]
    return [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]


def name_places(
    folder: Path, places: Sequence[dict[str, Any]], functions: Sequence[FunctionRow], line: int = 9
) -> None:
    """Name places as ``fleet symbolize`` does: code belongs to ``functions[0]``, those behind are inlined."""
    storage = storage_at(folder)
    for ident in sorted({row["object_id"] for row in places}):
        mine = {tuple(row[name] for name in KEY): row for row in places if row["object_id"] == ident}
        numbers = {text: mode for mode, text in MODES.items()}
        offset, mode, is_return, variant = zip(*mine, strict=True)
        keys = PlaceKeys(
            np.array(offset, np.int64).view(np.uint64), np.array([numbers[one] for one in mode], np.uint8),
            np.array(is_return, np.bool_), np.array(variant, np.int32),
        )  # fmt: skip
        count = len(functions)
        names = PlaceNames(
            place=np.arange(len(mine), dtype=np.int32),
            count=np.full(len(mine), count),
            is_exact=np.zeros(len(mine), np.bool_),
            has_inlines=np.ones(len(mine), np.bool_),
            function=np.tile(np.arange(count, dtype=np.int32)[::-1], len(mine)),
            line=np.full(len(mine) * count, line, np.int32),
            functions=functions,
        )
        new, old = write_symbols(storage, object_symbols(ident, keys, names, ""))
        commit(storage.root, "symbols", (), new, old)


KEY = ("file_offset", "mode", "is_return", "variant")


def replace_file(folder: Path, table: str, edit: Callable[[Any], Any]) -> Path:
    """Write the only file of a table anew, with other rows, where its log has it."""
    from pyarrow import parquet

    (name,) = read_log(folder / table).files
    path = folder / table / name
    write_table(path, table, edit(parquet.ParquetFile(path).read()))
    return path
