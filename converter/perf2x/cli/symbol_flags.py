"""The options that say where names come from, shared by every command that shows names."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.model.errors import OptionError

if TYPE_CHECKING:
    from perf2x.symbolize.options import SymbolOptions

_PANEL = "Symbols"

Symfs = Annotated[
    str | None,
    typer.Option(metavar="DIR[,flat]", help="Root of the recorded machine's files.", rich_help_panel=_PANEL),
]
Kallsyms = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Kernel symbols, when they are the recorded kernel's.", rich_help_panel=_PANEL),
]
Vmlinux = Annotated[str | None, typer.Option(metavar="FILE", help="The kernel's ELF file.", rich_help_panel=_PANEL)]
DebugDirs = Annotated[
    list[str] | None,
    typer.Option("--debug-dir", metavar="DIR", help="Like /usr/lib/debug; repeatable.", rich_help_panel=_PANEL),
]
BuildidDir = Annotated[
    str | None, typer.Option(metavar="DIR", help="perf's build-id cache [~/.debug].", rich_help_panel=_PANEL)
]
PerfMapDir = Annotated[
    str | None, typer.Option(metavar="DIR", help="Where perf-PID.map files lie [/tmp].", rich_help_panel=_PANEL)
]
Debuginfod = Annotated[
    list[str] | None,
    typer.Option("--debuginfod", metavar="URL", help="Ask this server too [$DEBUGINFOD_URLS].", rich_help_panel=_PANEL),
]
DemangleStyle = Annotated[
    str,
    typer.Option("--demangle", metavar="simple|full|none", help="C++, Rust and Swift names.", rich_help_panel=_PANEL),
]
Inline = Annotated[
    bool, typer.Option("--inline/--no-inline", help="Source lines and inlined functions.", rich_help_panel=_PANEL)
]
NoSymbols = Annotated[bool, typer.Option("--no-symbols", help="Look no names up.", rich_help_panel=_PANEL)]


def symbol_options(
    *,
    symfs: str | None = None,
    kallsyms: str | None = None,
    vmlinux: str | None = None,
    debug_dirs: list[str] | None = None,
    buildid_dir: str | None = None,
    perf_map_dir: str | None = None,
    debuginfod: list[str] | None = None,
    demangle: str = "simple",
    inline: bool = True,
    no_symbols: bool = False,
) -> "SymbolOptions | None":
    """What the flags say; None for ``--no-symbols``. OptionError for a path that is not there."""
    if no_symbols:
        return None
    from perf2x.symbolize.demangle import Demangle
    from perf2x.symbolize.options import SymbolOptions

    if demangle not in tuple(Demangle):
        raise OptionError(f"--demangle {demangle}: it is one of {', '.join(Demangle)}")
    root, _, layout = (symfs or "").partition(",")
    if layout not in ("", "hierarchy", "flat"):
        raise OptionError(f"--symfs {symfs}: after the comma comes hierarchy or flat")
    return SymbolOptions(
        symfs=_there("--symfs", root or None),
        symfs_flat=layout == "flat",
        kallsyms=_there("--kallsyms", kallsyms),
        vmlinux=_there("--vmlinux", vmlinux),
        debug_dirs=tuple(Path(directory) for directory in debug_dirs or ()),
        buildid_dir=_there("--buildid-dir", buildid_dir),
        perf_map_dir=_there("--perf-map-dir", perf_map_dir),
        debuginfod_urls=tuple(debuginfod or os.environ.get("DEBUGINFOD_URLS", "").split()),
        demangle=Demangle(demangle),
        inline=inline,
    )


def _there(option: str, path: str | None) -> Path | None:
    if path is None:
        return None
    if not Path(path).exists():
        raise OptionError(f"{option} {path}: there is no such file or directory")
    return Path(path)
