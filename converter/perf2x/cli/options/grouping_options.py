"""Options for the grouping of samples."""

from typing import Annotated, Literal

import typer
from msgspec import Struct

from perf2x.cli.options import Rare
from perf2x.transforms.filters.choice import Grouping

_PANEL = "Grouping"

Root = Annotated[
    Literal["comm", "process", "thread", "cpu", "cgroup", "none"] | None,
    typer.Option(
        "--root",
        help="Add such a root frame to every stack.",
        show_default="none; collapsed: comm",
        rich_help_panel=_PANEL,
    ),
]
MergeThreads = Annotated[
    bool, typer.Option("--merge-threads", help="Merge the threads of each process.", rich_help_panel=_PANEL), Rare
]
FoldRecursion = Annotated[
    bool,
    typer.Option("--fold-recursion", help="Merge the frames of a function that calls itself.", rich_help_panel=_PANEL),
    Rare,
]
OffCpu = Annotated[
    Literal["apart", "beside", "merged"] | None,
    typer.Option(
        "--off-cpu",
        help="Show the time that threads waited: alone, as another event, or added to the clock event.",
        rich_help_panel=_PANEL,
    ),
]
PairOf = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        metavar="BEGIN:END[/KEY,…]",
        help="Show the time between two tracepoints with equal keys, by the stack of the first. Repeatable.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Locks = Annotated[
    bool,
    typer.Option("--locks", help="Show the time that the kernel's locks were contended.", rich_help_panel=_PANEL),
    Rare,
]
Block = Annotated[
    bool, typer.Option("--block", help="Show the time that requests to disks took.", rich_help_panel=_PANEL), Rare
]
Irq = Annotated[bool, typer.Option("--irq", help="Show the time in interrupt handlers.", rich_help_panel=_PANEL), Rare]
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
    """Grouping of samples, off-CPU time, pairs of tracepoints and anonymization."""

    root: Root = None
    merge_threads: MergeThreads = False
    fold_recursion: FoldRecursion = False
    off_cpu: OffCpu = None
    pairs: PairOf = None
    locks: Locks = False
    block: Block = False
    irq: Irq = False
    anonymize: Anonymize = None

    def all_pairs(self) -> tuple[str, ...]:
        """Presets and pairs of tracepoints to show."""
        presets = (("locks", self.locks), ("block", self.block), ("irq", self.irq))
        return (*(name for name, wanted in presets if wanted), *(self.pairs or ()))

    def grouping(self) -> Grouping:
        """The options as a Grouping."""
        return Grouping(self.root or "none", self.merge_threads, self.fold_recursion)
