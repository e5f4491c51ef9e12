"""Recordings that are folded as they come: one merge of all, whatever the rounds, in memory that does not grow."""

import gc
import os
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct, structs

from perf2x.errors import FormatError
from perf2x.kernel import load as loading
from perf2x.kernel import open_sessions
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.registry import build_emitter
from perf2x.model.profile.profile import Profile
from perf2x.model.transforms import incremental_merge
from perf2x.model.transforms.drop_unused import STRING_COLUMNS
from perf2x.model.transforms.incremental_merge import IncrementalMerge
from perf2x.model.transforms.merge_profiles import merge_profiles, with_tags
from perf2x.reader import PerfRecording
from perf2x.symbolizer.known.known_names import KnownNames
from perf2x.symbolizer.mapped_objects import MappedObject, addresses_of
from perf2x.symbolizer.object_resolver import ObjectResolver, ResolveResult
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests import forge
from tests.forge import kernel as k
from tests.laws.test_scaling import ONE
from tests.support.extremes import SAMPLE, STAMP
from tests.support.recordings import CORPUS

NAMES = ("forker", "events", "user_only", "calls", "task_end")
HERE = SymbolOptions(
    symfs=CORPUS / "common" / "symfs", kallsyms=CORPUS / "common" / "kallsyms.xz", buildid_dir=Path("/nonexistent")
)
TAGS = ({"run": "1"}, {}, {"run": "2", "b": "c"}, {"run": "1"}, {})


def facts(table: object) -> object:
    """A table and all that it holds as plain values."""
    if isinstance(table, Struct):
        return type(table).__name__, [facts(getattr(table, name)) for name in table.__struct_fields__]
    if isinstance(table, np.ndarray):
        return table.dtype.str, table.tolist()
    return [facts(each) for each in table] if isinstance(table, tuple) else table


@cache
def profiles(timeline: bool) -> tuple[Profile, ...]:
    paths = [str(CORPUS / name / "perf.data") for name in NAMES]
    options = LoadOptions(timeline=timeline, keep=frozenset({"cgroup"}), symbols=None if timeline else HERE)
    return tuple(load(path, options).profile for path in paths)


def folded(parts: Sequence[Profile], rounds: Sequence[int]) -> Profile:
    """The parts merged in rounds: after each number of parts in ``rounds`` and at the end."""
    whole: list[Profile] = []
    for number, part in enumerate(parts):
        whole.append(part)
        if number in rounds:
            whole = [merge_profiles(whole)]
    return merge_profiles(whole)


@pytest.mark.parametrize("timeline", [False, True])
@pytest.mark.parametrize("rounds", [(1,), (1, 2, 3, 4), (0, 3)])
def test_rounds_do_not_show(timeline: bool, rounds: tuple[int, ...]) -> None:
    parts = [with_tags(part, tags) for part, tags in zip(profiles(timeline), TAGS, strict=True)]
    assert facts(folded(parts, rounds)) == facts(merge_profiles(parts))
    assert facts(merge_profiles(profiles(timeline), TAGS)) == facts(merge_profiles(parts))
    assert counts_by_tags(folded(parts, rounds)) == sum(map(counts_by_tags, parts), Counter())


def counts_by_tags(profile: Profile) -> Counter[tuple[tuple[str, str], ...]]:
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    rows = profile.samples.tags
    for row, count in zip([-1] * len(profile.samples) if rows is None else rows, profile.samples.count, strict=True):
        found[tuple(sorted(profile.tag_sets[row].items())) if row >= 0 else ()] += int(count)
    return found


def in_words(profile: Profile, name: str) -> list[tuple[object, ...]]:
    """Rows of a table in plain Python, texts in place of their numbers; any process may stand for those with a file."""
    table = getattr(profile, name)
    if name == "mappings":
        is_file = np.array([text.startswith("/") and text[1:2] != "/" for text in profile.strings])[table.filename]
        table = structs.replace(table, pid=np.where(is_file, 0, table.pid))
    columns = {column: getattr(table, column).tolist() for column in table.__struct_fields__ if column != "starts"}
    words = (
        [profile.strings[row] for row in rows] if column in STRING_COLUMNS[name] else rows
        for column, rows in columns.items()
    )
    return list(zip(*words, strict=True))


def locations_in_words(profile: Profile) -> list[tuple[object, ...]]:
    held, functions, mappings = profile.locations, in_words(profile, "functions"), [*in_words(profile, "mappings"), ()]
    lines = list(zip([functions[row] for row in held.line_function.tolist()], held.line_number.tolist(), strict=True))
    columns = (held.mapping, held.address, held.lookup, held.mode, held.synthetic)
    rows = zip(*(column.tolist() for column in columns), pairwise(held.line_offsets.tolist()), strict=True)
    return [(mappings[mapping], *others, *lines[slice(*ends)]) for mapping, *others, ends in rows]


def samples_in_words(profile: Profile) -> Counter[tuple[object, ...]]:
    """Sums by event, thread and stack, all as texts."""
    found: Counter[tuple[object, ...]] = Counter()
    locations, threads, samples = locations_in_words(profile), in_words(profile, "threads"), profile.samples
    parent, location = profile.stacks.parent.tolist(), profile.stacks.location.tolist()
    columns = (samples.event, samples.thread, samples.stack, samples.value)
    for event, thread, row, value in zip(*(column.tolist() for column in columns), strict=True):
        frames = []
        while row >= 0:
            frames.append(locations[location[row]])
            row = parent[row]
        found[profile.events[event].name, threads[thread], tuple(frames)] += value
    return found


