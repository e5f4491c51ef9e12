"""Options for the grouping of samples."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.cli.options import Rare


class GroupingFlags(Struct, frozen=True):
    """Grouping of samples, off-CPU time and anonymization."""

    PANEL: ClassVar[str] = "Grouping"

    root: Annotated[
        Literal["comm", "process", "thread", "cpu", "cgroup", "none"] | None,
        Option(help="Add a root frame to every stack.", show_default="none; collapsed: comm"),
    ] = None
    merge_threads: Annotated[bool, Option(help="Merge the threads of each process."), Rare] = False
    fold_recursion: Annotated[bool, Option(help="Merge the frames of a function that calls itself."), Rare] = False
    off_cpu: Annotated[
        Literal["apart", "beside", "merged"] | None,
        Option(help="Show the time that threads waited: alone, as another event, or added to the clock event."),
    ] = None
    anonymize: Annotated[
        str | None,
        Option(
            metavar="SECRET",
            help="Hash names of programs, files, functions and threads; the same secret gives the same hashes.",
        ),
        Rare,
    ] = None

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions."""
        from perf2x.transforms.filters.choice import Grouping

        return {
            "grouping": Grouping(self.root or "", self.merge_threads, self.fold_recursion),
            "off_cpu": self.off_cpu or "",
            "anonymize": self.anonymize or "",
        }
