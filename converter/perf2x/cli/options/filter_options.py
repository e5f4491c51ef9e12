"""Options that select samples, with the names and syntax of perf."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.base.errors import SettingError
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.transforms.filters.choice import Choice

Texts = list[str] | None

_NUMBERS = ("pids", "tids", "cpus", "parallelism")
_NAMES = ("comms", "dsos", "symbols")


def _of_frames(words: str, metavar: str = "RE") -> Any:
    panel = "Frames (RE matches a function, object or source file; in this order)"
    return Option(metavar=metavar, help=words, rich_help_panel=panel)


class FilterFlags(Struct, frozen=True):
    """Filters of samples, all of which must match; every option with a list may be repeated."""

    PANEL: ClassVar[str] = "Samples (all filters must match; repeat an option for more values)"

    events: Annotated[
        Texts, Option("--event", "-e", metavar="NAME", help="Events by name or glob; for collapsed also all.")
    ] = None
    itrace: Annotated[
        str | None,
        Option(
            metavar="LETTERS", help="Samples to make of Arm SPE trace, as in perf: bfmtaMi, i100i.", show_default="all"
        ),
        Rare,
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
    ignore: Annotated[Texts, _of_frames("Leave out samples with such a frame."), Rare] = None
    focus: Annotated[Texts, _of_frames("Leave out samples without such a frame."), Rare] = None
    skip_after: Annotated[Texts, _of_frames("Leave out what called such a frame."), Rare] = None
    hide: Annotated[
        Texts, _of_frames("Leave out such frames, or those of python, node, jvm, go-runtime or scheduler.")
    ] = None
    keep: Annotated[Texts, _of_frames("Leave out all other frames."), Rare] = None
    collapse: Annotated[Texts, _of_frames("Make such frames that call each other one."), Rare] = None
    rename: Annotated[Texts, _of_frames("Replace what matches in names of functions.", "RE=NAME"), Rare] = None
    max_stack: Annotated[int | None, Option(metavar="N", min=0, help="Keep the N innermost frames."), Rare] = None
    frames: Annotated[Literal["user", "kernel"] | None, Option(help="Keep only user or kernel frames."), Rare] = None
    no_idle: Annotated[bool, Option(help="Leave the idle task (pid 0) out."), Rare] = False
    allow_empty: Annotated[bool, Option(help="Continue when there are no samples."), Rare] = False

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions; OptionError for a text that is not a number."""
        return {
            "events": () if self.all_events() else tuple(self.events or ()),
            "choice": self.choice(),
            "itrace": self.itrace or "",
            "allow_empty": self.allow_empty,
        }

    def choice(self) -> "Choice":
        """The filters as a Choice; OptionError for a text that is not a number."""
        from perf2x.transforms.filters.choice import Choice

        given = {name: getattr(self, name) for name in Choice.__struct_fields__}
        return Choice(**{name: _parsed(name, value) for name, value in given.items() if value is not None})

    def all_events(self) -> bool:
        """Whether ``--event all`` was given, which the output format handles."""
        return "all" in (self.events or ())


def _parsed(name: str, value: Any) -> Any:
    """The value of a filter; of texts the numbers or names in them."""
    if not isinstance(value, list):
        return value
    return split_numbers(name, value) if name in _NUMBERS else split_names(value) if name in _NAMES else tuple(value)


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """``a,b`` and ``a`` then ``b`` mean the same; commas within <>, () and {} belong to a name."""
    names: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for at, char in enumerate(text):
            depth += (char in "<({") - (char in ">)}")
            if char == "," and depth <= 0:
                names.append(text[begin:at])
                begin = at + 1
        names.append(text[begin:])
    return tuple(name for name in names if name)


def split_numbers(setting: str, texts: Iterable[str]) -> tuple[int, ...]:
    """Numbers and ranges of them, ``0-3,7``, rising; SettingError for anything else."""
    numbers: set[int] = set()
    for part in (part.strip() for text in texts for part in text.split(",")):
        found = re.fullmatch(r"(-?\d{1,10})(?:-(\d{1,10}))?", part)
        if not found:
            raise SettingError("", setting, f" {part!r}: expected numbers such as 7, or 0-3,7")
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if not first <= last < first + 1_000_000:
            raise SettingError("", setting, f" {part!r}: not a range of numbers")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))
