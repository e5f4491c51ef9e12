"""Options of symbolization: where symbols are searched, and how functions are named."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.plugin_options import INLINE, NAMES
from perf2x.model.setting import ON_BY_DEFAULT, Setting, read_directories, read_directory, read_path

if TYPE_CHECKING:
    from perf2x.base.binaries.find.search_paths import SearchPaths

# The start of a copy of kallsyms: a line of it, or the magic number of gzip, xz, zstd or bzip2.
_KALLSYMS = re.compile(rb"[0-9a-f]{1,16} \w |\x1f\x8b|\xfd7zXZ|\x28\xb5\x2f\xfd|BZh")


# _read_… converts an option's text to its value, or raises SettingError.


def _read_kallsyms(setting: str, text: str) -> Path:
    return read_path(setting, text, _is_kallsyms, "copy of /proc/kallsyms")


def _is_kallsyms(path: Path) -> bool:
    """Accept a pipe unread, because it can be read only once."""
    if not path.is_file():
        return path.is_fifo()
    with path.open("rb") as file:
        return _KALLSYMS.match(file.read(20)) is not None


def _read_symfs(setting: str, text: str) -> Mapping[str, object]:
    root, _, layout = text.partition(",")
    if layout not in ("", "hierarchy", "flat"):
        raise SettingError("", setting, f" {text}: expected hierarchy or flat after the comma")
    return {setting: read_directory(setting, root) if root else None, "symfs_flat": layout == "flat"}


def _read_archives(setting: str, texts: Iterable[str]) -> tuple[Path, ...]:
    return tuple(read_path(setting, text) for text in texts)


def _read_servers(setting: str, urls: Iterable[str]) -> tuple[str, ...]:
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise SettingError("", setting, f" {url}: a URL must begin with https:// or http://")
    return tuple(urls)


def _file_setting(help_text: str, *names: str, metavar: str = "DIR", **more: object) -> Setting:
    """Inputs whose code has no addresses in files refuse these options."""
    return Setting(help_text, names, metavar, asks="files", **{"rare": True} | more)  # type: ignore[arg-type]


NameStyle = Literal["short", "full", "mangled"]
"""Short names have no parameters, return types and template arguments; full ones are as perf prints them."""


class SymbolOptions(Frozen):
    """Where symbols are searched, and how functions are named."""

    PANEL = "Symbols"

    symfs: Annotated[
        Path | None,
        _file_setting(
            "Root of the recorded machine's files; ~/.debug and /usr/lib/debug of this machine are not read.",
            metavar="DIR[,flat]",
            rare=False,
            read=_read_symfs,
        ),
    ] = None
    symfs_flat: bool = False
    """``--symfs DIR,flat``: every file lies directly in DIR."""
    kallsyms: Annotated[
        Path | None,
        _file_setting("The recorded kernel's symbols (/proc/kallsyms).", metavar="FILE", read=_read_kallsyms),
    ] = None
    """It may be compressed. Whether it belongs to the recorded kernel is not checked."""
    vmlinux: Annotated[Path | None, _file_setting("The kernel's ELF file.", metavar="FILE", read=read_path)] = None
    debug_dirs: Annotated[
        tuple[Path, ...],
        _file_setting(
            "Another directory laid out like /usr/lib/debug; repeatable.", "--debug-dir", read=read_directories
        ),
    ] = ()
    """Searched before /usr/lib/debug."""
    buildid_dir: Annotated[
        Path | None,
        _file_setting(
            "perf's build-id cache.", shown_default="~/.debug; with --symfs: DIR/.debug", read=read_directory
        ),
    ] = None
    perf_map_dir: Annotated[
        Path | None, _file_setting("Directory of perf-PID.map files.", shown_default="/tmp", read=read_directory)
    ] = None
    """Searched for jit-PID.dump files as well. None: /tmp, below ``symfs`` if that is given."""
    debuginfod_urls: Annotated[
        tuple[str, ...],
        Setting(
            "Another debuginfod server to query.",
            ("--debuginfod",),
            "URL",
            shown_default="$DEBUGINFOD_URLS",
            variable="DEBUGINFOD_URLS",
            read=_read_servers,
            rare=True,
        ),
    ] = ()
    """If empty, the network is not used."""
    archives: Annotated[
        tuple[Path, ...],
        _file_setting("A tarball of perf archive; repeatable.", "--archive", metavar="FILE", read=_read_archives),
    ] = ()
    allow_mismatch: Annotated[
        bool, _file_setting("Also use files of another build.", "--allow-build-id-mismatch", metavar="")
    ] = False
    cache_dir: Path | None = None
    """Directory of cached source locations; None: the user's cache directory."""
    names: Annotated[
        NameStyle,
        Setting("Names of functions: short, full (with types) or mangled (as linked).", metavar="HOW", group=NAMES),
    ] = "short"
    keep_full_names: bool = False
    """Fill ``Profile.full_names``, for outputs that can carry them."""
    inline: Annotated[
        bool,
        Setting("Frames of inlined functions.", ("--inline/--no-inline",), panel=ON_BY_DEFAULT, group=INLINE),
    ] = True
    """False: only the outermost function of each address, without those inlined into it."""
    lines: bool = True
    """False: debug info is read only for objects without a symbol table."""

    def search_paths(self) -> "SearchPaths":
        """Return the search paths for the object finder."""
        from perf2x.base.binaries.find.search_paths import SearchPaths

        return SearchPaths(
            symfs=self.symfs,
            symfs_flat=self.symfs_flat,
            debug_dirs=self.debug_dirs,
            buildid_dir=self.buildid_dir or self._default_buildid_dir(),
            allow_mismatch=self.allow_mismatch,
        )

    def _default_buildid_dir(self) -> Path | None:
        """Source of truth: tools/perf/util/symbol.c symbol__config_symfs, tools/perf/util/config.c."""
        if self.symfs is not None:
            return self.symfs / ".debug"
        try:
            return Path.home() / ".debug"
        except RuntimeError:
            return None
