"""Find and open the jitdump files that a recording names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from perf2x.base.errors import ObjectError
from perf2x.base.files.rooted_paths import is_file, paths_in_root
from perf2x.binaries.find.object_finder import Finder
from perf2x.model.diagnostics import Diagnostics
from perf2x.symbolizer.sources.elf_symbols import count_broken
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.parse_jitdump import JitDump


def dump_paths(filename: str, pid: int, options: SymbolOptions, finder: Finder) -> Iterator[Path]:
    """Candidate paths of a dump, best first.

    They are the directory that the user named, the root of the process while it lives, and the recorded path.
    """
    if options.perf_map_dir is not None:
        yield options.perf_map_dir / filename.rpartition("/")[2]
    if options.symfs is None and finder.search_paths.proc is not None and pid > 0:
        yield from paths_in_root(finder.search_paths.proc / str(pid) / "root", filename)
    if filename.startswith("/"):
        yield from finder.search_paths.on_disk(filename)


class JitdumpFiles:
    """Opens dumps and reads each file once: any number of processes and names may lead to one."""

    def __init__(self, options: SymbolOptions, finder: Finder, diagnostics: Diagnostics) -> None:
        self._options, self._finder, self._diagnostics = options, finder, diagnostics
        self._by_inode: dict[tuple[int, int], JitDump | None] = {}

    def open(self, filename: str, pid: int) -> JitDump | None:
        """The dump recorded as ``filename``; None if it is missing or unreadable (which is counted)."""
        for path in dump_paths(filename, pid, self._options, self._finder):
            dump = self._read(path) if is_file(path) else None
            if dump is not None:
                return dump
        return None

    def _read(self, path: Path) -> JitDump | None:
        from perf2x.symbolizer.sources.parse_jitdump import read_jitdump

        try:
            status = path.stat()
        except OSError:
            return None
        key = status.st_dev, status.st_ino
        if key not in self._by_inode:
            self._by_inode[key] = None
            try:
                self._by_inode[key] = read_jitdump(path)
            except ObjectError as error:
                count_broken(self._diagnostics, error)
        return self._by_inode[key]
