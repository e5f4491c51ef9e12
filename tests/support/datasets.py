"""Datasets in the tests' own process: recordings go in, rows come out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf2x.model.diagnostics import Diagnostics
from perf2x.pipeline.datasets.ingest_recording import ingest, ingest_session
from perf2x.pipeline.load_options import LoadContext, LoadOptions
from perf2x.pipeline.open_sessions import Input, find_sessions
from perf2x.pipeline.stage_timer import Stages
from perf2x.storage.dataset.write.recording_to_store import StoredRecording
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
    from pyarrow import parquet

    files = sorted((folder / table).rglob("*.parquet"))
    return [row for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
