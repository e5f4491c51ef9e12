"""Options of output formats that have a flag of their own; ``--set NAME=VALUE`` reaches every option, plugins' too.

A flag that was given goes to the chosen format, which refuses what it does not have (``perf2x formats -v`` lists it).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from perf2x.classes import dataclass
from perf2x.cli.parameters import Option

if TYPE_CHECKING:
    from perf2x.model.profile import Profile


def _flag(text: str, metavar: str | None = None, name: str | None = None) -> Option:
    names = (name,) if name else ()
    return Option(*names, metavar=metavar, help=text, panel="Options of output formats")


@dataclass(frozen=True, slots=True)
class FormatFlags:
    """What the formats can do beyond their defaults."""

    label: Annotated[str | None, _flag("pprof: labels, by commas (pid,tid,comm,thread,cpu,mode…).", "NAMES")] = None
    pprof_names: Annotated[
        str | None, _flag("pprof: names of sample types; compat is perf_data_converter's.", "plain|compat")
    ] = None
    inline_style: Annotated[str | None, _flag("pprof: how to keep inlined functions [lines].", "lines|frames|off")] = (
        None
    )
    max_samples: Annotated[int | None, _flag("pprof: keep the heaviest, sum up the rest.", "N")] = None
    chrome_style: Annotated[
        str | None, _flag("chrome: boxes, or V8's compact profiles [slices].", "slices|cpuprofile")
    ] = None
    min_duration: Annotated[int | None, _flag("chrome: leave out slices shorter than this.", "MICROSECONDS")] = None
    max_events: Annotated[int | None, _flag("chrome: refuse to write more slices than this.", "N")] = None
    per_cpu: Annotated[bool, _flag("chrome: tracks of CPUs, too.", name="--per-cpu")] = False
    counters: Annotated[bool, _flag("chrome: curves of the other events.", name="--counters")] = False
    with_pid: Annotated[bool, _flag("collapsed: root frames are comm-PID.", name="--with-pid")] = False
    with_tid: Annotated[bool, _flag("collapsed: root frames are comm-PID/TID.", name="--with-tid")] = False
    annotate_all: Annotated[
        bool, _flag("collapsed: mark kernel and JIT frames, as inferno's --all.", name="--annotate-all")
    ] = False
    title: Annotated[str | None, _flag("html, svg: the heading.", "TEXT")] = None
    per_event: Annotated[
        bool, _flag("One file for each event that was sampled: out.EVENT.folded.", name="--per-event")
    ] = False

    def chosen(self) -> dict[str, object]:
        """The flags that were given, by the names of the formats' fields; switches are given when they are on."""
        flags = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "per_event"
        }
        given = {name: value for name, value in flags.items() if value is not None and value is not False}
        return {_FIELD_OF_FLAG.get(name, name): value for name, value in given.items()}

    def outputs(self, profile: Profile, target: str, suffix: str) -> Iterable[tuple[str, Profile]]:
        """The files to write and what goes into each: one, or one per event."""
        from perf2x.cli.per_event import per_event

        return per_event(profile, target, suffix) if self.per_event else ((target, profile),)


_FIELD_OF_FLAG = {"pprof_names": "names", "inline_style": "inline", "chrome_style": "style"}
