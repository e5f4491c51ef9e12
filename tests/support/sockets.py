"""Sockets on which the processes of a command listen, as Linux tells them."""

from collections.abc import Iterator
from pathlib import Path

_LISTENS = "0A"
_ACCEPTS = 1 << 16
"""__SO_ACCEPTCON of /proc/net/unix."""


def descendants(pid: int) -> Iterator[int]:
    """A process, its children and theirs."""
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in _read(file).split():
            yield from descendants(int(child))


def listening(pid: int) -> list[str]:
    """Addresses where a process or one of its descendants takes connections: ``tcp 8786``, ``unix @name``."""
    own = {inode for one in descendants(pid) for inode in _sockets(one)}
    return sorted(address for inode, address in _listeners() if inode in own)


def _sockets(pid: int) -> Iterator[str]:
    for file in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(file.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")


def _listeners() -> Iterator[tuple[str, str]]:
    for table in ("tcp", "tcp6"):
        for row in _read(Path("/proc/net", table)).splitlines()[1:]:
            words = row.split()
            if words[3] == _LISTENS:
                yield words[9], f"tcp {int(words[1].rpartition(':')[2], 16)}"
    for row in _read(Path("/proc/net/unix")).splitlines()[1:]:
        words = row.split()
        if int(words[3], 16) & _ACCEPTS:
            yield words[6], f"unix {words[7] if len(words) > 7 else ''}"


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended meanwhile
        return ""
