"""Options of ``perf2x dump``."""

from collections.abc import Iterable
from typing import Annotated

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.filters.time_ranges import Range, parse_times
from perf2x.model.setting import Setting


def _read_types(_: str, names: Iterable[str]) -> tuple[str, ...]:
    """Convert "perf_record_mmap2" or "mmap2", in any case, to "MMAP2", and perf2x's own "HEADER_ATTR" to "ATTR"."""
    return tuple(name.upper().removeprefix("PERF_RECORD_").removeprefix("HEADER_") for name in names)


def _read_times(setting: str, texts: Iterable[str]) -> tuple[Range, ...]:
    text = " ".join(texts)
    if "%" in text:
        raise SettingError("", setting, f" {text}: dump does not know the recording's length; write seconds")
    return parse_times(text, 0, 0)


def _read_branches(_: str, texts: Iterable[str]) -> tuple[str, ...]:
    from perf2x.model.recording.branch_types import parse_branch_filter

    return parse_branch_filter(",".join(texts))


class DumpOptions(Frozen):
    """Selects records, and how much of each to show."""

    types: Annotated[
        tuple[str, ...],
        Setting(
            "Only records of this type (SAMPLE, MMAP2, …); may be repeated.", ("--type",), "NAME", read=_read_types
        ),
    ] = ()
    """Names of types, as they are printed after PERF_RECORD_ (MMAP2, ATTR); empty for all."""
    times: Annotated[
        tuple[Range, ...],
        Setting("Only records from START to STOP (seconds).", ("--time",), "START,STOP", read=_read_times),
    ] = ()
    """Omit records outside these ranges, and those without a time; empty for all records."""
    limit: Annotated[int | None, Setting("Stop after this many records.", ("--limit", "-n"), "N", least=0)] = None
    """Number of records, each of which may take several lines; None for all."""
    raw: Annotated[bool, Setting("Show the bytes of each record too.", ("--raw", "-x"))] = False
    events: Annotated[bool, Setting("Start with a line for every event.", ("--events/--no-events",))] = True
    verbose: Annotated[
        bool, Setting("Show each record's header; of samples, also fields, callchains and so on.", ("--verbose", "-v"))
    ] = False
    branch_filter: Annotated[
        tuple[str, ...],
        Setting(
            "Branches to show, by type, speculation or privilege: call,ind_call,user (needs -v).",
            metavar="WORD,…",
            read=_read_branches,
        ),
    ] = ()
    """Words for types, speculation and privilege (``parse_branch_filter``); empty: all branches."""
