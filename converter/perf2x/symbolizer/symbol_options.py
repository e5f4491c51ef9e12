"""Options of symbolization."""

from pathlib import Path

from msgspec import Struct

from perf2x.binaries.find.search_paths import SearchPaths
from perf2x.symbolizer.demangle.demangle import NameStyle


class SymbolOptions(Struct, frozen=True):
    """Sources of symbols and the style of names; the fields are options of the command line."""

    symfs: Path | None = None
    """``--symfs DIR``: root of the recorded machine's file system."""
    symfs_flat: bool = False
    """``--symfs DIR,flat``: every file lies directly in DIR."""
    debug_dirs: tuple[Path, ...] = ()
    """``--debug-dir``, repeatable: like /usr/lib/debug, searched before it."""
    buildid_dir: Path | None = None
    """``--buildid-dir``: perf's build-id cache; None: ``SYMFS/.debug``, or ``~/.debug`` without symfs."""
    kallsyms: Path | None = None
    """``--kallsyms FILE``: kernel symbols, used unchecked; may be compressed."""
    vmlinux: Path | None = None
    """``--vmlinux FILE``: the kernel's ELF file."""
    perf_map_dir: Path | None = None
    """``--perf-map-dir``: directory of perf-PID.map and jit-PID.dump; None: /tmp (below symfs if given)."""
    archives: tuple[Path, ...] = ()
    """``--archive FILE``, repeatable: tarballs of ``perf archive``."""
    debuginfod_urls: tuple[str, ...] = ()
    """``--debuginfod URL`` or DEBUGINFOD_URLS; empty: no network."""
    cache_dir: Path | None = None
    """Directory of what is remembered of objects; None: the user's cache directory."""
    names: NameStyle = NameStyle.SHORT
    """``--names``: how functions are called."""
    keep_full_names: bool = False
    """Fill ``Profile.full_names``, for outputs that have a place for them."""
    inline: bool = True
    """``--inline``: show inlined frames from debug info; without it, one function per address."""
    lines: bool = True
    """False: read debug info only where there is no symbol table."""
    allow_mismatch: bool = False
    """``--allow-build-id-mismatch``: use files of another build."""

    def search_paths(self) -> SearchPaths:
        """Search paths for the object finder."""
        return SearchPaths(
            symfs=self.symfs,
            symfs_flat=self.symfs_flat,
            debug_dirs=self.debug_dirs,
            buildid_dir=self.buildid_dir or self._default_buildid_dir(),
            allow_mismatch=self.allow_mismatch,
        )

    def _default_buildid_dir(self) -> Path | None:
        """perf's cache (tools/perf/util/symbol.c symbol__config_symfs, util/config.c); None without a home."""
        if self.symfs is not None:
            return self.symfs / ".debug"
        try:
            return Path.home() / ".debug"
        except RuntimeError:
            return None
