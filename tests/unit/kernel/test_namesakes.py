"""Formats that show no more of a thread than its name: samples of namesakes are summed, and the bytes stay the same."""

from pathlib import Path

import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.kernel.load_result import Loaded
from perf2x.kernel.registry import build_emitter
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.reader import first_walk
from tests import forge
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.recordings import CORPUS

CASES = ["forker", "family", "events", "per_thread"]
SETTINGS: list[tuple[str, dict[str, object]]] = [
    ("collapsed", {}), ("collapsed", {"value": "samples"}), ("collapsed", {"root": False}),
    ("pprof", {"label": ("comm", "mode")}), ("pprof", {"label": ()}), ("pprof", {"reader": "go-pgo"}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process has some."""
    monkeypatch.setattr(first_walk, "BLOCK_SIZE", 1 << 14)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 8)


def loaded(path: Path, **options: object) -> Loaded:
    return load(str(path), load_options(**options))  # type: ignore[arg-type]


def twins(path: Path, threads: int) -> Path:
    """Threads of two names, and two without, all with samples of one stack."""
    records: list[forge.Record] = []
    for tid in range(1, threads + 1):
        stamp = forge.Stamp(1, tid, tid)
        if tid > 2:
            records.append(forge.Comm(pid=1, tid=tid, comm=f"pool-{tid % 2}", stamp=stamp))
        records += [forge.Sample(pid=1, tid=tid, ip=0x1000, time=tid + 1) for _ in range(3)]
    path.write_bytes(forge.write_file(forge.Session(), records))
    return path


@pytest.mark.parametrize(("name", "jobs"), [*((name, 1) for name in CASES), ("forker", 3)])
def test_same_lines_and_threads(name: str, jobs: int) -> None:
    path = CORPUS / name / "perf.data"
    apart, together = loaded(path), loaded(path, by_thread=False, jobs=jobs)
    for form, settings in SETTINGS:
        assert not build_emitter(form, settings).needs.threads
        expected = outputs.emitted(apart.profile, form, **settings)
        assert outputs.emitted(together.profile, form, **settings) == expected
    assert (together.profile.threads.tid == apart.profile.threads.tid).all()
    assert (together.profile.threads.comm == apart.profile.threads.comm).all()
    assert together.events == apart.events


def test_a_name_is_a_row(tmp_path: Path) -> None:
    path = twins(tmp_path / "perf.data", 12)
    apart, together = loaded(path).profile.samples, loaded(path, by_thread=False).profile.samples
    assert (len(apart), len(together)) == (12, 4)
    assert sorted(together.count.tolist()) == [3, 3, 15, 15]


@pytest.mark.parametrize(
    "options",
    [
        {"timeline": True}, {"filters": Filters(comms=("pool-*",))}, {"grouping": Grouping(root="thread")},
        {"grouping": Grouping(merge_threads=True)}, {"anonymize": "secret"}, {"off_cpu": "beside"},
    ],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_what_asks_more_of_threads_has_them_apart(options: dict[str, object]) -> None:
    assert load_options(by_thread=False, **options).keeps_threads  # type: ignore[arg-type]


def test_lines_with_numbers_of_threads(tmp_path: Path) -> None:
    path = twins(tmp_path / "perf.data", 5)
    for flag, lines in (("--set=with_tid=yes", 5), ("--set=with_pid=yes", 4), ("--quiet", 4)):
        ran = perf2x("convert", path, "-t", "collapsed", flag, "-o", "-", "-q", "--no-symbols")
        assert (ran.code, len(ran.out.splitlines())) == (0, lines)
    assert not build_emitter("collapsed").needs.threads
    assert build_emitter("pprof").needs.threads
