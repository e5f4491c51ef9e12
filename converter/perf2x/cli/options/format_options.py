"""Options of output formats with an option of their own; ``--set NAME=VALUE`` sets any, those of plugins included.

The chosen format refuses options that it lacks (``perf2x formats -v`` lists them).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile

_PANEL = "Options of output formats"

Value = Annotated[
    Literal["period", "samples", "latency", "weight", "mispredicts"] | None,
    typer.Option(
        "--value",
        help="latency: period divided by threads that ran; samples (collapsed, otlp): their number; weight: of memory "
        "accesses; mispredicts: of branches.",
        show_default="period",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
KernelSuffix = Annotated[
    bool,
    typer.Option("--kernel-suffix", help=r"collapsed: mark kernel frames with _\[k].", rich_help_panel=_PANEL),
    Rare,
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAMES",
        help="pprof, otlp: labels, by commas (pid,tid,comm,cpu,mode…).",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
PprofNames = Annotated[
    Literal["plain", "compat", "identifiers"] | None,
    typer.Option(
        "--pprof-names",
        help="pprof: names of sample types; compat is perf_data_converter's, identifiers Parca's.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
InlineStyle = Annotated[
    Literal["lines", "frames", "off"] | None,
    typer.Option(
        "--inline-style",
        help="pprof: how to keep inlined functions.",
        show_default="lines",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
For = Annotated[
    Literal["any", "go-pgo"] | None,
    typer.Option(
        "--for",
        help="pprof: go-pgo keeps what go build -pgo reads.",
        show_default="any",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Object = Annotated[
    str | None,
    typer.Option(
        "--object",
        metavar="NAME|BUILD-ID",
        help="autofdo, bolt: the program or library to count branches of.",
        show_default="the one with most samples",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
MaxSamples = Annotated[
    int | None,
    typer.Option(
        "--max-samples", metavar="N", help="pprof: keep the N heaviest, sum up the rest.", rich_help_panel=_PANEL
    ),
    Rare,
]
ChromeStyle = Annotated[
    Literal["slices", "cpuprofile"] | None,
    typer.Option(
        "--chrome-style",
        help="chrome: boxes, or V8's compact profiles.",
        show_default="slices",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
PerfettoStyle = Annotated[
    Literal["stack-sample", "perf-sample"] | None,
    typer.Option(
        "--perfetto-style",
        help="perfetto: samples for version 58 and later, or for older readers, too.",
        show_default="stack-sample",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
MinDuration = Annotated[
    int | None,
    typer.Option(
        "--min-duration",
        metavar="MICROSECONDS",
        help="chrome: leave out slices shorter than this.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
MaxEvents = Annotated[
    int | None,
    typer.Option(
        "--max-events", metavar="N", help="chrome: fail when there are more slices than this.", rich_help_panel=_PANEL
    ),
    Rare,
]
PerCpu = Annotated[
    bool, typer.Option("--per-cpu", help="chrome: add a track for each CPU.", rich_help_panel=_PANEL), Rare
]
Counters = Annotated[
    bool,
    typer.Option("--counters", help="chrome: add a counter track for each other event.", rich_help_panel=_PANEL),
    Rare,
]
WithPid = Annotated[
    bool, typer.Option("--with-pid", help="collapsed: root frames are comm-PID.", rich_help_panel=_PANEL), Rare
]
WithTid = Annotated[
    bool, typer.Option("--with-tid", help="collapsed: root frames are comm-PID/TID.", rich_help_panel=_PANEL), Rare
]
AnnotateAll = Annotated[
    bool,
    typer.Option(
        "--annotate-all", help="collapsed: mark kernel and JIT frames, as inferno's --all.", rich_help_panel=_PANEL
    ),
    Rare,
]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="html, svg: the heading.", rich_help_panel=_PANEL), Rare
]
PerEvent = Annotated[
    bool,
    typer.Option(
        "--per-event",
        help="One file for each event that was sampled: out.EVENT.folded.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]


class FormatFlags(Struct, frozen=True):
    """Options of all output formats."""

    value: Value = None
    kernel_suffix: KernelSuffix = False
    label: Label = None
    pprof_names: PprofNames = None
    inline_style: InlineStyle = None
    for_reader: For = None
    object_name: Object = None
    max_samples: MaxSamples = None
    chrome_style: ChromeStyle = None
    perfetto_style: PerfettoStyle = None
    min_duration: MinDuration = None
    max_events: MaxEvents = None
    per_cpu: PerCpu = False
    counters: Counters = False
    with_pid: WithPid = False
    with_tid: WithTid = False
    annotate_all: AnnotateAll = False
    title: Title = None
    per_event: PerEvent = False

    def chosen(self, name: str) -> dict[str, object]:
        """The options that were given, by the names of the format's fields; OptionError for another format's own."""
        for flag, _ in self._given():
            owner = flag.partition("_")[0]
            if flag in _FIELD_OF_FLAG and owner in _WITH_OWN_OPTIONS and owner != name:
                raise OptionError(f"{name} has no option {_option(flag)}; it is {owner}'s")
        return {_FIELD_OF_FLAG.get(flag, flag): value for flag, value in self._given()}

    def typed(self) -> dict[str, str]:
        """Fields of the format that were given, and the option that each was given by."""
        return {_FIELD_OF_FLAG.get(flag, flag): _option(flag) for flag, _ in self._given()}

    def _given(self) -> "Iterable[tuple[str, object]]":
        """Options that were given and are the format's; of switches those that are on."""
        for flag in self.__struct_fields__:
            value = getattr(self, flag)
            everywhere = flag == "per_event" or (flag == "value" and value != "samples")  # the profile has them
            if value not in (None, False) and not everywhere:
                yield flag, value

    def outputs(self, profile: "Profile", target: str, suffix: str) -> "Iterable[tuple[str, Profile]]":
        """Names of the files to write and the profile of each: one file, or one for each event."""
        from perf2x.cli.per_event import per_event

        return per_event(profile, target, suffix) if self.per_event else ((target, profile),)


_FIELD_OF_FLAG = {
    "pprof_names": "names",
    "inline_style": "inline",
    "for_reader": "reader",
    "object_name": "object",
    "chrome_style": "style",
    "perfetto_style": "style",
}
_OPTION_OF_FLAG = {"for_reader": "--for", "object_name": "--object"}
_WITH_OWN_OPTIONS = ("pprof", "chrome", "perfetto")
"""Formats with options that begin with their name."""


def _option(flag: str) -> str:
    return _OPTION_OF_FLAG.get(flag) or f"--{flag.replace('_', '-')}"
