"""Limits for unpacking: every kind of bomb is refused in one sentence, soon, with little memory and disk."""

import gzip
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.decompress import decompress_file
from perf2x.base.binaries.find.perf_archive import Archive
from perf2x.base.files import tarball, unpack_limit
from perf2x.base.files.unpack_limit import (
    FreeSpace,
    format_size,
    limit_unpacking,
    memory_limit,
    parse_size,
    record_limit,
    unpacked_limit,
)
from perf2x.errors import FormatError, ObjectError, OptionError
from tests.support import bombs
from tests.support.command import perf2x, recording

MIB = 1 << 20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy with smaller numbers, so that the bombs are made quickly."""
    monkeypatch.setattr(unpack_limit, "FLOOR", MIB)
    monkeypatch.setattr(unpack_limit, "FLOOR_IN_MEMORY", MIB // 4)
    monkeypatch.setattr(unpack_limit, "RECORDS", 5000)
    monkeypatch.setattr(tarball, "MOST_MEMBERS", 100)


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "sparse.tar": (lambda: bombs.sparse_tar(1 << 40), "perf.data is 1 TiB, more than"),
    "member.tar.xz": (lambda: bombs.xz(bombs.large_member(1 << 33), 2 * MIB), "perf.data is 8 GiB, more than"),
    "filler.tar.gz": (
        lambda: bombs.gz(bombs.whole_member() + bombs.member_header("filler", 1 << 33), 3 * MIB),
        "cannot be read as a bundle: its ",
    ),
    "members.tar.gz": (lambda: bombs.gz(bombs.many_members(200), 0), "it has more than 100 members"),
    "pax.tar.gz": (lambda: bombs.gz(bombs.large_header(8 * MIB), 8 * MIB), "it contains no perf.data file"),
    "headers.tar.gz": (lambda: bombs.gz(bombs.many_headers(3000), 0), "it contains no perf.data file"),
    "late-pax.tar.gz": (
        lambda: bombs.gz(bombs.whole_member() + bombs.large_header(3 * MIB), 3 * MIB),
        "cannot be read as a bundle",  # for the size of its header, or from Python 3.14.10 on for all of it
    ),
    "late-headers.tar.gz": (
        lambda: bombs.gz(bombs.whole_member() + bombs.many_headers(3000), 0),
        "cannot be read as a bundle",
    ),
    "zeros.gz": (lambda: bombs.gz(b"", 8 * MIB), "it contains no perf.data file"),
    "perf.gz": (lambda: bombs.gz(bombs.recording(), 8 * MIB), "unpack to more than"),
    "perf.xz": (lambda: bombs.xz(bombs.recording(), 4 * MIB), "unpack to more than"),
    "perf.zst": (lambda: bombs.zst(bombs.recording(), 4 * MIB), "unpack to more than"),
    "tiny.data": (lambda: bombs.tiny_records(MIB // 4), "unpack to more than"),
    "comm.data": (lambda: bombs.tiny_records(10_000, bombs.comm_record()), "unpack to more than 5,"),
    "packed.data": (lambda: bombs.tiny_records(4096, bombs.long_record()), "unpack to more than"),
    "comm.gz": (lambda: bombs.gz(bombs.unfinished() + bombs.comm_record() * 20_000, 0), "unpack to more than 7,"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, reason = BOMBS[name]
    path = bombs.write(tmp_path / name, make())
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    spooled = []
    write = unpack_limit.Spool.write
    monkeypatch.setattr(
        unpack_limit.Spool, "write", lambda spool, chunk: (spooled.append(len(chunk)), write(spool, chunk))
    )
    for words in (("convert", path, "-o", tmp_path / "out.folded", "--no-symbols"), ("info", path), ("dump", path)):
        spooled.clear()
        ran = perf2x(*words)
        if words[0] == "dump" and name.endswith((".tar", ".tar.gz", ".tar.xz")):
            assert ran.code == 1
            continue
        assert (ran.code, ran.err.count("\n")) == (1, 1), ran.err
        assert reason in ran.err
        assert sum(spooled) <= unpacked_limit(path.stat().st_size) + MIB
    assert not list(temporary.iterdir()) and not (tmp_path / "out.folded").exists()


def test_a_bundle_may_have_as_many_members_as_the_limit(tmp_path: Path) -> None:
    for more, code in ((99, 0), (100, 1)):
        path = bombs.write(tmp_path / f"{more}.tar.gz", bombs.gz(bombs.many_members(more), 0))
        assert perf2x("info", path).code == code


@pytest.mark.parametrize("name", ["perf.gz", "tiny.data", "comm.data", "comm.gz", "packed.data"])
def test_max_unpacked_raises_the_limit(name: str, tmp_path: Path) -> None:
    path = bombs.write(tmp_path / name, BOMBS[name][0]())
    ran = perf2x("info", path, "--max-unpacked", "1G")
    assert "unpack to more than" not in ran.err, ran.err


def test_max_unpacked_lowers_the_limit(tmp_path: Path) -> None:
    path = bombs.write(tmp_path / "perf.data.gz", gzip.compress(bombs.recording() * 40))
    assert perf2x("info", path).code == 0
    for command in (
        ("convert", "-o", tmp_path / "x.folded"),
        ("top",),
        ("info",),
        ("dump",),
        ("bundle",),
        ("diff", path),
    ):
        ran = perf2x(command[0], path, *command[1:], "--max-unpacked", "1K")
        assert (ran.code, "unpack to more than 1 KiB" in ran.err) == (1, True), ran.err


def test_archives_and_objects_are_limited(tmp_path: Path) -> None:
    archive = Archive(bombs.write(tmp_path / "a.tar.gz", bombs.gz(bombs.member_header("x/11/elf", 4 * MIB), 4 * MIB)))
    with pytest.raises(ObjectError, match=r"unpack to more than|, more than"):
        archive.member(b"\x11", ("elf",))
    for pack in (bombs.gz, bombs.xz, bombs.zst):
        with pytest.raises(ObjectError, match="unpack to more than"):
            decompress_file(pack(b"", 4 * MIB))
        with limit_unpacking(8 * MIB):
            assert len(decompress_file(pack(b"", 4 * MIB))) == 4 * MIB


def test_sizes_are_parsed_in_all_notations() -> None:
    for text, size in {
        "0": 0,
        "4096": 4096,
        "10k": 10240,
        "1.5 KiB": 1536,
        "2MB": 2 * MIB,
        "3G": 3 << 30,
        "1T": 1 << 40,
    }.items():
        assert parse_size(text) == size
    for text in ("", "many", "-1", "1X", "1.G"):
        with pytest.raises(OptionError, match="expected a size"):
            parse_size(text)
    assert [format_size(size) for size in (0, 1023, 1024, 1536, MIB, 1 << 40, 1 << 50)] == [
        "0 bytes", "1023 bytes", "1 KiB", "1.5 KiB", "1 MiB", "1 TiB", "1024 TiB",
    ]  # fmt: skip
    assert perf2x("info", recording("calls"), "--max-unpacked", "many").code == 2


def test_limits_follow_the_packed_size() -> None:
    assert unpacked_limit(10) == MIB + 2000 and unpacked_limit(1 << 50) == unpack_limit.MOST
    assert memory_limit(10) == MIB // 4 + 2000 and memory_limit(1 << 50) == unpack_limit.MOST_IN_MEMORY
    assert record_limit(10) == 5010
    with limit_unpacking(7 * MIB):
        assert (unpacked_limit(10), memory_limit(10), record_limit(10)) == (7 * MIB, 7 * MIB, 7168)
        with limit_unpacking(None):
            assert unpacked_limit(10) == 7 * MIB
    assert unpacked_limit(10) == MIB + 2000


def test_a_reserve_of_the_disk_is_kept_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 100 * MIB

    def usage(_: object) -> object:
        return shutil._ntuple_diskusage(1000 * MIB, 0, free)  # type: ignore[attr-defined]

    monkeypatch.setattr(shutil, "disk_usage", usage)
    disk = FreeSpace("perf.data.gz", str(tmp_path))
    with pytest.raises(FormatError, match=r"perf\.data\.gz: not enough space in .* TMPDIR"):
        for _ in range(200):
            disk.take(MIB)
            free -= MIB
    assert 49 * MIB <= free <= 51 * MIB, "a twentieth of the disk"


def test_a_killed_process_leaves_no_recording_behind(tmp_path: Path) -> None:
    """Unpacked files have no name while they are read; the directory holds links to them."""
    path = tmp_path / "bundle.tar"
    path.write_bytes(bombs.whole_member())
    from perf2x.kernel.open_bundle import open_bundles

    with open_bundles([str(path)], None) as (files, _):
        assert Path(files[0]).read_bytes() == bombs.recording()
        if Path("/proc/self/fd").exists():
            assert Path(files[0]).is_symlink()
    assert not Path(files[0]).parent.exists()


def test_the_bombs_unpack_to_large_sizes() -> None:
    """Python's own reader follows them."""
    import io

    with tarfile.open(fileobj=io.BytesIO(bombs.sparse_tar(1 << 40))) as tar:
        member = tar.next()
        assert member is not None and member.size == 1 << 40 and member.isreg()
    assert len(bombs.sparse_tar(1 << 40)) == 10_752
