"""Decides which files of this machine may be read because a recording, an object or a dataset names their paths.

Whoever made the recording chose those paths, and the contents of the files show up in output that people share.

- Many files can be identified, and are read only if they are the recorded ones: objects and dwz files by build id,
  targets of debug links by build id or checksum, ``.dwo`` and ``.dwp`` files by the id of a unit, jitdumps by process
  id, the kernel by build id or the address of its reference symbol.
- Others cannot be identified: objects without a recorded build id, their debug files by name, and perf maps. They are
  not read if the recording is known to come from another machine. If it is known to come from this one, an object must
  have the recorded inode number, and must not have been changed after the recording.
- A source file is read only if the recording was made here, and the object that names it is an installed file of this
  machine.

``--symfs``, ``--source-dir`` and similar options name trusted folders; no path in a recording leads out of them.
"""

import filecmp
from collections.abc import Hashable
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.running_kernel import running_host_name
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.columnar import U64, DictionaryColumn

# Only the low 48 bits of inode numbers are compared: overlayfs puts the number of a layer into those above, and older
# kernels leave it out in mappings (``xino``).
_INODE_MODULUS = 1 << 48


class RecordingOrigin(Protocol):
    """The properties of ``Session`` that are needed here."""

    @property
    def source(self) -> str:
        """The path of the recording."""
        ...

    @property
    def hostname(self) -> str:
        """The name of the recorded machine."""
        ...

    @property
    def os_release(self) -> str:
        """The release of that machine's kernel."""
        ...


class MappedFiles(Protocol):
    """The columns of ``Mmaps`` that are needed here, a row per mapping."""

    @property
    def filename(self) -> DictionaryColumn[str]:
        """(n,) paths."""
        ...

    @property
    def inode(self) -> U64:
        """(n,) inode numbers, 0 if not recorded."""
        ...


class RecordedFileCheck:
    """Decides whether files of this machine may be taken for those that a recording names."""

    def __init__(self, session: RecordingOrigin | None = None, mmaps: MappedFiles | None = None) -> None:
        """Without a session, nothing is known about the recording, and all paths are trusted."""
        self._host, self._mmaps = session.hostname if session else "", mmaps
        self._source = session.source if session else ""

    @cached_property
    def was_made_here(self) -> bool:
        """Whether the recording has this machine's host name, and mappings to compare with.

        If neither this nor ``was_made_elsewhere`` is true, the origin is unknown.
        """
        return self._mmaps is not None and len(self._mmaps.inode) > 0 and self._same_host

    @cached_property
    def _same_host(self) -> bool:
        return bool(self._host) and self._host == running_host_name()

    @cached_property
    def was_made_elsewhere(self) -> bool:
        """Whether the recording names another host than this one."""
        return bool(self._host) and bool(running_host_name()) and not self._same_host

    def key(self, name: str) -> Hashable:
        """Return a key for a cache of what `refusal` returns for a name."""
        return self.was_made_elsewhere, self._inodes.get(name), self._written_ns if self.was_made_here else 0

    def refusal(self, name: str, path: Path) -> str:
        """Return why the file at ``path`` must not be taken for the one that was recorded as ``name``; "" if it may.

        This is for objects that were recorded without a build id.
        """
        if self.was_made_elsewhere:
            return f"{path} may not be the file that was on {self._host}: it was recorded without a build id"
        if not self.was_made_here:
            return ""
        try:
            status = path.stat()
        except OSError as error:
            return f"{path}: {error.strerror}"
        # device numbers are not compared: btrfs and overlayfs have one in mappings and another in stat(2)
        if any((inode ^ status.st_ino) % _INODE_MODULUS for inode in self._inodes.get(name, ())):
            return f"{path} was replaced after the recording: its inode number differs"
        # writing changes both times; a rename or chmod changes only ctime
        if self._written_ns and min(status.st_mtime_ns, status.st_ctime_ns) > self._written_ns:
            return f"{path} was changed after the recording"
        return ""

    @cached_property
    def _inodes(self) -> dict[str, tuple[int, int]]:
        """{name: (lowest, highest) recorded inode number}.

        If these two differ, the file was replaced during the recording. No file has both, so all are refused.
        """
        if self._mmaps is None or not self.was_made_here:
            return {}
        has_inode = self._mmaps.inode != 0
        name_index, inode = self._mmaps.filename.indices[has_inode], self._mmaps.inode[has_inode]
        lowest, highest = (np.full(len(self._mmaps.filename.distinct), start, np.uint64) for start in (2**64 - 1, 0))
        np.minimum.at(lowest, name_index, inode)
        np.maximum.at(highest, name_index, inode)
        rows = zip(self._mmaps.filename.distinct, lowest.tolist(), highest.tolist(), strict=True)
        return {name: (low, high) for name, low, high in rows if high}

    @cached_property
    def _written_ns(self) -> int:
        """The time when the recording was last written, in nanoseconds since the epoch; 0 if unknown.

        The recording may be a copy with a later time; then some changes are not noticed.
        """
        try:
            written_ns = Path(self._source).stat().st_mtime_ns
        except (OSError, ValueError):
            return 0
        # an archive may have rounded the time down: whole seconds are taken for the end of that second
        return written_ns if written_ns % 10**9 else written_ns + 10**9


def is_installed_here(search_paths: SearchPaths, recorded_path: str, file: ElfObject) -> bool:
    """Return whether ``file`` is the one at ``recorded_path`` on this machine, or its debug file.

    A copy in perf's build-id cache counts only if its bytes are those of the file at the recorded path, because it may
    have come from an archive.
    """
    path = file.path
    if path is None or search_paths.symfs is not None:
        return False
    local_path, debug_dir = next(search_paths.local_paths(recorded_path)), search_paths.system_debug_dir
    if search_paths.buildid_dir is not None and path.is_relative_to(search_paths.buildid_dir):
        try:
            return filecmp.cmp(path, local_path, shallow=False)
        except OSError:
            return False
    is_debug = debug_dir is not None and any(map(path.is_relative_to, search_paths.local_paths(str(debug_dir))))
    return is_debug or path.parent in (local_path.parent, local_path.parent / ".debug")
