"""``--where``: DuckDB chooses recordings and samples, and the rest is as if only those had been recorded."""

import sys
from pathlib import Path

import pytest

from perf2x.base.errors import FormatError, OptionError
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.read.read_dataset import Dataset
from perf2x.transforms.filters.choice import Choice
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import add_recording, rows
from tests.support.fleets import recording_of
from tests.support.recordings import CORPUS

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

FORKER, EVENTS = CORPUS / "forker" / "perf.data", CORPUS / "events" / "perf.data"
WEB, DB = {"service": "web", "n": "1"}, {"service": "db", "n": "2"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Processes and threads, a timeline, and a recording without samples."""
    folder = tmp_path_factory.mktemp("where")
    (folder / "none.data").write_bytes(recording_of(1, samples=0))
    add_recording(folder / "profiles", FORKER, WEB, ["service"])
    add_recording(folder / "profiles", EVENTS, DB, ["service"], timeline=True)
    add_recording(folder / "profiles", folder / "none.data", {"service": "idle", "n": "3"})
    return folder / "profiles"


def pprof(
    inputs: list[str], where: str = "", choice: Choice | None = None, *, tags: dict[str, str] | None = None,
    timeline: bool = False,
) -> bytes:  # fmt: skip
    options = LoadOptions(where=where, choice=choice or Choice(), timeline=timeline, tags=(tags,) if tags else ())
    label = ("pid", "tid", "time") if timeline else ("pid", "tid", "comm")
    return outputs.emitted(load(inputs, options).profile, "pprof", label=label, compress=False)


def test_a_condition_on_tags_is_that_of_the_address(dataset: Path) -> None:
    for service in ("web", "db"):
        assert pprof([str(dataset)], f"tags['service'] = '{service}'") == pprof([f"{dataset}?service={service}"])
    assert pprof([str(dataset)], "true") == pprof([str(dataset)])
    assert pprof([f"{dataset}?service=web"], "true") == pprof([f"{dataset}?service=web"])


def test_a_condition_on_samples_is_that_of_the_filter(dataset: Path) -> None:
    """A profile lacks all that no sample needs any more; texts may stand in another order."""
    web = f"{dataset}?service=web"
    processes = sorted({row["pid"] for row in rows(dataset, "samples") if row["time_ns"] is None})
    assert len(processes) > 2
    for chosen in (processes[:1], processes[1:3]):
        where = LoadOptions(where=f"pid IN ({', '.join(map(str, chosen))})")
        found, expected = (load([web], one).profile for one in (where, LoadOptions(choice=Choice(pids=tuple(chosen)))))
        assert outputs.emitted(found, "collapsed") == outputs.emitted(expected, "collapsed")
        assert sorted(found.strings) == sorted(expected.strings)
        for table in ("threads", "mappings", "locations", "stacks", "samples"):
            assert len(getattr(found, table)) == len(getattr(expected, table))


def test_samples_keep_their_order(dataset: Path) -> None:
    db = f"{dataset}?service=db"
    expected = pprof([str(EVENTS)], timeline=True, tags=DB)
    assert pprof([db], "count > 0", timeline=True) == pprof([db], timeline=True) == expected


@pytest.mark.parametrize(("where", "plain"), [
    ("pid % 2 = 0 AND tags['n'] <> '2'", lambda s, r: s["pid"] % 2 == 0 and dict(r["tags"])["n"] != "2"),
    ("samples.count > 1 OR recordings.samples < 50", lambda s, r: s["count"] > 1 or r["samples"] < 50),
    ("stack IS NULL OR value > (SELECT avg(value) FROM samples)", None),
    ("comm LIKE '%o%' -- a comment", lambda s, r: "o" in s["comm"]),
    ("(recording, stack) IN (SELECT (recording, stack) FROM frames WHERE position > 3)", None),
])  # fmt: skip
def test_rows_are_those_that_meet_the_condition(dataset: Path, where: str, plain) -> None:
    recordings = {row["recording"]: row for row in rows(dataset, "recordings")}
    everything = rows(dataset, "samples")
    chosen = Dataset(DatasetAddress(dataset, {}), where)
    found = [row for one in chosen.recordings for row in chosen.rows_of(one).samples.to_pylist()]
    if plain is not None:
        expected = [row for row in everything if plain(row, recordings[row["recording"]])]
        assert sorted(found, key=everything.index) == expected
    assert 0 < len(found) < len(everything)
    assert all(row in everything for row in found)


def test_a_recording_without_samples_is_there_unless_one_is_asked_for(dataset: Path) -> None:
    assert len(Dataset(DatasetAddress(dataset, {}), "tags['n'] > '1'").recordings) == 2
    assert len(Dataset(DatasetAddress(dataset, {}), "tags['n'] > '1' AND pid >= 0").recordings) == 1
    idle = Dataset(DatasetAddress(dataset, {"service": "idle"}), "true")
    assert len(idle.rows_of(idle.recordings[0]).samples) == 0


@pytest.mark.parametrize(("where", "error", "words"), [
    ("tags['n'] = '9'", FormatError, r"no recording with tags\['n'\] = '9' is in this dataset"),
    ("true) ; SELECT (1", OptionError, "where takes one SQL condition"),
    ("nosuch = 1", OptionError, "SQL: .*nosuch"),
    ("pid =", OptionError, "SQL: syntax error"),
    ("pid = 'x'", OptionError, "SQL: "),
    ("pid IN (SELECT 1 FROM read_text('/etc/hostname'))", OptionError, "SQL: "),
])  # fmt: skip
def test_errors(dataset: Path, where: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Dataset(DatasetAddress(dataset, {}), where)


def test_commands_take_it(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ("--where", "tags['service'] = 'web' AND samples > 3", "-q", "--no-symbols")
    assert perf2x("top", dataset, *where).out == perf2x("top", f"{dataset}?service=web", "-q", "--no-symbols").out
    assert perf2x("diff", dataset, dataset, *where).code == 0
    for command in ("convert", "view"):
        assert perf2x(command, dataset, "--where", "nosuch", "-q").err.startswith("perf2x: SQL: ")
    refused = f"{FORKER} is not a dataset; --where chooses samples of datasets"
    for words, said in ((("top", FORKER), refused),
                        (("convert", FORKER, "--to", "parquet", "-o", tmp_path / "p"), "parquet cannot take --where: "
                         "it is given when the dataset is read")):  # fmt: skip
        ran = perf2x(*words, "--where", "true", "-q")
        assert (ran.code, ran.err) == (2, f"perf2x: {said}\n")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ran = perf2x("top", dataset, "--where", "true")
    assert (ran.code, ran.err) == (2, "perf2x: SQL needs DuckDB: pip install 'perf2x[fleet]'\n")
