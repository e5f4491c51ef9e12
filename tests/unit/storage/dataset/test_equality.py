"""A dataset of recordings converts to the same bytes as the recordings themselves, however it was put together."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.plugins.registry import load_emitter
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.transforms.filters.choice import Choice
from tests import forge
from tests.forge.histories import EVENT, histories
from tests.support import outputs
from tests.support.datasets import add_recording
from tests.support.examples import examples
from tests.support.recordings import CORPUS, ROOT

pytest.importorskip("pyarrow")

LABELS = ("pid", "tid", "comm", "process", "mode", "event", "cgroup")
KERNEL_ID = bytes(range(20))
HERE = SymbolOptions(buildid_dir=Path("/nonexistent"), perf_map_dir=Path("/nonexistent"))
Tags = dict[str, str]


def pprof(
    inputs: list[Path], tags: list[Tags] | None = None, *, symbols: SymbolOptions | None = None,
    choice: Choice | None = None, labels: tuple[str, ...] = LABELS,
) -> bytes:  # fmt: skip
    emitter = load_emitter("pprof")(label=labels, compress=False)
    options = LoadOptions(
        by_cgroup="cgroup" in labels, by_cpu="cpu" in labels, timeline=emitter.needs.timeline, tags=tuple(tags or ()),
        symbols=symbols, choice=choice or Choice(),
    )  # fmt: skip
    return outputs.emitted(load([str(path) for path in inputs], options).profile, "pprof", label=labels, compress=False)


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
    expected = pprof(files, tags)
    order = list(range(len(files)))
    random.shuffle(order)
    partition = random.choice([[], ["service"], ["version", "date"]])
    for row in order:
        for _ in range(random.choice([1, 2])):  # one that was interrupted comes again
            add_recording(here / "profiles", files[row], tags[row], partition)
    assert pprof([here / "profiles"]) == expected
    assert pprof([files[row] for row in order], [tags[row] for row in order]) == expected
    shutil.rmtree(here)


CASES = [CORPUS / name / "perf.data" for name in ("perf_map", "unwind", "events", "unwind_jit")]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Datasets of one recording each, named where that was recorded, sums and timelines."""
    made = {}
    for case in CASES:
        made[case] = tmp_path_factory.mktemp("one") / "profiles"
        add_recording(made[case], case, symbols=symbols_of(case), timeline=case.parent.name == "events")
    return made


def symbols_of(case: Path) -> SymbolOptions:
    return SymbolOptions(symfs=case.parent / "symfs", buildid_dir=Path("/nonexistent"), perf_map_dir=case.parent)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_names_are_those_of_the_recording(case: Path, datasets: dict[Path, Path]) -> None:
    assert pprof([datasets[case]], symbols=symbols_of(case)) == pprof([case], symbols=symbols_of(case))


def test_names_that_only_the_recording_machine_knew_are_kept(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "perf_map" / "perf.data"
    there, gone = symbols_of(case), SymbolOptions(symfs=case.parent / "symfs", buildid_dir=HERE.buildid_dir)
    assert pprof([datasets[case]], symbols=gone) == pprof([case], symbols=there) != pprof([case], symbols=gone)


def test_timelines_keep_times_and_cpus(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "events" / "perf.data"
    for labels in (("time", "tid"), ("tid",)):
        assert pprof([datasets[case]], labels=labels) == pprof([case], labels=labels)


def test_filters_leave_the_same(datasets: dict[Path, Path]) -> None:
    case = CORPUS / "unwind" / "perf.data"
    profile = load([str(case)], LoadOptions()).profile
    comm = profile.strings[int(profile.threads.comm[0])]
    for choice in (Choice(tids=(int(profile.threads.tid[0]),)), Choice(comms=(comm,)), Choice(frames="user")):
        assert pprof([datasets[case]], choice=choice, symbols=HERE) == pprof([case], choice=choice, symbols=HERE)


def test_tags_choose_recordings(tmp_path: Path) -> None:
    one, other = CORPUS / "forker" / "perf.data", ROOT / "examples" / "deferred" / "perf.data"
    add_recording(tmp_path / "profiles", one, {"version": "1"}, ["version"])
    add_recording(tmp_path / "profiles", other, {"version": "2 b"})  # folders are named as before
    assert pprof([tmp_path / "profiles?version=1"]) == pprof([one], [{"version": "1"}])
    assert pprof([tmp_path / "profiles?version=2+b"]) == pprof([other], [{"version": "2 b"}])
