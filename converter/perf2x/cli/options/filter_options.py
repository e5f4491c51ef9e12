"""Options that select samples, with the names and syntax of perf."""

from typing import Annotated

import typer
from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.cli.options import Rare
from perf2x.transforms.filters.choice import Choice, split_names, split_numbers

_PANEL = "Samples (all filters must match; repeat an option for more values)"

Event = Annotated[
    list[str] | None,
    typer.Option(
        "--event", "-e", metavar="NAME", help="Events by name or glob; for collapsed also all.", rich_help_panel=_PANEL
    ),
]
Pid = Annotated[list[str] | None, typer.Option("--pid", metavar="PID,…", help="Processes.", rich_help_panel=_PANEL)]
Tid = Annotated[list[str] | None, typer.Option("--tid", metavar="TID,…", help="Threads.", rich_help_panel=_PANEL), Rare]
Comm = Annotated[
    list[str] | None,
    typer.Option("--comm", metavar="NAME,…", help="Threads by name or glob.", rich_help_panel=_PANEL),
]
Cpu = Annotated[list[str] | None, typer.Option("--cpu", metavar="0-3,7", help="CPUs.", rich_help_panel=_PANEL), Rare]
Dso = Annotated[
    list[str] | None,
    typer.Option(
        "--dso", metavar="NAME,…", help="Object in which the sample was taken: libc.so.6.", rich_help_panel=_PANEL
    ),
    Rare,
]
Symbol = Annotated[
    list[str] | None,
    typer.Option(
        "--symbol",
        metavar="NAME,…",
        help=r"Function in which the sample was taken; \[libc.so.6] or 0xADDRESS for code without a name.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Time = Annotated[
    list[str] | None,
    typer.Option(
        "--time",
        metavar="START,STOP",
        help="Seconds as perf script shows them, or 10%/2, or 0%-10%.",
        rich_help_panel=_PANEL,
    ),
]
TimeWall = Annotated[
    list[str] | None,
    typer.Option(
        "--time-wall", metavar="START,STOP", help="Times of day, 10:00:00,10:00:05.5.", rich_help_panel=_PANEL
    ),
    Rare,
]
Parallelism = Annotated[
    list[str] | None,
    typer.Option(
        "--parallelism",
        metavar="1-2",
        help="Taken while so many threads ran; needs context switches.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
MaxStack = Annotated[
    int | None,
    typer.Option("--max-stack", metavar="N", min=0, help="Keep the N innermost frames.", rich_help_panel=_PANEL),
    Rare,
]
NoKernel = Annotated[bool, typer.Option("--no-kernel", help="Leave kernel frames out.", rich_help_panel=_PANEL), Rare]
NoUser = Annotated[bool, typer.Option("--no-user", help="Leave user frames out.", rich_help_panel=_PANEL), Rare]
NoIdle = Annotated[
    bool, typer.Option("--no-idle", help="Leave the idle task (pid 0) out.", rich_help_panel=_PANEL), Rare
]

Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help="Of datasets: a condition on recordings and samples, \"tags['service'] = 'web' AND pid > 1\".",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
AllowEmpty = Annotated[
    bool,
    typer.Option("--allow-empty", help="Continue when there are no samples.", rich_help_panel=_PANEL),
    Rare,
]


class FilterFlags(Struct, frozen=True):
    """Filters of samples, all of which must match; every option with a list may be repeated."""

    event: Event = None
    pid: Pid = None
    tid: Tid = None
    comm: Comm = None
    cpu: Cpu = None
    dso: Dso = None
    symbol: Symbol = None
    time: Time = None
    time_wall: TimeWall = None
    parallelism: Parallelism = None
    max_stack: MaxStack = None
    no_kernel: NoKernel = False
    no_user: NoUser = False
    no_idle: NoIdle = False
    allow_empty: AllowEmpty = False

    def choice(self) -> Choice:
        """The filters as a Choice; OptionError for a text that is no number."""
        if self.no_kernel and self.no_user:
            raise OptionError("--no-kernel and --no-user together leave nothing")
        return Choice(
            pids=split_numbers("--pid", self.pid or ()),
            tids=split_numbers("--tid", self.tid or ()),
            cpus=split_numbers("--cpu", self.cpu or ()),
            times=tuple(self.time or ()),
            wall_times=tuple(self.time_wall or ()),
            parallelism=split_numbers("--parallelism", self.parallelism or ()),
            no_idle=self.no_idle,
            comms=split_names(self.comm or ()),
            dsos=split_names(self.dso or ()),
            symbols=split_names(self.symbol or ()),
            no_kernel=self.no_kernel,
            no_user=self.no_user,
            max_stack=self.max_stack,
        )

    def events(self) -> tuple[str, ...]:
        """Names or globs of events; empty: all."""
        return () if self.all_events() else tuple(self.event or ())

    def all_events(self) -> bool:
        """Whether ``--event all`` was given, which the output format handles."""
        return "all" in (self.event or ())
