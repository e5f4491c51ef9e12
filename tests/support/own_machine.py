"""A root in the place of this machine's, and recordings of a program on it."""

from pathlib import Path

from perf2x.base.binaries.elf.elf_file import open_elf
from tests.forge import Comm, Event, Features, Mmap2, Sample, Session, write_file
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

HERE, NAME = "here", "/srv/app"
TEXT = TinySection(".text", b"\x90" * 64, 0x1000, flags=6)
PROGRAM = tiny_elf([TEXT, *symbol_sections([TinySymbol("parse", 0x1000, 64)], 2)])


def put(root: Path, path: str, data: bytes) -> Path:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def write(path: Path, *inodes: int, host: str | None = HERE, name: str = NAME, build_id: bytes = b"") -> Path:
    """Eight samples in the first function of ``name``, which was mapped once for each inode."""
    code = open_elf(PROGRAM).segments[0]
    maps = [
        Mmap2(pid=7, tid=7, addr=0x400000, len=0x1000, pgoff=code.offset, filename=name, inode=inode, build_id=build_id)
        for inode in inodes
    ]
    samples = [Sample(pid=7, tid=7, ip=0x400008, time=9 + at, period=1000) for at in range(8)]
    session = Session(events=(Event(),), features=Features(hostname=host, os_release=path.stem))
    path.write_bytes(write_file(session, [Comm(pid=7, tid=7, comm="app"), *maps, *samples]))
    return path
