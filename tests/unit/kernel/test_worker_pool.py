"""One recording in several processes gives what one process gives, whatever becomes of them."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace as replace_field
from multiprocessing import current_process
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf2x.base import worker_processes
from perf2x.base.worker_processes import run_in_processes
from perf2x.errors import OptionError
from perf2x.kernel import worker_pool
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.stage_timer import Stages
from perf2x.kernel.worker_pool import processes_for_samples
from perf2x.model.filters.filter_options import Filters
from perf2x.model.recording.events import Shard
from perf2x.reader import first_walk
from perf2x.stitcher.stitch import Stitcher
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests import forge
from tests.forge import kernel as k
from tests.support import outputs
from tests.support.recordings import CORPUS, Case, corpus_cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recordings are small; blocks must be smaller for every process to have some."""
    monkeypatch.setattr(first_walk, "BLOCK_SIZE", 1 << 14)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 8)


def loaded(case: Case, jobs: int, **options: object) -> Loaded:
    symbols = SymbolOptions(symfs=case.symfs, kallsyms=case.kallsyms)
    return load(str(case.data), load_options(jobs=jobs, symbols=symbols, **options))  # type: ignore[arg-type]


QUICK = {"user_only", "zstd", "unwind_short", "task_end"}
CASES = [pytest.param(case, marks=() if case.name in QUICK else pytest.mark.slow) for case in corpus_cases()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_three_processes_give_the_result_of_one(case: Case) -> None:
    alone, together = loaded(case, 1), loaded(case, 3)
    assert outputs.emitted(together.profile, "pprof") == outputs.emitted(alone.profile, "pprof")
    assert (together.deferred, together.unwound, together.events) == (alone.deferred, alone.unwound, alone.events)
    assert together.symbols == alone.symbols
    assert [(count.name, count.count) for count in together.diagnostics.counts.values()] == [
        (count.name, count.count) for count in alone.diagnostics.counts.values()
    ]


@pytest.mark.parametrize(
    "name", ["events", *(pytest.param(name, marks=pytest.mark.slow) for name in ("task_end", "zstd"))]
)
def test_three_processes_give_the_timeline_of_one(name: str) -> None:
    (case,) = (case for case in corpus_cases() if case.name == name)
    alone, together = (loaded(case, jobs, timeline=True).profile for jobs in (1, 3))
    assert outputs.emitted(together, "chrome") == outputs.emitted(alone, "chrome")


def test_every_process_has_its_shard() -> None:
    stages, pieces = Stages(), list[int]()
    case = next(case for case in corpus_cases() if case.name == "events")
    options = LoadOptions(jobs=3)
    load(str(case.data), options, lambda stage, done, total: pieces.append(done), stages)
    assert stages.cpu["join"] > 0, "what the others came to was added up"


def test_a_filter_that_only_another_process_can_satisfy() -> None:
    case = next(case for case in corpus_cases() if case.name == "forker")
    every = sorted({int(tid) for tid in loaded(case, 1).profile.threads.tid})
    for tid in (every[0], every[-1]):
        alone, together = (loaded(case, jobs, filters=Filters(tids=(tid,))) for jobs in (1, 3))
        assert together.events == alone.events
    with pytest.raises(OptionError, match="999999"):
        loaded(case, 3, filters=Filters(tids=(999999,)))


@pytest.mark.parametrize(("dead", "as_recorded"), [({1}, True), ({2}, False), ({1, 2, 3}, True)], ids=str)
def test_samples_of_processes_that_die_are_read_here(
    dead: set[int], as_recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of four joins the third's result, which is lost with its own; the order of samples stays."""
    case = next(case for case in corpus_cases() if case.name == "events")
    alone = loaded(case, 1, as_recorded=as_recorded)
    add = Stitcher.add

    def dying(stitcher: Stitcher, *batch: Any) -> None:
        add(stitcher, *batch)
        if current_process().name in {f"worker-{number}" for number in dead}:
            os._exit(9)

    monkeypatch.setattr(worker_processes, "_run_worker", named(worker_processes._run_worker))
    monkeypatch.setattr(Stitcher, "add", dying)
    together = loaded(case, 4, as_recorded=as_recorded)
    assert outputs.emitted(together.profile, "pprof") == outputs.emitted(alone.profile, "pprof")
    assert samples_in_order(together) == samples_in_order(alone)


def named(run: Callable[..., None]) -> Callable[..., None]:
    """Let the name of a process end in its number."""

    def run_named(number: int, *rest: Any) -> None:
        current_process().name = f"worker-{number}"
        run(number, *rest)

    return run_named


def samples_in_order(result: Loaded) -> list[list[int]]:
    recorded = result.profile.recorded
    return [] if recorded is None else [column.tolist() for column in recorded.rows(0, int(recorded.batch_end[-1]))]


def test_damage_is_listed_in_one_order(tmp_path: Path) -> None:
    sample = forge.Sample(ip=1, pid=2, tid=2, time=9, chain=(7, 8))
    records: list[forge.Record] = [replace_field(sample, time=number) for number in range(600)]
    records[450], records[500] = replace_field(sample, cpu=1 << 31), replace_field(sample, nr=2**61)
    records[10] = replace_field(sample, time=2**63 + 1)
    event = forge.Event(sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.CPU, ids=(5,))
    (tmp_path / "perf.data").write_bytes(forge.write_file(forge.Session((event,)), records))
    found = [list(load(str(tmp_path / "perf.data"), LoadOptions(jobs=jobs)).diagnostics.counts) for jobs in (1, 2, 5)]
    assert found == [["implausible_cpu", "implausible_time", "samples_malformed"]] * 3


def test_the_shard_of_a_process_that_dies_is_done_here() -> None:
    done: list[int] = []
    there = list(run_in_processes(3, done.append, lambda shard: os._exit(9)))
    assert (there, done) == ([], [0, 1, 2])


@pytest.mark.parametrize("error", [MemoryError(), OSError(12, "Cannot allocate memory")], ids=repr)
def test_the_shard_of_a_process_without_memory_is_done_here_silently(
    error: Exception, capfd: pytest.CaptureFixture
) -> None:  # type: ignore[type-arg]
    def there(shard: object) -> None:
        raise error

    done: list[int] = []
    assert list(run_in_processes(3, done.append, there)) == []
    assert done == [0, 1, 2]
    assert capfd.readouterr().err == ""


def test_shards_without_a_process_are_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = ForkProcess.start, []

    def refused(process: ForkProcess) -> None:
        if started:
            raise BlockingIOError("Resource temporarily unavailable")
        started.append(process)
        start(process)

    monkeypatch.setattr(ForkProcess, "start", refused)
    done: list[int] = []
    there = list(run_in_processes(4, done.append, lambda number: number))
    assert (there, done) == ([1], [0, 2, 3])


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
def test_signals_that_are_ignored_stay_ignored_in_other_processes() -> None:
    """A terminal's end reaches workers, too: under nohup they go on, as the first process does, which can end them."""

    def handlers(shard: Shard) -> list[bool]:
        return [signal.getsignal(number) is signal.SIG_IGN for number in (signal.SIGHUP, signal.SIGTERM)]

    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGTERM)}
    try:
        (found,) = run_in_processes(2, lambda shard: None, handlers)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert found == [True, False]


