"""Options for the sources of names."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.base.errors import OptionError, SettingError
from perf2x.cli.options import ON, Rare

if TYPE_CHECKING:
    from perf2x.symbolizer.symbol_options import SymbolOptions

_KALLSYMS = re.compile(rb"[0-9a-f]{1,16} \w |\x1f\x8b|\xfd7zXZ|\x28\xb5\x2f\xfd|BZh")
"""First line of the file, or of what gzip, xz, zstd and bzip2 make of it."""


class SymbolFlags(Struct, frozen=True):
    """Sources of names."""

    PANEL: ClassVar[str] = "Symbols"

    symfs: Annotated[
        str | None,
        Option(
            metavar="DIR[,flat]",
            help="Root of the recorded machine's files; ~/.debug and /usr/lib/debug of this machine are not read.",
        ),
    ] = None
    kallsyms: Annotated[
        str | None, Option(metavar="FILE", help="The recorded kernel's symbols (/proc/kallsyms)."), Rare
    ] = None
    vmlinux: Annotated[str | None, Option(metavar="FILE", help="The kernel's ELF file."), Rare] = None
    debug_dirs: Annotated[
        list[str] | None,
        Option("--debug-dir", metavar="DIR", help="Another directory laid out like /usr/lib/debug; repeatable."),
        Rare,
    ] = None
    buildid_dir: Annotated[
        str | None,
        Option(metavar="DIR", help="perf's build-id cache.", show_default="~/.debug, with --symfs DIR/.debug"),
        Rare,
    ] = None
    perf_map_dir: Annotated[
        str | None, Option(metavar="DIR", help="Directory of perf-PID.map files.", show_default="/tmp"), Rare
    ] = None
    debuginfod_urls: Annotated[
        list[str] | None,
        Option(
            "--debuginfod", metavar="URL", help="Another debuginfod server to ask.", show_default="$DEBUGINFOD_URLS"
        ),
        Rare,
    ] = None
    archives: Annotated[
        list[str] | None, Option("--archive", metavar="FILE", help="A tarball of perf archive; repeatable."), Rare
    ] = None
    allow_mismatch: Annotated[
        bool, Option("--allow-build-id-mismatch", help="Also use files of another build."), Rare
    ] = False
    names: Annotated[
        Literal["short", "full", "mangled"],
        Option(metavar="HOW", help="Names of functions: short, full (with types) or mangled (as linked)."),
    ] = "short"
    inline: Annotated[
        bool, Option("--inline/--no-inline", help="Source lines and inlined functions.", rich_help_panel=ON), Rare
    ] = True
    no_symbols: Annotated[bool, Option(help="Do not look up symbols.")] = False

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions; OptionError for a path that is not of its kind."""
        return {"symbols": self.options()}

    def options(self) -> "SymbolOptions | None":
        """The options as SymbolOptions; None for ``--no-symbols``. OptionError for a path that is not of its kind."""
        return None if self.no_symbols else self.sources()

    def sources(self) -> "SymbolOptions":
        """The options as SymbolOptions, whether names are looked up or not."""
        from perf2x.symbolizer.demangle.demangle import NameStyle
        from perf2x.symbolizer.symbol_options import SymbolOptions

        root, _, layout = (self.symfs or "").partition(",")
        if layout not in ("", "hierarchy", "flat"):
            raise OptionError(f"--symfs {self.symfs}: after the comma comes hierarchy or flat")
        return SymbolOptions(
            symfs=_path("symfs", root or None, Path.is_dir, "directory"),
            symfs_flat=layout == "flat",
            kallsyms=_path("kallsyms", self.kallsyms, _is_kallsyms, "copy of /proc/kallsyms"),
            vmlinux=_path("vmlinux", self.vmlinux, Path.is_file, "file"),
            debug_dirs=tuple(_paths("debug_dirs", self.debug_dirs, Path.is_dir, "directory")),
            buildid_dir=_path("buildid_dir", self.buildid_dir, Path.is_dir, "directory"),
            perf_map_dir=_path("perf_map_dir", self.perf_map_dir, Path.is_dir, "directory"),
            debuginfod_urls=tuple(
                [*map(_server, self.debuginfod_urls or ())] or os.environ.get("DEBUGINFOD_URLS", "").split()
            ),
            archives=tuple(_paths("archives", self.archives, Path.is_file, "file")),
            allow_mismatch=self.allow_mismatch,
            names=NameStyle(self.names),
            inline=self.inline,
        )


def _path(option: str, text: str | None, fits: Callable[[Path], bool], kind: str) -> Path | None:
    """The path that an option names; SettingError where there is nothing, or nothing that ``fits``."""
    if text is None:
        return None
    path = Path(text)
    if not path.exists():
        raise SettingError("", option, f" {text}: there is no such file or directory")
    if not fits(path):
        raise SettingError("", option, f" {text}: not a {kind}")
    return path


def _paths(option: str, texts: list[str] | None, fits: Callable[[Path], bool], kind: str) -> Iterator[Path]:
    """The paths that a repeatable option names; SettingError as for one."""
    return filter(None, (_path(option, text, fits, kind) for text in texts or ()))


def _server(url: str) -> str:
    """The address of a server; SettingError for what cannot be asked."""
    if not url.startswith(("http://", "https://")):
        raise SettingError("", "debuginfod_urls", f" {url}: it must begin with https:// or http://")
    return url


def _is_kallsyms(path: Path) -> bool:
    """Tell whether a file begins as a kallsyms file, or is compressed.

    ``<(zcat kallsyms.gz)`` is a pipe; it is read once, from its beginning to its end.
    """
    if not path.is_file():
        return path.is_fifo()
    with path.open("rb") as file:
        return _KALLSYMS.match(file.read(20)) is not None
