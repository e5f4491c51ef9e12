"""The options that choose a part of a recording, and how its samples are put together; perf's words and grammar."""

from typing import Annotated

from perf2x.classes import dataclass
from perf2x.cli.parameters import Option
from perf2x.model.choice import Choice, Grouping, split_names, split_numbers
from perf2x.model.errors import OptionError

_PANEL = "Which samples (those that all given options mean)"
_GROUPS = "How to group"
Texts = list[str] | None


@dataclass(frozen=True, slots=True)
class FilterFlags:
    """Which samples; every option may be given several times."""

    event: Annotated[
        Texts,
        Option("--event", "-e", metavar="NAME", help="Events by name or glob; collapsed: or all.", panel=_PANEL),
    ] = None
    pid: Annotated[Texts, Option(metavar="PID,…", help="Processes.", panel=_PANEL)] = None
    tid: Annotated[Texts, Option(metavar="TID,…", help="Threads.", panel=_PANEL)] = None
    comm: Annotated[Texts, Option(metavar="NAME,…", help="Threads by name or glob.", panel=_PANEL)] = None
    cpu: Annotated[Texts, Option(metavar="0-3,7", help="CPUs.", panel=_PANEL)] = None
    dso: Annotated[
        Texts,
        Option(metavar="NAME,…", help="Object that the sample was taken in: libc.so.6.", panel=_PANEL),
    ] = None
    symbol: Annotated[
        Texts,
        Option(
            metavar="NAME,…",
            help="Function that the sample was taken in; [libc.so.6] or 0xADDRESS where there is no name.",
            panel=_PANEL,
        ),
    ] = None
    time: Annotated[
        Texts,
        Option(metavar="START,STOP", help="Seconds as perf script shows them, or 10%/2, or 0%-10%.", panel=_PANEL),
    ] = None
    time_wall: Annotated[
        Texts,
        Option(metavar="START,STOP", help="Times of day, 10:00:00,10:00:05.5.", panel=_PANEL),
    ] = None
    max_stack: Annotated[int | None, Option(metavar="N", at_least=0, help="Keep N innermost frames.", panel=_PANEL)] = (
        None
    )
    no_kernel: Annotated[bool, Option("--no-kernel", help="Leave kernel frames out.", panel=_PANEL)] = False
    no_user: Annotated[bool, Option("--no-user", help="Leave user frames out.", panel=_PANEL)] = False
    no_idle: Annotated[bool, Option("--no-idle", help="Leave the idle task (pid 0) out.", panel=_PANEL)] = False

    allow_empty: Annotated[
        bool, Option("--allow-empty", help="Go on when there is not a single sample.", panel=_PANEL)
    ] = False

    def choice(self) -> Choice:
        """What was said; OptionError for numbers that are none."""
        if self.no_kernel and self.no_user:
            raise OptionError("--no-kernel and --no-user together leave nothing")
        return Choice(
            pids=split_numbers("--pid", self.pid or ()),
            tids=split_numbers("--tid", self.tid or ()),
            cpus=split_numbers("--cpu", self.cpu or ()),
            times=tuple(self.time or ()),
            wall_times=tuple(self.time_wall or ()),
            no_idle=self.no_idle,
            comms=split_names(self.comm or ()),
            dsos=split_names(self.dso or ()),
            symbols=split_names(self.symbol or ()),
            no_kernel=self.no_kernel,
            no_user=self.no_user,
            max_stack=self.max_stack,
        )

    def events(self) -> tuple[str, ...]:
        """Names or globs of events; none for all of them."""
        return () if self.all_events() else tuple(self.event or ())

    def all_events(self) -> bool:
        """``all`` goes to the output format, which may be able to count all events."""
        return "all" in (self.event or ())


@dataclass(frozen=True, slots=True)
class GroupFlags:
    """How samples are put together."""

    root: Annotated[
        str | None,
        Option(
            metavar="comm|process|thread|cpu|cgroup|none",
            help="Put such a frame below every stack [none; collapsed: comm].",
            panel=_GROUPS,
        ),
    ] = None
    merge_threads: Annotated[bool, Option("--merge-threads", help="One thread per process.", panel=_GROUPS)] = False
    fold_recursion: Annotated[
        bool,
        Option("--fold-recursion", help="One frame for a function that calls itself.", panel=_GROUPS),
    ] = False

    off_cpu: Annotated[
        str | None,
        Option(
            metavar="apart|beside|merged",
            help="Time that threads waited: alone, as one more event, or added to the clock event.",
            panel=_GROUPS,
        ),
    ] = None

    anonymize: Annotated[
        str | None,
        Option(
            metavar="SECRET",
            help="Hash names of programs, files, functions and threads; equal secrets, equal hashes.",
            panel=_GROUPS,
        ),
    ] = None

    def grouping(self) -> Grouping:
        """What was said."""
        return Grouping(self.root or "none", self.merge_threads, self.fold_recursion)
