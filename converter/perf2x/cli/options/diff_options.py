"""The options of ``perf2x diff``, and the limits of ``--fail-above``.

A limit is the largest growth allowed, in percent of the earlier recording's total::

    5%                  every row of the table, and the total
    total=5%            only the total
    function=2%         any function; object=2% any object
    share=2%            the share of any function in the total, for machines of different speed; only for functions
                        that cost more than before, because shares grow when others shrink
    function:parse*=1%  functions by name or glob; object:libc.so.6=1%, share:parse*=1%
"""

from typing import Annotated, Literal, NamedTuple

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.cli.options.table_options import RowFlags
from perf2x.errors import OptionError, SettingError
from perf2x.model.setting import Argument, Setting
from perf2x.model.totals.row_kinds import Sort

Before = Annotated[str, Argument("The recording to compare with.", metavar="BEFORE")]
After = Annotated[str, Argument("The newer recording.", metavar="AFTER")]


class DiffFileFlags(Frozen):
    """The file to which the difference is written, in addition to the table."""

    PANEL = "Output"

    to: Annotated[
        Literal["html", "pprof", "collapsed"] | None,
        Setting(
            "Also write the difference: a page in red and blue, a profile with its base, or stacks with two columns.",
            ("--to", "-t"),
        ),
    ] = None
    output: Annotated[
        str | None,
        Setting(
            "Name of the output, whose suffix determines the format; - is standard output.",
            ("--output", "-o"),
            "FILE",
            shown_default="diff.html, …",
        ),
    ] = None


class DiffRowFlags(RowFlags):
    """Which changes the table shows, and by which cost they are sorted."""

    sort: Annotated[Sort, Setting("Column to sort by and to apply --fail-above to.")] = "self"
    show_all: Annotated[bool, Setting("Also show unchanged rows.", ("--all",))] = False


class GrowthLimit(NamedTuple):
    """One limit on growth. It is not a struct, whose fields would become options."""

    text: str
    # in percent
    percent: float
    # function, object, share or total; "" (a limit such as 5%): the rows of the displayed table, and the total
    kind: str
    # name or glob
    pattern: str = "*"


def read_limit(text: str) -> GrowthLimit:
    """Parse a value of --fail-above. Raises OptionError for a text that is not a limit."""
    selection, equals, percent_text = text.rpartition("=")
    percent = parse_percentage(f"--fail-above {text}", percent_text)
    if not equals or selection == "total":
        return GrowthLimit(text, percent, selection)
    kind, colon, pattern = selection.partition(":")
    if kind not in ("function", "object", "share") or (colon and not pattern):
        raise OptionError(
            f"--fail-above {text}: expected 5%, total=5%, function=5%, object=5%, share=5%, function:NAME=5%, "
            "object:NAME=5% or share:NAME=5%"
        )
    return GrowthLimit(text, percent, kind, pattern or "*")


def read_confidence(setting: str, typed: str | float) -> float:
    """Parse ``0.95`` or ``95%``. Raises SettingError for a value outside (0, 1)."""
    text = str(typed).strip()
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise SettingError("", setting, f" {typed}: expected a number between 0 and 1 such as 0.95, or 95%")
    return value


class GrowthFlags(Frozen):
    """Limits on growth, and how sure a judgement has to be."""

    PANEL = "For CI"

    fail_above: Annotated[
        tuple[GrowthLimit, ...],
        Setting(
            "Exit with 3 if a row, or the total, grew by more than PCT % of BEFORE's total and sampling noise "
            "does not explain it. WHAT: total, function, object, share (of a function in the total), or some of them "
            "by name, function:parse*; repeatable.",
            metavar="[WHAT=]PCT",
            read=lambda _, texts: tuple(map(read_limit, texts)),
        ),
    ] = ()
    confidence: Annotated[
        float,
        Setting(
            "Probability that two recordings of the same program pass, however many rows are compared.",
            metavar="0.95",
            rare=True,
            read=read_confidence,
        ),
    ] = 0.95
    any_change: Annotated[bool, Setting("Let --fail-above fail even for changes that may be noise.", rare=True)] = False
    allow_unknown: Annotated[bool, Setting("Accept --fail-above for a name that neither recording has.", rare=True)] = (
        False
    )
