"""Find perf-PID.map files of processes in containers, which are named after the process id in the container.

Source of truth: tools/perf/util/map.c map__new and tools/perf/util/symbol.c dso__find_perf_map, which ask /proc for
that id and so fail once the process is gone. A recording does not contain the id, but it lists the processes in PID
namespaces of their own (PERF_RECORD_NAMESPACES), and a map shows by its addresses which process it belongs to.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.columnar.secret_keys import secret_key
from perf2x.base.files.rooted_paths import is_file, paths_in_root, resolve_in_root
from perf2x.model.recording.sideband import Namespaces

PID_LINK, MOUNT_LINK = 3, 5
"""Indices in PERF_RECORD_NAMESPACES: include/uapi/linux/perf_event.h PID_NS_INDEX, MNT_NS_INDEX."""
FIRST_PID_NAMESPACE = 0xEFFFFFFC
"""Its inode number on every machine: include/linux/proc_ns.h PROC_PID_INIT_INO."""
MAX_MAPS = 64
"""Number of newest maps in a directory that are tried; /tmp may hold maps of years."""


class ProcessNamespaces:
    """The last recorded namespaces of each process, by inode number of nsfs."""

    def __init__(self, namespaces: Namespaces | None) -> None:
        self._inodes: dict[bytes, list[int]] = {}
        if namespaces is not None:
            pairs = zip(namespaces.pid.tolist(), namespaces.links.rows(), strict=True)
            self._inodes = {
                _pid_key(pid): links[1::2].tolist() for pid, links in pairs if len(links) > 2 * MOUNT_LINK + 1
            }

    def is_container(self, pid: int) -> bool:
        """True if the process is certainly in a PID namespace of its own."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes is not None and inodes[PID_LINK] != FIRST_PID_NAMESPACE

    def mount(self, pid: int) -> int:
        """The process's mount namespace; 0 if it was not recorded."""
        inodes = self._inodes.get(_pid_key(pid))
        return inodes[MOUNT_LINK] if inodes is not None else 0


def _pid_key(pid: int) -> bytes:
    """Keyed form of a process id: ids in a crafted file could be chosen to collide in a dictionary."""
    return secret_key(pid & 0xFFFFFFFF)


def map_in_process_root(proc: Path | None, pid: int) -> Iterator[Path]:
    """The map that a live process wrote: below its root directory, under its id in its own namespace."""
    if proc is None:
        return
    try:
        status = (proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return
    match = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    inner = match.group(1) if match else str(pid)
    yield from paths_in_root(proc / str(pid) / "root", f"/tmp/perf-{inner}.map")


def maps_in_container(proc: Path | None, mount: int) -> list[Path]:
    """Maps in a container that still has live processes, though the recorded one may be gone."""
    if proc is None or not mount:
        return []
    for folder in sorted(proc.glob("[0-9]*")):
        try:
            inode = (folder / "ns" / "mnt").stat().st_ino
        except OSError:
            continue
        if inode == mount:
            directory = resolve_in_root(folder / "root", "/tmp")
            return maps_in(directory) if directory is not None else []
    return []


def maps_in(directory: Path) -> list[Path]:
    """The newest maps of a directory, newest first."""
    return sorted(filter(is_file, directory.glob("perf-*.map")), key=_age)[:MAX_MAPS]


def _age(path: Path) -> tuple[float, str]:
    try:
        return -path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name
