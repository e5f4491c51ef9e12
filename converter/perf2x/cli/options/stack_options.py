"""Options for incomplete stacks and for processes."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.cli.options import ON, Rare


class StackFlags(Struct, frozen=True):
    """Completion of stacks, and number of processes."""

    PANEL: ClassVar[str] = "Stacks"

    deferred_missing: Annotated[
        Literal["mark", "kernel-only", "drop"],
        Option(
            metavar="HOW",
            help="What to do with samples whose deferred user stack is missing: mark, kernel-only or drop.",
        ),
        Rare,
    ] = "mark"
    stitch_lbr: Annotated[
        bool, Option(help="For --call-graph lbr: complete stacks from the previous sample of the thread."), Rare
    ] = False
    merge_callchains: Annotated[
        bool,
        Option(
            "--merge-callchains/--no-merge-callchains",
            help="Join deferred user stacks to their samples.",
            rich_help_panel=ON,
        ),
        Rare,
    ] = True
    jobs: Annotated[
        int,
        Option(
            metavar="N",
            min=0,
            show_default="auto",
            help="Number of processes that read samples and look up names; the result is the same.",
        ),
        Rare,
    ] = 0

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions."""
        from perf2x.stitcher.call_graphs import CallGraphOptions

        return {
            "deferred_missing": self.deferred_missing,
            "call_graphs": CallGraphOptions(stitch_lbr=self.stitch_lbr),
            "merge_callchains": self.merge_callchains,
            "jobs": self.jobs,
        }
