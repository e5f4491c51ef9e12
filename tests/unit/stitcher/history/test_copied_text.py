"""Text that a program copied over itself is still its file's."""

import pytest

from perf2x.base.diagnostics import Diagnostics
from perf2x.reader import open_recording
from perf2x.stitcher.history.process_history import ProcessHistory, build_process_history
from tests.forge.records import Fork, Mmap2, Stamp
from tests.forge.session import Session, write_file

PROGRAM = Mmap2(pid=5, tid=5, addr=0x400000, len=0x500000, pgoff=0x1000, filename="/bin/server", stamp=Stamp(5, 5, 1))


def copy(addr=0x600000, length=0x200000, time=2, pid=5, name="//anon", prot=5) -> Mmap2:
    return Mmap2(pid=pid, tid=pid, addr=addr, len=length, filename=name, prot=prot, stamp=Stamp(pid, pid, time))


def history_of(tmp_path, *records) -> ProcessHistory:
    (tmp_path / "perf.data").write_bytes(write_file(Session(), list(records)))
    recording = open_recording(str(tmp_path / "perf.data"))
    return build_process_history(recording.session, recording.sideband, Diagnostics())


@pytest.mark.parametrize("name", ["//anon", "/anon_hugepage (deleted)"])
def test_code_in_memory_where_a_file_is_mapped_is_that_files(tmp_path, name) -> None:
    mmaps = history_of(tmp_path, PROGRAM, copy(name=name, prot=7), copy(name=name, time=3)).mmaps
    assert [mmaps.filename[row] for row in (1, 2)] == ["/bin/server"] * 2
    assert mmaps.pgoff.tolist() == [0x1000, 0x201000, 0x201000]


def test_a_child_copies_the_text_of_its_parent(tmp_path) -> None:
    fork = Fork(pid=6, tid=6, ppid=5, ptid=5, time=2, stamp=Stamp(6, 6, 2))
    assert history_of(tmp_path, PROGRAM, fork, copy(pid=6, time=3)).mmaps.filename[1] == "/bin/server"


@pytest.mark.parametrize(
    "other",
    [
        copy(addr=0x800000), copy(addr=0x200000, length=0x400000), copy(addr=0xA00000), copy(time=0), copy(pid=6),
        copy(prot=3), copy(addr=0x601000, length=0x1FF000), copy(length=0x1FF000),
    ],
    ids=[
        "beyond its end", "before its start", "elsewhere", "earlier", "another process", "data",
        "a compiler's, in the place of a file that is gone", "no whole huge page",
    ],
)  # fmt: skip
def test_other_memory_is_nobodys(tmp_path, other) -> None:
    assert "//anon" in list(history_of(tmp_path, PROGRAM, other).mmaps.filename)
