"""A dataset of recordings says the same as the recordings themselves, however it was put together."""

import shutil
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.fleet.query import run_query
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.filters.filter_options import Filters
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests import forge
from tests.forge.histories import EVENT, histories
from tests.support.datasets import add_recordings, content
from tests.support.examples import examples
from tests.support.recordings import CORPUS, ROOT

pytest.importorskip("pyarrow")

KERNEL_ID = bytes(range(20))
HERE = SymbolOptions(buildid_dir=Path("/nonexistent"), perf_map_dir=Path("/nonexistent"))
Tags = dict[str, str]


def said(
    inputs: list[Path], tags: list[Tags] | None = None, *, symbols: SymbolOptions | None = None,
    filters: Filters | None = None, labels: tuple[str, ...] = (), timeline: bool = False,
) -> Counter[Any]:  # fmt: skip
    options = LoadOptions(
        keep=frozenset({"cgroup"} | {"cpu"} & set(labels)), timeline=timeline, tags=tuple(tags or ()), symbols=symbols,
        filters=filters or Filters(),
    )  # fmt: skip
    return content(load([str(path) for path in inputs], options).profile)


@st.composite
def fleets(draw: st.DrawFn) -> list[tuple[bytes, Tags]]:
    """Recordings of several hosts, with their tags."""
    found = []
    for host in range(draw(st.integers(1, 3))):
        event = replace(EVENT, name=draw(st.sampled_from(["cycles", "instructions"])), period=draw(st.integers(1, 3)))
        known = {"/bin/a": b"\1" * 20, "[kernel.kallsyms]": KERNEL_ID} if draw(st.booleans()) else {}
        features = forge.Features(hostname=f"host{host}", arch="x86_64", build_ids=tuple(known.items()))
        records = draw(histories())
        raw = forge.write_file(forge.Session((event,), features=features), records)
        found.append((raw, {"service": draw(st.sampled_from("ab")), "version": str(host)}))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleet")


NUMBERS = count()


@settings(max_examples=examples(12), deadline=None)
@given(fleets(), st.randoms(use_true_random=False))
def test_datasets_equal_their_recordings(folder: Path, fleet: list[tuple[bytes, Tags]], random) -> None:
    here = folder / str(next(NUMBERS))
    here.mkdir()
    files = []
    for number, (raw, _) in enumerate(fleet):
        files.append(here / f"{number}.data")
        files[-1].write_bytes(raw)
    tags = [each for _, each in fleet]
    expected = said(files, tags)
    order = list(range(len(files)))
    random.shuffle(order)
    partition = random.choice([[], ["service"], ["version", "date"]])
    for row in order:
        for _ in range(random.choice([1, 2])):  # the same command again
            add_recordings(here / "profiles", [files[row]], tags[row], partition)
    assert said([here / "profiles"]) == expected
    assert said([files[row] for row in order], [tags[row] for row in order]) == expected
    shutil.rmtree(here)


CASES = [CORPUS / name / "perf.data" for name in ("perf_map", "unwind", "events", "unwind_jit")]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Datasets of one recording each, named where that was recorded, sums and timelines."""
    made = {}
    for case in CASES:
        made[case] = tmp_path_factory.mktemp("one") / "profiles"
        add_recordings(made[case], [case], symbols=symbols_of(case), timeline=case.parent.name == "events")
    return made


def symbols_of(case: Path) -> SymbolOptions:
    return SymbolOptions(symfs=case.parent / "symfs", buildid_dir=Path("/nonexistent"), perf_map_dir=case.parent)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_names_are_those_of_the_recording(case: Path, datasets: dict[Path, Path]) -> None:
    assert said([datasets[case]], symbols=symbols_of(case)) == said([case], symbols=symbols_of(case))


def test_names_that_only_the_recording_machine_knew_are_kept(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "perf_map" / "perf.data"
    there, gone = symbols_of(case), SymbolOptions(symfs=case.parent / "symfs", buildid_dir=HERE.buildid_dir)
    assert said([datasets[case]], symbols=gone) == said([case], symbols=there) != said([case], symbols=gone)


def test_timelines_keep_times_and_cpus(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "events" / "perf.data"
    for timeline in (True, False):
        assert said([datasets[case]], labels=("cpu",), timeline=timeline) == said(
            [case], labels=("cpu",), timeline=timeline
        )


def test_filters_leave_the_same(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "unwind" / "perf.data"
    profile = load([str(case)], LoadOptions()).profile
    comm = profile.strings[int(profile.threads.comm[0])]
    for filters in (Filters(tids=(int(profile.threads.tid[0]),)), Filters(comms=(comm,)), Filters(frames="user")):
        assert said([datasets[case]], filters=filters, symbols=HERE) == said([case], filters=filters, symbols=HERE)


def test_tags_choose_recordings(tmp_path: Path) -> None:
    one, other = CORPUS / "forker" / "perf.data", ROOT / "examples" / "deferred" / "perf.data"
    add_recordings(tmp_path / "profiles", [one], {"version": "1"}, ["version"])
    add_recordings(tmp_path / "profiles", [other], {"version": "2 b"})  # folders are named as before
    assert said([tmp_path / "profiles?version=1"]) == said([one], [{"version": "1"}])
    assert said([tmp_path / "profiles?version=2+b"]) == said([other], [{"version": "2 b"}])


def test_queries_find_files_of_tags_with_any_characters(tmp_path: Path) -> None:
    tags = {"version": "2 b/ä%=?'\""}
    add_recordings(tmp_path / "profiles", [CORPUS / "forker" / "perf.data"], tags, ["version"])
    for table in ("samples", "recordings"):
        with run_query(tmp_path / "profiles", f"SELECT DISTINCT version FROM {table}") as answer:
            assert list(answer.rows()) == [(tags["version"],)]
