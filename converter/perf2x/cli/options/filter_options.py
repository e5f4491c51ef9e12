"""Options that select samples, with the names and syntax of perf."""

from typing import Annotated, Any, ClassVar

from msgspec import Struct
from typer import Option

from perf2x.base.errors import OptionError
from perf2x.cli.options import Rare
from perf2x.transforms.filters.choice import Choice, split_names, split_numbers

Texts = list[str] | None

_NUMBERS = ("pids", "tids", "cpus", "parallelism")
_NAMES = ("comms", "dsos", "symbols")


class FilterFlags(Struct, frozen=True):
    """Filters of samples, all of which must match; every option with a list may be repeated."""

    PANEL: ClassVar[str] = "Samples (all filters must match; repeat an option for more values)"

    events: Annotated[
        Texts, Option("--event", "-e", metavar="NAME", help="Events by name or glob; for collapsed also all.")
    ] = None
    pids: Annotated[Texts, Option("--pid", metavar="PID,…", help="Processes.")] = None
    tids: Annotated[Texts, Option("--tid", metavar="TID,…", help="Threads."), Rare] = None
    comms: Annotated[Texts, Option("--comm", metavar="NAME,…", help="Threads by name or glob.")] = None
    cpus: Annotated[Texts, Option("--cpu", metavar="0-3,7", help="CPUs."), Rare] = None
    dsos: Annotated[
        Texts, Option("--dso", metavar="NAME,…", help="Object in which the sample was taken: libc.so.6."), Rare
    ] = None
    symbols: Annotated[
        Texts,
        Option(
            "--symbol",
            metavar="NAME,…",
            help=r"Function in which the sample was taken; \[libc.so.6] or 0xADDRESS for code without a name.",
        ),
        Rare,
    ] = None
    times: Annotated[
        Texts,
        Option("--time", metavar="START,STOP", help="Seconds as in perf script, or 10%/2, or 0%-10%."),
    ] = None
    wall_times: Annotated[
        Texts, Option("--time-wall", metavar="START,STOP", help="Times of day, 10:00:00,10:00:05.5."), Rare
    ] = None
    parallelism: Annotated[
        Texts, Option(metavar="1-2", help="Taken while this many threads ran; needs context switches."), Rare
    ] = None
    max_stack: Annotated[int | None, Option(metavar="N", min=0, help="Keep the N innermost frames."), Rare] = None
    no_kernel: Annotated[bool, Option(help="Leave kernel frames out."), Rare] = False
    no_user: Annotated[bool, Option(help="Leave user frames out."), Rare] = False
    no_idle: Annotated[bool, Option(help="Leave the idle task (pid 0) out."), Rare] = False
    where: Annotated[
        str | None,
        Option(
            metavar="SQL",
            help="For datasets: a condition on recordings and samples, \"tags['service'] = 'web' AND pid > 1\".",
        ),
        Rare,
    ] = None
    allow_empty: Annotated[bool, Option(help="Continue when there are no samples."), Rare] = False

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions; OptionError for a text that is not a number."""
        return {
            "events": () if self.all_events() else tuple(self.events or ()),
            "choice": self.choice(),
            "where": self.where or "",
            "allow_empty": self.allow_empty,
        }

    def choice(self) -> Choice:
        """The filters as a Choice; OptionError for a text that is not a number."""
        if self.no_kernel and self.no_user:
            raise OptionError("--no-kernel and --no-user together leave nothing")
        lists: dict[str, Any] = {name: split_numbers(name, getattr(self, name) or ()) for name in _NUMBERS}
        lists |= {name: split_names(getattr(self, name) or ()) for name in _NAMES}
        return Choice(
            **lists,
            times=tuple(self.times or ()),
            wall_times=tuple(self.wall_times or ()),
            no_idle=self.no_idle,
            no_kernel=self.no_kernel,
            no_user=self.no_user,
            max_stack=self.max_stack,
        )

    def all_events(self) -> bool:
        """Whether ``--event all`` was given, which the output format handles."""
        return "all" in (self.events or ())
