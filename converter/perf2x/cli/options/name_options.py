"""Options for the sources of names."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.base.files.unpack_limit import parse_size
from perf2x.cli.options import ON, Rare
from perf2x.cli.options.input_options import MaxUnpacked

if TYPE_CHECKING:
    from perf2x.symbolizer.symbol_options import SymbolOptions

_PANEL = "Symbols"

Symfs = Annotated[
    str | None,
    typer.Option(
        "--symfs",
        metavar="DIR[,flat]",
        help="Root of the recorded machine's files; ~/.debug and /usr/lib/debug of this machine are not read.",
        rich_help_panel=_PANEL,
    ),
]
Kallsyms = Annotated[
    str | None,
    typer.Option(
        "--kallsyms",
        metavar="FILE",
        help="Symbols of the recorded kernel.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Vmlinux = Annotated[
    str | None,
    typer.Option("--vmlinux", metavar="FILE", help="The kernel's ELF file.", rich_help_panel=_PANEL),
    Rare,
]
DebugDir = Annotated[
    list[str] | None,
    typer.Option(
        "--debug-dir",
        metavar="DIR",
        help="Another directory laid out like /usr/lib/debug; repeatable.",
        rich_help_panel=_PANEL,
    ),
]
BuildidDir = Annotated[
    str | None,
    typer.Option(
        "--buildid-dir",
        metavar="DIR",
        help="perf's build-id cache.",
        show_default="~/.debug, with --symfs DIR/.debug",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
PerfMapDir = Annotated[
    str | None,
    typer.Option(
        "--perf-map-dir",
        metavar="DIR",
        help="Directory of perf-PID.map files.",
        show_default="/tmp",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Debuginfod = Annotated[
    list[str] | None,
    typer.Option(
        "--debuginfod",
        metavar="URL",
        help="Another debuginfod server to ask.",
        show_default="$DEBUGINFOD_URLS",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Archive = Annotated[
    list[str] | None,
    typer.Option("--archive", metavar="FILE", help="A tarball of perf archive; repeatable.", rich_help_panel=_PANEL),
    Rare,
]
AllowBuildIdMismatch = Annotated[
    bool,
    typer.Option("--allow-build-id-mismatch", help="Use files of another build, too.", rich_help_panel=_PANEL),
    Rare,
]
Names = Annotated[
    Literal["short", "full", "mangled"],
    typer.Option(
        "--names",
        metavar="HOW",
        help="Names of functions: short, full (with types) or mangled (as linked).",
        rich_help_panel=_PANEL,
    ),
]
Inline = Annotated[
    bool,
    typer.Option("--inline/--no-inline", help="Source lines and inlined functions.", rich_help_panel=ON),
]
NoSymbols = Annotated[bool, typer.Option("--no-symbols", help="Look up no names.", rich_help_panel=_PANEL)]


class SymbolFlags(Struct, frozen=True):
    """Sources of names."""

    symfs: Symfs = None
    kallsyms: Kallsyms = None
    vmlinux: Vmlinux = None
    debug_dir: DebugDir = None
    buildid_dir: BuildidDir = None
    perf_map_dir: PerfMapDir = None
    debuginfod: Debuginfod = None
    archive: Archive = None
    allow_build_id_mismatch: AllowBuildIdMismatch = False
    names: Names = "short"
    inline: Inline = True
    no_symbols: NoSymbols = False
    max_unpacked: MaxUnpacked = None

    def unpacked(self) -> int | None:
        """Bytes that each compressed input may unpack to; None: the default."""
        return None if self.max_unpacked is None else parse_size(self.max_unpacked)

    def options(self, *, keep_full_names: bool = False) -> "SymbolOptions | None":
        """The options as SymbolOptions; None for ``--no-symbols``. OptionError for a path that is not of its kind."""
        if self.no_symbols:
            return None
        from perf2x.symbolizer.demangle.demangle import NameStyle
        from perf2x.symbolizer.symbol_options import SymbolOptions

        root, _, layout = (self.symfs or "").partition(",")
        if layout not in ("", "hierarchy", "flat"):
            raise OptionError(f"--symfs {self.symfs}: after the comma comes hierarchy or flat")
        return SymbolOptions(
            symfs=_path("--symfs", root or None, Path.is_dir, "directory"),
            symfs_flat=layout == "flat",
            kallsyms=_path("--kallsyms", self.kallsyms, _is_file_or_pipe, "file"),
            vmlinux=_path("--vmlinux", self.vmlinux, Path.is_file, "file"),
            debug_dirs=tuple(Path(directory) for directory in self.debug_dir or ()),
            buildid_dir=_path("--buildid-dir", self.buildid_dir, Path.is_dir, "directory"),
            perf_map_dir=_path("--perf-map-dir", self.perf_map_dir, Path.is_dir, "directory"),
            debuginfod_urls=tuple(self.debuginfod or os.environ.get("DEBUGINFOD_URLS", "").split()),
            archives=tuple(filter(None, (_path("--archive", one, Path.is_file, "file") for one in self.archive or ()))),
            allow_mismatch=self.allow_build_id_mismatch,
            names=NameStyle(self.names),
            keep_full_names=keep_full_names,
            inline=self.inline,
        )


def _path(option: str, text: str | None, fits: Callable[[Path], bool], kind: str) -> Path | None:
    """The path that an option names; OptionError where there is nothing, or nothing that ``fits``."""
    if text is None:
        return None
    path = Path(text)
    if not path.exists():
        raise OptionError(f"{option} {text}: there is no such file or directory")
    if not fits(path):
        raise OptionError(f"{option} {text}: it is no {kind}")
    return path


def _is_file_or_pipe(path: Path) -> bool:
    """``<(zcat kallsyms.gz)`` is a pipe; it is read once, from its beginning to its end."""
    return path.is_file() or path.is_fifo()
