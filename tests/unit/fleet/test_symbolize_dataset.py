"""Names of a dataset's places: each looked up once, as a conversion of the recordings would, and more in later runs."""

import dataclasses
import lzma
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.cli.fleet_progress import progress_line
from perf2x.fleet import local_processes
from perf2x.fleet.local_processes import one_by_one
from perf2x.fleet.symbolize_dataset import Named, NamingJob, NamingTotals, symbolize, symbolize_one
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.names.object_profile import object_profile
from perf2x.storage.dataset.names.unnamed_places import ASKED, CodeObject, unnamed_objects
from perf2x.storage.dataset.sql.duckdb_engine import engine
from perf2x.storage.dataset.table_log import read_log
from perf2x.storage.dataset.write.profile_places import profile_places
from perf2x.storage.dataset.write.table_rows import MODES
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests import forge
from tests.forge import kernel as k
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.datasets import KEY, add_recording, rows
from tests.support.extremes import SAMPLE, STAMP
from tests.support.fleets import ONE, files_of, recording_of
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

CASES = [CORPUS / name / "perf.data" for name in ("calls", "family", "shapes")]
KERNEL = "48dc540c8b76"
"""Beginning of the build id of their kernel."""


def options(place: Path, symfs: Path) -> SymbolOptions:
    return SymbolOptions(
        symfs=symfs, buildid_dir=place / "buildid", perf_map_dir=place / "none", cache_dir=place / "cache"
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset without names, and a build-id cache with the kernel's symbols."""
    here = tmp_path_factory.mktemp("symbolize")
    for case in CASES:
        add_recording(here / "profiles", case, symbols=options(here, CORPUS / "common" / "symfs"))
    (build_id,) = {row["kernel_build_id"] for row in rows(here / "profiles", "recordings")}
    assert build_id.startswith(KERNEL)
    entry = here / "buildid" / ".build-id" / build_id[:2] / build_id[2:]
    entry.mkdir(parents=True)
    packed = CORPUS / "calls" / "kallsyms.xz"
    (entry / "kallsyms").write_bytes(lzma.decompress(packed.read_bytes()))
    (here / "empty").mkdir()
    return here


def unnamed(folder: Path) -> list[CodeObject]:
    with engine(folder, ASKED) as connection:
        unnamed = unnamed_objects(connection)
        found = list(unnamed.each)
    assert (unnamed.objects, unnamed.places) == (len(found), sum(len(one.places.offset) for one in found))
    return found


def name_all(folder: Path, symbols: SymbolOptions, objects: list[CodeObject] | None = None) -> list[Named]:
    objects = unnamed(folder) if objects is None else objects
    ends: list[Named] = []

    def run(task: Any, items: Any, job: Any) -> Iterator[tuple[Any, Any]]:
        for item, end in one_by_one(task, items, job):
            ends.append(end)
            yield item, end

    symbolize(run, iter(objects), NamingJob(str(folder), symbols), lambda _: None, len(objects))
    return ends


def copied(place: Path, to: Path) -> Path:
    shutil.copytree(place / "profiles", to / "profiles")
    return to / "profiles"


def pprof(inputs: list[Path], symbols: SymbolOptions) -> bytes:
    loaded = load([str(path) for path in inputs], LoadOptions(symbols=symbols))
    return outputs.emitted(loaded.profile, "pprof", compress=False)


@pytest.fixture(scope="module")
def named(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copied(place, tmp_path_factory.mktemp("named"))
    name_all(folder, options(place, CORPUS / "common" / "symfs"))
    return folder


def test_a_named_dataset_converts_as_its_recordings_do_with_symbols(place: Path, named: Path) -> None:
    """Interrupted frames of the kernel and inlined functions are among them."""
    there, gone = options(place, CORPUS / "common" / "symfs"), SymbolOptions(symfs=place / "empty", cache_dir=place)
    expected = pprof(CASES, there)
    assert pprof([named], gone) == expected
    assert pprof([place / "profiles"], gone) != expected


def test_each_place_is_asked_for_once(place: Path, named: Path) -> None:
    objects = unnamed(place / "profiles")
    asked = [(code.id, *key) for code in objects for key in keys_of(code)]
    stored = {
        (row["object_id"], *(row[name] for name in KEY)) for row in rows(place / "profiles", "places")
        if not row["is_local"] and row["file"]
    }  # fmt: skip
    assert len(asked) == len(set(asked))
    assert set(asked) <= stored
    assert [code.id for code in objects] == sorted(code.id for code in objects)
    assert {name[:39] for name in read_log(named / "symbols").files} == {f"object-{code.id}" for code in objects}


def keys_of(code: CodeObject) -> Iterator[tuple[object, ...]]:
    places = code.places
    offset, mode = places.offset.view(np.int64).tolist(), [MODES[CpuMode(one)] for one in places.mode.tolist()]
    return zip(offset, mode, places.is_return.tolist(), places.variant.tolist(), strict=True)


def test_places_lie_where_a_recording_had_them(place: Path) -> None:
    for code in unnamed(place / "profiles"):
        found = profile_places(object_profile(code), bytes.fromhex(code.mappings[0]["recording"]))
        own = slice(0, len(code.places.offset))
        assert {found.object_ids[one] for one in found.object(own)} == {code.id}
        assert np.array_equal(found.offset(own), code.places.offset)


def test_what_has_no_name_is_remembered_with_the_reason(place: Path, named: Path) -> None:
    """Readers do not look it up again; whoever symbolizes does."""
    lacking = {
        (row["object_id"], row["file_offset"], row["is_return"]) for row in rows(named, "symbols") if row["reason"]
    }
    assert {code.id for code in unnamed(named)} == {one[0] for one in lacking}
    assert {row["reason"] for row in rows(named, "symbols")} > {""}
    ran = perf2x("top", named, env={"XDG_CACHE_HOME": str(place / "none")})
    assert ran.code == 0
    assert not (place / "none" / "perf2x").exists()


def test_later_runs_fill_in_and_order_makes_no_difference(place: Path, named: Path, tmp_path: Path) -> None:
    """The kernel first, then one program, then all: the files are those of one run."""
    folder = copied(place, tmp_path)
    some = tmp_path / "some"
    (some / "demo").mkdir(parents=True)
    first = name_all(folder, options(place, some))
    assert {one.name for one in first if one.named} == {"[kernel.kallsyms]"}
    assert all(one.reason for one in first if one.named < one.places)
    shutil.copy(CORPUS / "common" / "symfs" / "demo" / "calls", some / "demo" / "calls")
    second = name_all(folder, options(place, some))
    assert {one.name for one in second if one.named} == {"calls"}
    before = files_of(folder)
    assert not any(one.named for one in name_all(folder, options(place, some)))
    assert files_of(folder) == before
    name_all(folder, options(place, CORPUS / "common" / "symfs"), unnamed(folder)[::-1])
    assert files_of(folder) == files_of(named)


def test_a_task_that_runs_twice_doubles_nothing(place: Path, named: Path, tmp_path: Path) -> None:
    """As when its worker was killed behind the write."""
    folder, symbols = copied(place, tmp_path), options(place, CORPUS / "common" / "symfs")
    objects = unnamed(folder)
    for code in objects:
        symbolize_one(code, NamingJob(str(folder), symbols))
    name_all(folder, symbols, [code for code in objects for _ in range(2)])
    assert files_of(folder) == files_of(named)


def test_half_of_an_object_joins_the_other_half(place: Path, named: Path, tmp_path: Path) -> None:
    """A recording that is added later brings new places of an object that has names."""
    folder, symbols = tmp_path / "profiles", options(place, CORPUS / "common" / "symfs")
    for case in CASES:
        add_recording(folder, case, symbols=symbols)
        name_all(folder, symbols)
    assert files_of(folder) == files_of(named)


def test_what_means_nothing_elsewhere_is_left(tmp_path: Path) -> None:
    case = CORPUS / "perf_map" / "perf.data"
    add_recording(tmp_path / "profiles", case)
    left = {row["object_id"] for row in rows(tmp_path / "profiles", "places") if row["is_local"]}
    assert left
    assert not left & {code.id for code in unnamed(tmp_path / "profiles")}


def test_totals(place: Path) -> None:
    totals = NamingTotals(3)
    totals.add(Named("a", 3, 3, ""))
    totals.add(Named("b", 3, 1, "stripped"))
    assert (totals.done, totals.places, totals.named, totals.unnamed) == (2, 6, 4, [Named("b", 3, 1, "stripped")])
    assert progress_line(totals, 1.0, "objects") == "2 of 3 objects, 2.0/s, 0 s left"


def test_nothing_to_name_needs_no_worker(place: Path, tmp_path: Path) -> None:
    (tmp_path / "a.data").write_bytes(recording_of(1, samples=0))
    add_recording(tmp_path / "no", tmp_path / "a.data")
    ran = perf2x("fleet", "symbolize", tmp_path / "no")
    assert (ran.code, ran.err) == (0, f"{tmp_path / 'no'}: every place that can have a name has one\n")
    assert perf2x("fleet", "symbolize", tmp_path / "none").code == 1
    assert perf2x("fleet", "symbolize", place / "profiles", "--symfs", tmp_path / "none").code == 2


def test_few_places_need_no_worker(place: Path, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    folder = copied(place, tmp_path)
    words = ["fleet", "symbolize", folder, "--symfs", CORPUS / "common" / "symfs", "--buildid-dir", place / "buildid"]
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    ran = perf2x(*words, "--scheduler", "tls://127.0.0.1:9", env=env)
    assert (ran.code, ran.err) == (2, "perf2x: clusters need Dask: pip install 'perf2x[fleet]'\n")
    monkeypatch.setattr(local_processes, "_Worker", None)
    ran = perf2x(*words, env=env)
    assert (ran.code, "Dask" in ran.err) == (0, False)
    assert files_of(folder) == files_of(named)


@pytest.fixture(scope="module")
def kernel_files(place: Path) -> dict[str, Path]:
    """The kernel's symbols, and an ELF file with a few of them."""
    (build_id,) = {row["kernel_build_id"] for row in rows(place / "profiles", "recordings")}
    text = lzma.decompress((CORPUS / "calls" / "kallsyms.xz").read_bytes()).decode()
    symbols = [TinySymbol(name, int(address, 16), 64) for address, _, name in map(str.split, text.splitlines())]
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + bytes.fromhex(build_id)
    sections = [
        TinySection(".text", bytes(64), 0xFFFFFFFF81000000, flags=6),
        TinySection(".note.gnu.build-id", note, 0, "NOTE", 2), *symbol_sections(symbols, 3),
    ]  # fmt: skip
    (place / "vmlinux").write_bytes(tiny_elf(sections, kind=2))
    return {"kallsyms": CORPUS / "calls" / "kallsyms.xz", "vmlinux": place / "vmlinux"}


@pytest.mark.parametrize("option", ["kallsyms", "vmlinux"])
def test_files_of_the_kernel_name_what_they_do_in_a_conversion(
    place: Path, kernel_files: dict[str, Path], option: str, tmp_path: Path
) -> None:
    folder, file = copied(place, tmp_path), kernel_files[option]
    ran = perf2x("fleet", "symbolize", folder, "--symfs", place / "empty", f"--{option}", file)
    assert ran.code == 0
    unnamed = SymbolOptions(symfs=place / "empty", cache_dir=tmp_path)
    expected = pprof(CASES, replace(unnamed, **{option: file}))
    assert pprof([folder], unnamed) == expected != pprof(CASES, unnamed)


def test_symbols_of_one_kernel_are_not_those_of_two(place: Path, tmp_path: Path) -> None:
    other, text = tmp_path / "other.data", 0xFFFFFFFF81000000
    features = forge.Features(hostname="other", build_ids=(("[kernel.kallsyms]", bytes(range(20))),))
    records = [
        forge.Mmap(pid=0xFFFFFFFF, tid=0, addr=text, len=1 << 20, pgoff=text, misc=k.KERNEL,
                   filename="[kernel.kallsyms]_text", stamp=STAMP),
        dataclasses.replace(SAMPLE, chain=(k.CONTEXT_KERNEL, text + 16)),
    ]  # fmt: skip
    other.write_bytes(forge.write_file(dataclasses.replace(ONE, features=features), records))
    folder = copied(place, tmp_path)
    add_recording(folder, other)
    ran = perf2x("fleet", "symbolize", folder, "--kallsyms", CORPUS / "calls" / "kallsyms.xz")
    assert ran.code == 2
    assert ran.err == ("perf2x: --kallsyms is of one kernel, and 2 lack names: use build-id stores (--buildid-dir)\n")


@pytest.mark.slow
def test_workers_write_the_same(place: Path, named: Path, tmp_path: Path) -> None:
    folder = copied(place, tmp_path)
    ran = perf2x(
        "fleet", "symbolize", folder, "--symfs", CORPUS / "common" / "symfs", "--buildid-dir", place / "buildid",
        "--workers", "2", env={"XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert ran.code == 0
    assert " places got names, in " in ran.err
    assert files_of(folder) == files_of(named)


@pytest.mark.slow
def test_files_may_be_put_together_before_and_after(place: Path, tmp_path: Path) -> None:
    symbols = options(place, CORPUS / "common" / "symfs")
    wanted = pprof(CASES, symbols)
    data = copied(place, tmp_path)
    compact(storage_at(data))
    name_all(data, symbols)
    assert pprof([data], symbols) == wanted
    left = [(code.id, len(code.places.offset)) for code in unnamed(data)]
    compact(storage_at(data))
    assert len(read_log(data / "symbols").files) == 1
    assert pprof([data], symbols) == wanted
    assert [(code.id, len(code.places.offset)) for code in unnamed(data)] == left