def test_a_merge_keeps_samples_and_has_no_row_twice() -> None:
    calls = profiles(False)[NAMES.index("calls")]
    functions = structs.replace(calls.functions, start_line=calls.functions.start_line + 1)
    parts = (*profiles(False), structs.replace(calls, functions=functions))  # equal places with other lines
    merged = merge_profiles(parts)
    assert samples_in_words(merged) == sum(map(samples_in_words, parts), Counter())
    words = locations_in_words(merged)
    assert len(words) == len(set(words)) < sum(len(each.locations) for each in parts)
    assert merged.strings[0] == "" and len(set(merged.strings)) == len(merged.strings)
    assert facts(merged.locations) == facts(merge_profiles(parts[::-1]).locations)


@pytest.mark.parametrize("least", [0, 300, 10**9])
def test_a_fold_is_one_merge_of_all(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental_merge, "LEAST_ROWS", least)
    fold = IncrementalMerge()
    for part in profiles(False):
        fold.add(part)
    assert facts(fold.finish()) == facts(merge_profiles(profiles(False)))


def pprof(loaded: Loaded) -> bytes:
    out = BytesIO()
    build_emitter("pprof", {}).emit(loaded.profile, out)
    return out.getvalue()


def read(options: LoadOptions) -> Loaded:
    return load([str(CORPUS / name / "perf.data") for name in NAMES], options)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_address_of_a_build_is_named_once(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[tuple[str, int, int]] = Counter()
    resolve = ObjectResolver.resolve

    def spy(self: ObjectResolver, mapped: MappedObject) -> ResolveResult:
        found = self._context.finder.find(mapped.key.name, mapped.key.build_id, mapped.pid)
        lookup, exact = addresses_of(self._profile, mapped, found).reshape(-1, 2).T
        if mapped.key.build_id:
            pairs = set(zip(lookup.tolist(), exact.tolist(), strict=True))
            asked.update((mapped.key.name, *pair) for pair in pairs)
        return resolve(self, mapped)

    monkeypatch.setattr(ObjectResolver, "resolve", spy)
    once = read(LoadOptions(symbols=HERE, jobs=jobs))
    if jobs == 1:  # else other processes count for themselves
        assert set(asked.values()) == {1}
        assert len(asked) > 100
    asked.clear()
    monkeypatch.setattr(KnownNames, "of", lambda *_: None)
    again = read(LoadOptions(symbols=HERE, jobs=jobs))
    assert jobs > 1 or max(asked.values()) > 1
    assert pprof(once) == pprof(again)
    assert once.symbols == again.symbols
    assert once.diagnostics == again.diagnostics


def forged(place: Path, number: int, samples: int = 3, damaged: bool = False) -> str:
    """A recording of a host of its own, whose stacks others have, too."""
    records: list[forge.Record] = [forge.Mmap(pid=10, tid=10, addr=0x1000, len=0x10000, filename="/bin/x", stamp=STAMP)]
    records += [
        replace(SAMPLE, time=row, chain=(k.CONTEXT_USER, 0x1000 + row, 0x90000 + row % 7)) for row in range(samples)
    ]
    records += [forge.Raw(type=9, body=bytes(8)), forge.Raw(type=3, body=bytes(8))] * damaged  # a sample, a name
    path = place / f"{number}.data"
    path.write_bytes(forge.write_file(replace(ONE, features=forge.Features(hostname=f"host{number}")), records))
    return str(path)


def test_few_recordings_are_open_and_damage_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [forged(tmp_path, number, damaged=number % 2 == 1) for number in range(6)]
    whole = load(paths, LoadOptions())
    most, keep = [0], open_sessions.MAX_OPEN_INPUTS
    load_session = loading._load_session

    def spy(*given: object) -> Loaded:
        gc.collect()
        most[0] = max(most[0], sum(isinstance(one, PerfRecording) for one in gc.get_objects()))
        return load_session(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "_load_session", spy)
    monkeypatch.setattr(open_sessions, "MAX_OPEN_INPUTS", 2)
    assert keep > len(paths)
    gc.collect()
    gc.freeze()  # what other tests left is not looked through
    try:
        bounded = load(paths, LoadOptions())
    finally:
        gc.unfreeze()
    assert 1 <= most[0] <= 3
    assert pprof(bounded) == pprof(whole)
    assert bounded.diagnostics == whole.diagnostics
    assert (bounded.diagnostics["samples_malformed"], bounded.diagnostics["records_malformed"]) == (3, 3)
    assert bounded.sources == tuple(paths)
    assert bounded.record_counts == whole.record_counts


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = forged(tmp_path, 1), forged(tmp_path, 2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        pipe.write_bytes(Path(second).read_bytes())
        pipe.write_bytes(b"")  # for whoever opens it again

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    monkeypatch.setattr(open_sessions, "MAX_OPEN_INPUTS", 0)
    loaded = load([first, str(pipe)], LoadOptions())
    assert loaded.recorded_samples == 6
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer.join(60)
    os.close(reader)


def test_a_file_that_goes_meanwhile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [forged(tmp_path, number) for number in range(2)]
    monkeypatch.setattr(open_sessions, "MAX_OPEN_INPUTS", 0)
    load_session: Callable[..., Loaded] = loading._load_session

    def spy(*given: object) -> Loaded:
        Path(paths[1]).unlink(missing_ok=True)
        return load_session(*given)

    monkeypatch.setattr(loading, "_load_session", spy)
    with pytest.raises(FormatError, match=r"1\.data"):
        load(paths, LoadOptions())


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_sessions, "MAX_OPEN_INPUTS", 2)
    monkeypatch.setattr(incremental_merge, "LEAST_ROWS", 4000)
    paths = [forged(tmp_path, number, samples=2000) for number in range(48)]
    load(paths[:2], LoadOptions())  # imports

    def peak(count: int) -> int:
        tracemalloc.start()
        load(paths[:count], LoadOptions())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(12), peak(48)
    assert many < 1.15 * few, (few, many)
