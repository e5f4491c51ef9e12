"""Datasets in the tests' own process: recordings go in, rows come out; and what profiles say, as plain values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from perf2x.base.abi import MODE_NAMES
from perf2x.base.diagnostics import Diagnostics
from perf2x.fleet.executors import InProcessExecutor
from perf2x.fleet.ingest import IngestTotals, Job, ingest
from perf2x.fleet.ingest_recording import ingest_session
from perf2x.fleet.symbolize_dataset import commit_symbols
from perf2x.kernel.load_options import LoadContext, LoadOptions
from perf2x.kernel.open_sessions import Input, find_sessions
from perf2x.kernel.stage_timer import Stages
from perf2x.model.profile.place_names import FunctionRow, PlaceNames
from perf2x.model.profile.profile import Profile
from perf2x.sources.dataset.content_ids import recording_id
from perf2x.sources.dataset.dataset_schema import KEY
from perf2x.sources.dataset.delta_tables import DeltaTables
from perf2x.sources.dataset.place_keys import PlaceKeys
from perf2x.sources.dataset.write.recording_to_store import StoredRecording
from perf2x.sources.dataset.write.table_rows import object_symbols
from perf2x.symbolizer.symbol_options import SymbolOptions


def add_recordings(
    folder: Path,
    recordings: Sequence[Path],
    tags: Mapping[str, str] | None = None,
    partition: Sequence[str] = (),
    *,
    symbols: SymbolOptions | None = None,
    timeline: bool = False,
    crew: Executor | None = None,
    **job: Any,
) -> IngestTotals:
    options = LoadOptions(keep=frozenset({"cgroup"}), timeline=timeline, symbols=symbols)
    named = Job(str(folder), options, tags or {}, uuid4().hex, partition=tuple(partition), **job)
    return ingest(crew or InProcessExecutor(), 1, [str(path) for path in recordings], named, lambda totals: None)


def stored(recording: Path, symbols: SymbolOptions | None = None) -> StoredRecording:
    context = LoadContext(LoadOptions(keep=frozenset({"cgroup"}), symbols=symbols), Diagnostics(), None, Stages())
    (session,) = find_sessions([Input(str(recording), str(recording), {})], context)
    return ingest_session(session, context, recording_id([recording]))


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Rows of a table, whoever wrote them."""
    return DeltaTables(str(folder)).require(table).to_pyarrow_table().to_pylist()


def counted_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Rows of a table whose recording and attempt are in the table of recordings."""
    known = {(one["recording"], one["attempt"]) for one in rows(folder, "recordings")}
    return [one for one in rows(folder, table) if (one["recording"], one["attempt"]) in known]


def content(profile: Profile) -> Counter[Any]:
    """Values and counts of a profile by all that people see of its samples: names and lines, code by its mapping."""
    found: Counter[Any] = Counter()
    places = [_place(profile, row) for row in range(len(profile.locations))]
    text, samples, threads = profile.strings, profile.samples, profile.threads
    for row in range(len(samples)):
        event, thread, frames = profile.events[samples.event[row]], samples.thread[row], []
        stack = samples.stack[row]
        while stack >= 0:
            frames.append(places[profile.stacks.location[stack]])
            stack = profile.stacks.parent[stack]
        tags = {**profile.labels, **(profile.tag_sets[samples.tags[row]] if samples.tags is not None else {})}
        more = tuple(None if column is None else int(column[row]) for column in (samples.time, samples.cpu))
        cgroup = None if samples.cgroup is None else text[samples.cgroup[row]]
        key = (
            event.name, event.unit, text[threads.comm[thread]], text[threads.process[thread]],
            int(threads.pid[thread]), int(threads.tid[thread]), cgroup, *more, tuple(sorted(tags.items())),
            tuple(frames),
        )  # fmt: skip
        found[key, "value"] += int(samples.value[row])
        found[key, "count"] += int(samples.count[row])
    return found


def _place(profile: Profile, row: int) -> tuple[Any, ...]:
    locations, text, mappings = profile.locations, profile.strings, profile.mappings
    mapping, functions = int(locations.mapping[row]), profile.functions
    held: tuple[Any, ...] = ()
    address = int(locations.address[row])
    if mapping >= 0:
        held = text[mappings.filename[mapping]], text[mappings.build_id[mapping]], bool(mappings.is_kernel[mapping])
        address -= int(mappings.start[mapping])
    lines = range(int(locations.line_offsets[row]), int(locations.line_offsets[row + 1]))
    names = tuple(
        (
            text[functions.name[locations.line_function[line]]],
            text[functions.filename[locations.line_function[line]]],
            int(locations.line_number[line]),
        )
        for line in lines
    )  # fmt: skip
    return address, int(locations.mode[row]), held, names


def name_places(
    folder: Path, places: Sequence[Mapping[str, Any]], functions: Sequence[FunctionRow], line: int = 9
) -> None:
    """Name places as ``fleet symbolize`` does: code belongs to ``functions[0]``, those behind are inlined."""
    tables, numbers = DeltaTables(str(folder)), {text: mode for mode, text in enumerate(MODE_NAMES)}
    for ident in sorted({row["object_id"] for row in places}):
        mine = {tuple(row[name] for name in KEY[1:]) for row in places if row["object_id"] == ident}
        offset, mode, is_return, variant = zip(*sorted(mine), strict=True)
        keys = PlaceKeys(
            np.array(offset, np.int64).view(np.uint64), np.array([numbers[one] for one in mode], np.uint8),
            np.array(is_return, np.bool_), np.array(variant, np.int32),
        )  # fmt: skip
        count = len(functions)
        names = PlaceNames(
            place=np.arange(len(mine)),
            count=np.full(len(mine), count),
            is_exact=np.zeros(len(mine), np.bool_),
            has_inlines=np.ones(len(mine), np.bool_),
            function=np.tile(np.arange(count)[::-1], len(mine)),
            line=np.full(len(mine) * count, line),
            functions=functions,
        )
        commit_symbols(tables, [object_symbols(ident, keys, names, "")])
