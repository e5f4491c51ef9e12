"""Lines that were looked up before answer for the very file that they came from, and change no output."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec import msgpack

from perf2x.base.binaries.dwarf.address_lookup import AddressLookup
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.atomic import read_checksummed, write_checksummed
from perf2x.kernel.registry import load_symbol_sources
from perf2x.symbolizer.sources import cached_lines
from perf2x.symbolizer.sources.cached_lines import cache_path_of
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.profile_builder import lines_of, make_profile, make_session

DATA = Path(__file__).parents[1] / "data"
AT, ADDRESSES = 0x7F0000000000, range(0x1080, 0x10B1)
Lines = list[list[tuple[str, str, int]]]


@pytest.fixture(name="read")
def _read(monkeypatch) -> list[int]:
    """Numbers of addresses that were looked up in debug info, one for each look."""
    looked: list[int] = []
    find = AddressLookup.find
    monkeypatch.setattr(AddressLookup, "find", lambda self, address: looked.append(len(address)) or find(self, address))
    return looked


def lines(cache, symfs=DATA, addresses=ADDRESSES, library="/split.so", **options) -> tuple[Lines, dict[str, int]]:
    profile = make_profile([(AT, AT + 0x10000, 0, library, "", 7)], [(0, AT + address) for address in addresses])
    given = SymbolOptions(**{"symfs": symfs, "cache_dir": cache, "buildid_dir": symfs / "debug", **options})
    diagnostics = Diagnostics()
    result, _ = symbolize(profile, make_session(), given, diagnostics, load_symbol_sources())
    counted = {name: count.count for name, count in diagnostics.counts.items()}
    return [lines_of(result, row) for row in range(len(addresses))], counted


def test_the_second_run_reads_no_debug_info(tmp_path, read) -> None:
    first = lines(tmp_path)
    assert read and lines(tmp_path) == first and len(read) == 1
    assert any(len(chain) > 1 for chain in first[0])


def test_only_new_addresses_are_looked_up(tmp_path, read) -> None:
    wanted = lines(tmp_path / "other")
    lines(tmp_path, addresses=ADDRESSES[10:20])
    few = read[-1]
    assert lines(tmp_path) == wanted and read[-1] == read[0] - few
    assert lines(tmp_path, addresses=ADDRESSES[::-1]) == (wanted[0][::-1], wanted[1]) and len(read) == 3


@pytest.mark.parametrize("change", [lambda data: data[:100], lambda data: b"", lambda data: data[:-1] + b"!"])
def test_a_damaged_file_is_made_again(change, tmp_path, read) -> None:
    first = lines(tmp_path)
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.write_bytes(change(path.read_bytes()))
    assert lines(tmp_path) == first and len(read) == 2
    assert lines(tmp_path) == first and len(read) == 2


@pytest.mark.parametrize("column", ["address", "count", "function", "line"])
@pytest.mark.parametrize("value", [b"", b"\xff" * 8, b"\xff" * 800, b"\0" * 3])
def test_columns_that_do_not_belong_together_are_made_again(column, value, tmp_path, read) -> None:
    first = lines(tmp_path)
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    stored = msgpack.decode(read_checksummed(path))
    stored[cached_lines._CacheContents.__struct_fields__.index(column)] = value
    write_checksummed(path, msgpack.encode(stored))
    assert lines(tmp_path) == first and len(read) == 2


def test_another_version_of_ours_looks_again(tmp_path, read, monkeypatch) -> None:
    lines(tmp_path)
    monkeypatch.setattr(cached_lines, "__version__", "99.0")
    lines(tmp_path)
    monkeypatch.setattr(cached_lines, "FORMAT", 99)
    lines(tmp_path)
    assert len(read) == 3


def forged(folder: Path) -> Path:
    """An object with the same build id, size and times, whose debug info names another file."""
    folder.mkdir()
    for name in ("split.so", "split.so.debug"):
        shutil.copy2(DATA / name, folder)
    path = folder / "split.so.debug"
    path.chmod(0o644)
    data, status = path.read_bytes(), path.stat()
    path.write_bytes(data.replace(b"inlines.cpp", b"forgery.cpp"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert open_elf(path).build_id == open_elf(DATA / "split.so.debug").build_id
    assert path.stat().st_size == status.st_size and path.stat().st_mtime_ns == status.st_mtime_ns
    return folder


@pytest.mark.parametrize("is_first", [True, False])
def test_a_foreign_object_with_the_same_build_id_does_not_answer(is_first, tmp_path) -> None:
    other = forged(tmp_path / "forged")
    true, false = lines(tmp_path / "one"), lines(tmp_path / "two", other)
    assert true != false
    cache = tmp_path / "cache"
    if is_first:
        assert lines(cache, other) == false
    assert [lines(cache), lines(cache, other), lines(cache)] == [true, false, true]


def test_bytes_of_an_archive_are_known_by_their_digest(tmp_path) -> None:
    data, options = (DATA / "inlines.so").read_bytes(), SymbolOptions(cache_dir=tmp_path)
    places = {cache_path_of(open_elf(one, "member"), options) for one in (data, data[:-1] + b"!", bytes(data))}
    assert len(places) == 2 and cache_path_of(open_elf(DATA / "inlines.so"), options) not in places


def test_a_file_that_was_replaced_in_place_is_read_again(tmp_path, read) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    for name in ("split.so", "split.so.debug"):
        shutil.copy(DATA / name, folder)
    first = lines(tmp_path / "cache", folder)
    assert lines(tmp_path / "cache", folder) == first and len(read) == 1
    debug = folder / "split.so.debug"
    debug.chmod(0o644)
    debug.write_bytes(debug.read_bytes().replace(b"inlines.cpp", b"forgery.cpp"))
    assert lines(tmp_path / "cache", folder) != first and len(read) == 2


def dwz(symfs: Path, *, with_common: bool) -> Path:
    info = DATA / "debug_info"
    places = [("dwz_one.so", "usr/lib/prog.so")]
    places += [("common.dwz", "usr/lib/debug/.dwz/common.dwz")] if with_common else []
    for source, place in places:
        (symfs / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(info / source, symfs / place)
    return symfs


def test_a_dwz_file_that_comes_or_goes_changes_the_answer(tmp_path, read) -> None:
    def run() -> tuple[Lines, dict[str, int]]:
        addresses = range(0x1000, 0x1800, 3)
        return lines(tmp_path / "cache", tmp_path / "root", addresses, "/usr/lib/prog.so")

    dwz(tmp_path / "root", with_common=False)
    without = run()
    assert without[1]["debug_info_in_dwz"] == 1 and run() == without
    dwz(tmp_path / "root", with_common=True)
    whole = run()
    assert whole != without and "debug_info_in_dwz" not in whole[1] and run() == whole
    (tmp_path / "root/usr/lib/debug/.dwz/common.dwz").unlink()
    assert run() == without


def test_what_was_counted_is_counted_again(tmp_path, read) -> None:
    """Units that cannot be read: the second run says so, too."""
    data = bytearray((DATA / "split.so.debug").read_bytes())
    section = open_elf(DATA / "split.so.debug").section(".debug_line")
    data[section.offset + 4] = 0xEE
    (tmp_path / "split.so.debug").write_bytes(data)
    shutil.copy(DATA / "split.so", tmp_path / "split.so")
    first = lines(tmp_path / "cache", tmp_path)
    assert first[1]["objects_unreadable"] and lines(tmp_path / "cache", tmp_path) == first and len(read) == 2


def test_a_cache_that_cannot_be_written_changes_nothing(tmp_path) -> None:
    (tmp_path / "file").touch()
    assert lines(tmp_path / "file") == lines(tmp_path / "cache")
