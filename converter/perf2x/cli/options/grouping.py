"""The options that say how samples are put together."""

from typing import Annotated, Literal

import typer
from msgspec import Struct

from perf2x.cli.options import Rare
from perf2x.transform.choice import Grouping

_PANEL = "Grouping"

Root = Annotated[
    Literal["comm", "process", "thread", "cpu", "cgroup", "none"] | None,
    typer.Option(
        "--root",
        help="Put such a frame below every stack.",
        show_default="none; collapsed: comm",
        rich_help_panel=_PANEL,
    ),
]
MergeThreads = Annotated[
    bool, typer.Option("--merge-threads", help="One thread per process.", rich_help_panel=_PANEL), Rare
]
FoldRecursion = Annotated[
    bool,
    typer.Option("--fold-recursion", help="One frame for a function that calls itself.", rich_help_panel=_PANEL),
    Rare,
]
OffCpu = Annotated[
    Literal["apart", "beside", "merged"] | None,
    typer.Option(
        "--off-cpu",
        help="Time that threads waited: alone, as one more event, or added to the clock event.",
        rich_help_panel=_PANEL,
    ),
]
Anonymize = Annotated[
    str | None,
    typer.Option(
        "--anonymize",
        metavar="SECRET",
        help="Hash names of programs, files, functions and threads; equal secrets, equal hashes.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]


class GroupingFlags(Struct, frozen=True):
    """How samples are put together."""

    root: Root = None
    merge_threads: MergeThreads = False
    fold_recursion: FoldRecursion = False
    off_cpu: OffCpu = None
    anonymize: Anonymize = None

    def grouping(self) -> Grouping:
        """What was said."""
        return Grouping(self.root or "none", self.merge_threads, self.fold_recursion)
