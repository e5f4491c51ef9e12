"""Where a process's perf-PID.map lies. In a container the file is named after the process's id in there.

Source of truth: tools/perf/util/map.c map__new and tools/perf/util/symbol.c dso__find_perf_map, which ask /proc for
that id and so name nothing once the process is gone. A recording does not say the id, but it says which processes live
in a namespace of their own (PERF_RECORD_NAMESPACES), and a map tells by its addresses whose it is.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from perf2x.columnar.secret_keys import secret_key
from perf2x.files.rooted_paths import is_file, resolve_in_root
from perf2x.tables.sideband import Namespaces

PID_LINK, MOUNT_LINK = 3, 5
"""Indices in PERF_RECORD_NAMESPACES: include/uapi/linux/perf_event.h PID_NS_INDEX, MNT_NS_INDEX."""
FIRST_PID_NAMESPACE = 0xEFFFFFFC
"""Its inode number on every machine: include/linux/proc_ns.h PROC_PID_INIT_INO."""
MAPS_AT_MOST = 64
"""A directory's youngest are tried; /tmp collects maps of years."""


class ProcessNamespaces:
    """The namespaces of each process of a recording, as they were last told, by inode number of nsfs."""

    def __init__(self, namespaces: Namespaces | None) -> None:
        self._inodes: dict[bytes, list[int]] = {}
        if namespaces is not None:
            pairs = zip(namespaces.pid.tolist(), namespaces.links.rows(), strict=True)
            self._inodes = {
                _pid_key(pid): links[1::2].tolist() for pid, links in pairs if len(links) > 2 * MOUNT_LINK + 1
            }

    def is_container(self, pid: int) -> bool:
        """Whether the process certainly counts its ids apart from the rest of the machine."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes is not None and inodes[PID_LINK] != FIRST_PID_NAMESPACE

    def mount(self, pid: int) -> int:
        """The namespace that the process saw files in; 0 when the recording does not say."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes[MOUNT_LINK] if inodes is not None else 0


def _pid_key(pid: int) -> bytes:
    """Process ids as they stand in a file could be chosen to collide in a dictionary."""
    return secret_key(pid & 0xFFFFFFFF)


def as_the_process_saw_it(proc: Path | None, pid: int) -> Iterator[Path]:
    """The map as the process itself wrote it, while it lives: in its root directory, under its own process id."""
    if proc is None:
        return
    try:
        status = (proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return
    match = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    inner = match.group(1) if match else str(pid)
    yield from filter(None, [resolve_in_root(proc / str(pid) / "root", f"/tmp/perf-{inner}.map")])


def left_in_container(proc: Path | None, mount: int) -> list[Path]:
    """Maps in a container whose recorded process is gone while others still live in it."""
    if proc is None or not mount:
        return []
    for folder in sorted(proc.glob("[0-9]*")):
        try:
            inode = (folder / "ns" / "mnt").stat().st_ino
        except OSError:
            continue
        if inode == mount:
            place = resolve_in_root(folder / "root", "/tmp")
            return maps_in(place) if place is not None else []
    return []


def maps_in(directory: Path) -> list[Path]:
    """The youngest maps of a directory."""
    return sorted(filter(is_file, directory.glob("perf-*.map")), key=_age)[:MAPS_AT_MOST]


def _age(path: Path) -> tuple[float, str]:
    try:
        return -path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name
