"""Datasets of earlier versions become new ones that convert to the bytes of their recordings.

``dataset-2.tar.xz`` was written by perf2x when version 2 was the last: a timeline, code with names of its own, a
program with symbols, all put together, and a recording that was added afterwards; and what they converted to.
"""

import tarfile
from pathlib import Path

import pytest

from perf2x.base.errors import FormatError, OptionError
from perf2x.fleet.convert_dataset import convert_dataset
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.plugins.dataset_contract import DatasetContract
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import add_recording, rows
from tests.support.recordings import CORPUS

pytest.importorskip("pyarrow")
pytest.importorskip("deltalake")

NAMES = ("events", "perf_map", "shapes", "user_only")
GONE = SymbolOptions(symfs=Path("/nonexistent"), buildid_dir=Path("/nonexistent"), perf_map_dir=Path("/nonexistent"))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(Path(__file__).with_name("dataset-2.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def new(old: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "profiles"
    assert convert_dataset(old, storage_at(folder)) == len(NAMES)
    return folder


@pytest.mark.parametrize("is_compact", [False, True])
def test_it_converts_to_the_bytes_of_before(old: Path, new: Path, is_compact: bool) -> None:
    if is_compact:
        compact(storage_at(new))
    loaded = load([str(new)], LoadOptions(symbols=GONE))
    found = outputs.emitted(loaded.profile, "pprof", label=("pid", "comm"), compress=False)
    assert found == (old / "expected.pprof").read_bytes()


def test_rows_are_those_that_are_added_today(new: Path, tmp_path: Path) -> None:
    add_recording(tmp_path, CORPUS / "events" / "perf.data", {"service": "db"}, ["service"], timeline=True)
    (ident,) = {row["recording"] for row in rows(tmp_path, "recordings")}
    for table, columns in (("samples", ("value", "count", "time_ns", "cpu", "comm")), ("mappings", ("start", "file"))):
        found, wanted = (
            [tuple(row[name] for name in columns) for row in rows(data, table) if row["recording"] == ident]
            for data in (new, tmp_path)
        )
        assert found == wanted


class TestConverted(DatasetContract):
    """What is made of an old dataset is a dataset."""

    @pytest.fixture(autouse=True)
    def folder_of(self, new: Path) -> None:
        self.folder = new

    def dataset(self) -> Path:
        return self.folder


def test_old_ones_are_said_and_new_ones_are_left(old: Path, new: Path, tmp_path: Path) -> None:
    ran = perf2x("top", old)
    assert (
        ran.err
        == f"perf2x: {old}: a dataset of an earlier version; perf2x fleet convert-dataset makes a new one of it\n"
    )
    ran = perf2x("fleet", "convert-dataset", old, "-o", tmp_path / "other")
    assert (ran.code, ran.err) == (0, f"{tmp_path / 'other'}: {len(NAMES)} recordings of {old}\n")
    with pytest.raises(OptionError, match="there is a dataset already"):
        convert_dataset(old, storage_at(new))
    for folder in (new, tmp_path):
        with pytest.raises(FormatError, match="not a dataset of an earlier version"):
            convert_dataset(folder, storage_at(tmp_path / "none"))
