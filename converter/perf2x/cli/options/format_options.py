"""Options of output formats with an option of their own; ``--set NAME=VALUE`` sets the others, those of plugins, too.

The chosen format refuses options that it lacks (``perf2x formats -v`` lists them).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import Struct
from typer import Option

from perf2x.base.errors import SettingError
from perf2x.cli.as_typed import as_typed
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.model.plugin_options import Needs
    from perf2x.model.profile.profile import Profile

Format = TypeVar("Format")

_WITH_OWN = ("pprof",)
"""Formats with options of their own, whose parameters begin with the format's name."""
_ONE_EVENT = ("collapsed", "speedscope", "svg")
"""Formats that show nothing of other events, so that ``--event`` chooses theirs."""


class FormatFlags(Struct, frozen=True):
    """Options of all output formats, with the names that the formats' fields have."""

    PANEL: ClassVar[str] = "Options of output formats"

    value: Annotated[
        Literal["period", "samples", "latency", "weight", "mispredicts"] | None,
        Option(
            help="latency: period divided by running threads; samples (collapsed, otlp): their number; weight: of "
            "memory accesses; mispredicts: of branches.",
            show_default="period",
        ),
        Rare,
    ] = None
    kernel_suffix: Annotated[bool, Option(help=r"collapsed: mark kernel frames with _\[k]."), Rare] = False
    label: Annotated[
        str | None,
        Option(metavar="NAMES", help="pprof, otlp: labels, separated by commas (pid,tid,comm,cpu,mode…)."),
        Rare,
    ] = None
    sample_types: Annotated[
        Literal["plain", "compat", "identifiers"] | None,
        Option(
            help="pprof, otlp: names of sample types; identifiers: for Parca and Pyroscope; compat (pprof): "
            "perf_data_converter's."
        ),
        Rare,
    ] = None
    pprof_inline: Annotated[
        Literal["lines", "frames", "off"] | None,
        Option("--inline-style", help="pprof: how to keep inlined functions.", show_default="lines"),
        Rare,
    ] = None
    reader: Annotated[
        Literal["any", "go-pgo"] | None,
        Option("--for", help="pprof: go-pgo keeps what go build -pgo reads.", show_default="any"),
        Rare,
    ] = None
    object: Annotated[
        str | None,
        Option(
            metavar="NAME|BUILD-ID",
            help="autofdo, bolt, gcov: the program or library to count branches of.",
            show_default="the one with the most samples",
        ),
        Rare,
    ] = None
    max_samples: Annotated[
        int | None, Option(metavar="N", help="pprof: keep the N samples with the highest values, sum the rest."), Rare
    ] = None
    min_duration: Annotated[
        int | None, Option(metavar="MICROSECONDS", help="chrome: leave out shorter slices."), Rare
    ] = None
    max_events: Annotated[
        int | None, Option(metavar="N", help="chrome: fail if there are more than N slices."), Rare
    ] = None
    per_cpu: Annotated[bool, Option(help="chrome: add a track for each CPU."), Rare] = False
    counters: Annotated[bool, Option(help="chrome: add a counter track for each other event."), Rare] = False
    with_pid: Annotated[bool, Option(help="collapsed: root frames are comm-PID."), Rare] = False
    with_tid: Annotated[bool, Option(help="collapsed: root frames are comm-PID/TID."), Rare] = False
    annotate_all: Annotated[bool, Option(help="collapsed: mark kernel and JIT frames, as inferno's --all."), Rare] = (
        False
    )
    columns: Annotated[
        list[str] | None,
        Option(
            "--column",
            metavar="NAME",
            help="html: a column of functions and lines at first: another event, all, ipc, mpki, mispredicts, A/B; "
            "repeatable.",
        ),
        Rare,
    ] = None
    title: Annotated[str | None, Option(metavar="TEXT", help="html, svg: the heading."), Rare] = None
    per_event: Annotated[bool, Option(help="One file for each event that was sampled: out.EVENT.folded."), Rare] = False

    def part_for(self, needs: "Needs") -> dict[str, Any]:
        """Fields of LoadOptions; the latency is beside the values where the format shows both."""
        from perf2x.transforms.weights_and_mispredicts import value_option

        latency = "beside" if "latency" in needs.columns else "value"
        latency = latency if self.value == "latency" else ""
        return {"value": value_option(self.value), "latency": latency, "beside": bool(self.columns)}

    def fields(self, name: str) -> dict[str, str]:
        """Parameters that were given, by the field of the format; SettingError for another format's own."""
        found = {}
        for flag in self.__struct_fields__:
            value, (owner, _, own) = getattr(self, flag), flag.partition("_")
            if value in (None, False) or flag == "per_event" or (flag == "value" and value != "samples"):
                continue  # not given, or of all formats
            if owner in _WITH_OWN and owner != name:
                raise SettingError(f"{name} has no option ", flag, f"; it is {owner}'s")
            found[own if owner in _WITH_OWN else flag] = flag
        return found

    @classmethod
    def own(cls, name: str, kind: type) -> dict[str, str]:
        """Fields of a format that are parameters, by field; without those that are on, which only ``--set`` stops."""
        from perf2x.plugins.registry import emitter_options

        begin = f"{name}_"
        parameters = {flag.removeprefix(begin): flag for flag in cls.__struct_fields__}
        shared = {"event": "events"} if name in _ONE_EVENT else {}
        has = {entry.name for entry in emitter_options(kind) if entry.default is not True}
        return {field: flag for field, flag in (parameters | shared).items() if field in has}

    def build(self, kind: type[Format], name: str, said: Mapping[str, Any], more: Mapping[str, Any]) -> Format:
        """Make the format ``name``, a dataclass, with what was given, with ``--set``, and of itself (``more``).

        SettingError for options that it lacks, ``--set`` in place of an option, and values that it does not take.
        """
        from perf2x.plugins.registry import build_options

        for field, parameter in self.own(name, kind).items():
            if field in said:
                raise SettingError(f"--set {field}=…: the option is ", parameter)
        flags = self.fields(name)
        given = {field: getattr(self, flag) for field, flag in flags.items()}
        flags |= {"event": "--event all"}
        with as_typed(lambda field: f"--set {field}" if field in said or field not in flags else flags[field]):
            return build_options(kind, name, {**given, **said, **more})

    def outputs(self, profile: "Profile", target: str, suffix: str) -> "Iterable[tuple[str, Profile]]":
        """Names of the files to write and the profile of each: one file, or one for each event."""
        if not self.per_event:
            return ((target, profile),)
        from perf2x.cli.per_event import per_event

        return per_event(profile, target, suffix)
