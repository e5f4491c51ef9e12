"""Names that a dataset gets later are those of a conversion with the same files."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perf2x.cli.fleet_progress import progress_line
from perf2x.fleet.symbolize_dataset import NamingTotals
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.sources.dataset.dataset_schema import KEY
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Comm, Event, Features, Mmap, Sample, Session, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.datasets import add_recordings, content, rows
from tests.support.recordings import CORPUS

pytest.importorskip("duckdb")
CASES = [CORPUS / name / "perf.data" for name in ("calls", "shapes", "forker")]
SYMFS = CORPUS / "common" / "symfs"


def said(inputs: list[Path], symfs: Path) -> Counter[Any]:
    symbols = SymbolOptions(symfs=symfs, buildid_dir=Path("/nonexistent"))
    return content(load([str(path) for path in inputs], LoadOptions(symbols=symbols)).profile)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain") / "profiles"
    nothing = SymbolOptions(symfs=Path("/nonexistent"), buildid_dir=Path("/nonexistent"))
    add_recordings(folder, CASES, symbols=nothing)
    return folder


@pytest.fixture
def data(plain: Path, tmp_path: Path) -> Path:
    shutil.copytree(plain, tmp_path / "profiles")
    return tmp_path / "profiles"


def named(data: Path) -> dict[tuple[Any, ...], Any]:
    found = [(tuple(row[name] for name in KEY), row) for row in rows(data, "symbols")]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_a_named_dataset_says_what_its_recordings_do_with_symbols(data: Path, tmp_path: Path) -> None:
    assert said([data], tmp_path) == said(CASES, tmp_path) != said(CASES, SYMFS)
    ran = perf2x("fleet", "symbolize", data, "--symfs", SYMFS)
    assert (ran.code, " places got names, in " in ran.err) == (0, True)
    assert said([data], tmp_path) == said(CASES, SYMFS)
    before = named(data)
    again = perf2x("fleet", "symbolize", data, "--symfs", SYMFS)
    assert (again.code, named(data)) == (0, before)


def test_later_runs_fill_in_and_never_replace(data: Path, tmp_path: Path) -> None:
    assert perf2x("fleet", "symbolize", data, "--symfs", tmp_path).code == 0
    without = named(data)
    assert {row["reason"] for row in without.values()} & {"no file found", "not found"} or all(
        row["reason"] and not row["lines"] for row in without.values()
    )
    assert perf2x("fleet", "symbolize", data, "--symfs", SYMFS, "--workers", "2").code == 0
    filled = named(data)
    assert filled.keys() == without.keys() and any(row["lines"] for row in filled.values())
    assert perf2x("fleet", "symbolize", data, "--symfs", tmp_path).code == 0
    assert named(data) == filled


def test_given_objects_alone_name_places(data: Path, tmp_path: Path) -> None:
    assert perf2x("fleet", "symbolize", data, SYMFS).code == 0
    assert said([data], tmp_path) == said(CASES, SYMFS)
    again = perf2x("fleet", "symbolize", data, SYMFS)
    assert again.said.endswith(": no place without a name is in an object with the build id of these files")
    ran = perf2x("fleet", "symbolize", data, tmp_path / "missing")
    assert (ran.code, "missing" in ran.err) == (1, True)


def test_an_estimate_waits_for_a_tenth() -> None:
    totals = NamingTotals(1000, done=99)
    assert progress_line(totals, 10, "recordings") == "99 of 1,000 recordings, 9.9/s"
    totals.done = 100
    assert progress_line(totals, 10, "recordings") == "100 of 1,000 recordings, 10.0/s, 90 s left"


TEXT = 0xFFFFFFFF90000000
KERNEL = ("do_syscall_64", "schedule", "mas_prev", "asm_exc_page_fault", "exc_page_fault", "_etext")


def test_an_interrupted_kernel_function_is_named_at_its_first_instruction(tmp_path: Path) -> None:
    """The dataset has only the address returned to, a byte before which another function ends."""
    syscall, _, mas_prev, entry, fault, _ = (TEXT + 0x1000 * row for row in range(len(KERNEL)))
    lines = [f"{TEXT + 0x1000 * row:x} T {name}\n" for row, name in enumerate(KERNEL)]
    (tmp_path / "kallsyms").write_text("".join(lines))
    chain = (k.CONTEXT_KERNEL, fault + 8, entry + 18, mas_prev, syscall + 16)
    records = [
        Mmap(
            pid=2**32 - 1, tid=0, addr=TEXT, len=0x10000, pgoff=TEXT, filename="[kernel.kallsyms]_text", misc=k.KERNEL
        ),
        Comm(pid=7, tid=7, comm="app"),
        Sample(pid=7, tid=7, ip=fault + 8, time=1, chain=chain, misc=k.KERNEL),
    ]
    facts = Features(hostname="host", os_release="7.2.0", arch="x86_64", build_ids=(("[kernel.kallsyms]", b"\1" * 20),))
    recording = tmp_path / "perf.data"
    recording.write_bytes(write_file(Session(events=(Event(),), features=facts), records))
    folder = tmp_path / "profiles"
    nothing = SymbolOptions(symfs=Path("/nonexistent"), buildid_dir=Path("/nonexistent"))
    add_recordings(folder, [recording], symbols=nothing)
    ran = perf2x("fleet", "symbolize", folder, "--kallsyms", tmp_path / "kallsyms")
    assert ran.code == 0
    symbols = SymbolOptions(kallsyms=tmp_path / "kallsyms", buildid_dir=Path("/nonexistent"))
    direct = content(load([str(recording)], LoadOptions(symbols=symbols)).profile)
    assert content(load([str(folder)], LoadOptions(symbols=nothing)).profile) == direct
    assert "mas_prev" in str(direct)
    assert "schedule" not in str(direct)
