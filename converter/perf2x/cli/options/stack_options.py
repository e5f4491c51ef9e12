"""Options for incomplete stacks and for processes."""

from typing import Annotated, Literal

import typer
from msgspec import Struct

from perf2x.cli.options import ON, Rare

_PANEL = "Stacks"

DeferredMissing = Annotated[
    Literal["mark", "kernel-only", "drop"],
    typer.Option(
        "--deferred-missing",
        metavar="HOW",
        help="Samples whose deferred user stack is not in the file: mark, kernel-only or drop.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
StitchLbr = Annotated[
    bool,
    typer.Option(
        "--stitch-lbr",
        help="--call-graph lbr: complete stacks from the previous sample of the thread.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
MergeCallchains = Annotated[
    bool,
    typer.Option(
        "--merge-callchains/--no-merge-callchains",
        help="Join deferred user stacks to the samples that wait for them.",
        rich_help_panel=ON,
    ),
    Rare,
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        min=0,
        show_default="as many cores as pay",
        help="Number of processes that read samples and look up names; it does not change the result.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]


class StackFlags(Struct, frozen=True):
    """Completion of stacks, and number of processes."""

    deferred_missing: DeferredMissing = "mark"
    stitch_lbr: StitchLbr = False
    merge_callchains: MergeCallchains = True
    jobs: Jobs = 0