def test_an_error_in_another_process_is_raised_here() -> None:
    def there(shard: object) -> None:
        raise OptionError("not this one")

    with pytest.raises(OptionError, match="not this one"):
        list(run_in_processes(2, lambda shard: None, there))


SUMS, THREADS = LoadOptions(jobs=0, by_thread=False), LoadOptions(jobs=0, by_thread=True)


@pytest.mark.parametrize(
    ("cores", "samples", "options", "processes"),
    [
        (2, 4_999_999, SUMS, 1), (2, 5_000_000, SUMS, 2), (3, 5_999_999, SUMS, 2), (3, 6_000_000, SUMS, 3),
        (8, 10**9, SUMS, 8), (1, 10**9, SUMS, 1), (3, 10**9, THREADS, 1), (8, 7_999_999, THREADS, 1),
        (8, 8_000_000, THREADS, 4), (8, 10**9, replace(SUMS, timeline=True), 1),
        (8, 10**9, SUMS.with_values(as_recorded=True), 1),
    ],
)  # fmt: skip
def test_no_more_processes_than_pay(
    cores: int, samples: int, options: LoadOptions, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and output keep the first one busy: others are worth it for long recordings only."""
    monkeypatch.setattr(worker_pool, "available_cores", lambda: cores)
    assert processes_for_samples(samples, options) == processes
    assert processes_for_samples(1, replace(options, jobs=5)) == 5, "who asks knows better"


def test_the_corpus_is_split_into_enough_blocks() -> None:
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.model.recording.events import Want
    from perf2x.reader import open_recording

    recording = open_recording(str(Path(CORPUS) / "events" / "perf.data"), diagnostics=Diagnostics())
    sizes = [sum(map(len, recording.samples(Want.CHAIN, Shard(number, 3)))) for number in range(3)]
    assert all(sizes) and sum(sizes) == recording.sample_count
