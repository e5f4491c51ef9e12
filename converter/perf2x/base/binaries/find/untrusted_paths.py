"""The one rule for files of this machine that a recording, an object or a dataset names by a path.

Whoever made the recording chose those paths; what is read shows up in output that people share. So such a file is read

- if it proves to be the recorded one: an object by its build id, a debug link by build id or checksum, a dwz file by
  build id, a ``.dwo`` or ``.dwp`` by the id of its unit, a jitdump by the process id in it, the kernel by build id or
  by the place of its reference symbol;
- else only if the recording was not made elsewhere: an object without a build id (whose inode must be the recorded one,
  if it was made here), its debug file by name, a perf map;
- a source file, which proves nothing and can be any text, only if the recording was made here, and the object that
  names it is this machine's own.

``--symfs``, ``--source-dir`` and their kin name files themselves, and nothing outside of them is read.
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

_INODES = 1 << 48
"""Overlayfs puts the number of a layer into the bits above, which mappings lack on older kernels (``xino``)."""


class RecordedOn(Protocol):
    """Facts of a recording's machine, as ``Session`` has them."""

    @property
    def source(self) -> str:
        """The recording's path."""
        ...

    @property
    def hostname(self) -> str:
        """The machine's name."""
        ...

    @property
    def os_release(self) -> str:
        """Its kernel's."""
        ...


class MappedFiles(Protocol):
    """Names and inodes of mapped files, as ``Mmaps`` has them."""

    @property
    def filename(self) -> DictionaryColumn[str]:
        """(n,) names."""
        ...

    @property
    def inode(self) -> U64:
        """(n,) 0: not recorded."""
        ...


class RecordedFiles:
    """Decides from a recording's facts whether this machine's files are the recorded ones."""

    def __init__(self, session: RecordedOn | None = None, mmaps: MappedFiles | None = None) -> None:
        """Without a session nothing is known, and paths are trusted."""
        self._host, self._mmaps = session.hostname if session else "", mmaps
        self._source = session.source if session else ""

    @cached_property
    def made_here(self) -> bool:
        """Whether the recording states that it was made on this machine, judged also by its mappings."""
        return self._mmaps is not None and len(self._mmaps.inode) > 0 and self._is_here

    @cached_property
    def _is_here(self) -> bool:
        return bool(self._host) and self._host == running_host_name()

    @cached_property
    def made_elsewhere(self) -> bool:
        """Whether the recording states that it was made on another machine."""
        return bool(self._host) and bool(running_host_name()) and not self._is_here

    def key(self, name: str) -> Hashable:
        """Return all that answers of `refusal` depend on."""
        return self.made_elsewhere, self._inodes.get(name), self._written if self.made_here else 0

    def refusal(self, name: str, path: Path) -> str:
        """Return why the file at ``path`` is not taken for the one recorded as ``name`` without a build id, else "".

        Devices are not compared: btrfs and overlayfs have one number in mappings, another in stat(2).
        """
        if self.made_elsewhere:
            return f"{path} may be another file than on {self._host}: it was recorded without a build id"
        if not self.made_here:
            return ""
        try:
            status = path.stat()
        except OSError as error:
            return f"{path}: {error.strerror}"
        if any((inode ^ status.st_ino) % _INODES for inode in self._inodes.get(name, ())):
            return f"{path} was replaced after the recording: its inode is another"
        if self._written and min(status.st_mtime_ns, status.st_ctime_ns) > self._written:
            return f"{path} was changed after the recording"
        return ""

    @cached_property
    def _inodes(self) -> dict[str, tuple[int, int]]:
        """Lowest and highest inode of the files that were mapped under a name, where they were recorded."""
        if self._mmaps is None or not self.made_here:
            return {}
        known = self._mmaps.inode != 0
        number, inode = self._mmaps.filename.number[known], self._mmaps.inode[known]
        low, high = (np.full(len(self._mmaps.filename.distinct), start, np.uint64) for start in (2**64 - 1, 0))
        np.minimum.at(low, number, inode)
        np.maximum.at(high, number, inode)
        pairs = zip(self._mmaps.filename.distinct, low.tolist(), high.tolist(), strict=True)
        return {name: (first, last) for name, first, last in pairs if last}

    @cached_property
    def _written(self) -> int:
        """Return when the recording was last written, in nanoseconds since the epoch; 0 if unknown.

        Copies are younger, so that they find fewer changes. Archives may have cut the date to whole seconds.
        """
        try:
            written = Path(self._source).stat().st_mtime_ns
        except (OSError, ValueError):
            return 0
        return written if written % 10**9 else written + 10**9


def is_own(places: SearchPaths, recorded: str, file: ElfObject) -> bool:
    """Whether a file is this machine's own object ``recorded``, or its debug file, neither copied nor fetched.

    perf's copy of an object, in the build-id cache, counts if it equals the file at the recorded path: caches are
    unpacked from archives, too.
    """
    path = file.path
    if path is None or places.symfs is not None:
        return False
    at, debug = next(places.on_disk(recorded)), places.system_debug_dir
    if places.buildid_dir is not None and path.is_relative_to(places.buildid_dir):
        try:
            return filecmp.cmp(path, at, shallow=False)
        except OSError:
            return False
    in_debug = debug is not None and any(map(path.is_relative_to, places.on_disk(str(debug))))
    return in_debug or path.parent in (at.parent, at.parent / ".debug")
