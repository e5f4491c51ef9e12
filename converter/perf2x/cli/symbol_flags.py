"""The options that say where names come from, shared by every command that shows names."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perf2x.classes import dataclass
from perf2x.cli.parameters import Option
from perf2x.model.errors import OptionError

if TYPE_CHECKING:
    from perf2x.symbolize.options import SymbolOptions

_PANEL = "Symbols"


@dataclass(frozen=True, slots=True)
class SymbolFlags:
    """Where names come from, as said on the command line."""

    symfs: Annotated[
        str | None,
        Option(metavar="DIR[,flat]", help="Root of the recorded machine's files.", panel=_PANEL),
    ] = None
    kallsyms: Annotated[
        str | None,
        Option(metavar="FILE", help="Kernel symbols, when they are the recorded kernel's.", panel=_PANEL),
    ] = None
    vmlinux: Annotated[str | None, Option(metavar="FILE", help="The kernel's ELF file.", panel=_PANEL)] = None
    debug_dirs: Annotated[
        list[str] | None,
        Option("--debug-dir", metavar="DIR", help="Like /usr/lib/debug; repeatable.", panel=_PANEL),
    ] = None
    buildid_dir: Annotated[
        str | None,
        Option(metavar="DIR", help="perf's build-id cache [~/.debug].", panel=_PANEL),
    ] = None
    perf_map_dir: Annotated[
        str | None,
        Option(metavar="DIR", help="Where perf-PID.map files lie [/tmp].", panel=_PANEL),
    ] = None
    debuginfod: Annotated[
        list[str] | None,
        Option(
            "--debuginfod",
            metavar="URL",
            help="Ask this server too [$DEBUGINFOD_URLS].",
            panel=_PANEL,
        ),
    ] = None
    archives: Annotated[
        list[str] | None,
        Option("--archive", metavar="FILE", help="A tarball of perf archive; repeatable.", panel=_PANEL),
    ] = None
    any_build: Annotated[
        bool,
        Option("--allow-build-id-mismatch", help="Use files of another build all the same.", panel=_PANEL),
    ] = False
    demangle: Annotated[
        str,
        Option("--demangle", metavar="simple|full|none", help="C++, Rust and Swift names.", panel=_PANEL),
    ] = "simple"
    inline: Annotated[
        bool, Option("--inline/--no-inline", help="Source lines and inlined functions.", panel=_PANEL)
    ] = True
    no_symbols: Annotated[bool, Option("--no-symbols", help="Look no names up.", panel=_PANEL)] = False

    def options(self) -> "SymbolOptions | None":
        """What the flags say; None for ``--no-symbols``. OptionError for a path that is not there."""
        if self.no_symbols:
            return None
        from perf2x.symbolize.demangle import Demangle
        from perf2x.symbolize.options import SymbolOptions

        if self.demangle not in tuple(Demangle):
            raise OptionError(f"--demangle {self.demangle}: it is one of {', '.join(Demangle)}")
        root, _, layout = (self.symfs or "").partition(",")
        if layout not in ("", "hierarchy", "flat"):
            raise OptionError(f"--symfs {self.symfs}: after the comma comes hierarchy or flat")
        return SymbolOptions(
            symfs=_there("--symfs", root or None),
            symfs_flat=layout == "flat",
            kallsyms=_there("--kallsyms", self.kallsyms),
            vmlinux=_there("--vmlinux", self.vmlinux),
            debug_dirs=tuple(Path(directory) for directory in self.debug_dirs or ()),
            buildid_dir=_there("--buildid-dir", self.buildid_dir),
            perf_map_dir=_there("--perf-map-dir", self.perf_map_dir),
            debuginfod_urls=tuple(self.debuginfod or os.environ.get("DEBUGINFOD_URLS", "").split()),
            archives=tuple(Path(archive) for archive in self.archives or () if _there("--archive", archive)),
            allow_mismatch=self.any_build,
            demangle=Demangle(self.demangle),
            inline=self.inline,
        )


def _there(option: str, path: str | None) -> Path | None:
    if path is None:
        return None
    if not Path(path).exists():
        raise OptionError(f"{option} {path}: there is no such file or directory")
    return Path(path)
