"""Options specific to ``perf2x diff``."""

from typing import Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.options.table_options import RowFlags
from perf2x.model.setting import Argument, Setting
from perf2x.model.totals.row_kinds import Sort

Before = Annotated[str, Argument("The recording to compare with.", metavar="BEFORE")]
After = Annotated[str, Argument("The newer recording.", metavar="AFTER")]


class DifferenceFlags(Frozen):
    """A file with the difference."""

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


class ChangeFlags(RowFlags):
    """Contents of a table of changes."""

    sort: Annotated[Sort, Setting("Column to sort by and to apply --fail-above to.")] = "self"
    show_all: Annotated[bool, Setting("Also show unchanged rows.", ("--all",))] = False


class ComparisonFlags(Frozen):
    """Limits of growth."""

    PANEL = "For CI"

    fail_above: Annotated[
        tuple[str, ...],
        Setting(
            "Exit with 3 if a row, or the total, grew by more than PCT % of BEFORE's total and sampling noise "
            "does not explain it. WHAT: total, function, object, share (of a function in the total), or some of them "
            "by name, function:parse*; repeatable.",
            metavar="[WHAT=]PCT",
        ),
    ] = ()
    confidence: Annotated[
        str,
        Setting(
            "Probability that two recordings of the same program pass, however many rows are compared.",
            metavar="0.95",
            rare=True,
        ),
    ] = "0.95"
    any_change: Annotated[bool, Setting("Let --fail-above fail even for changes that may be noise.", rare=True)] = False
    allow_unknown: Annotated[bool, Setting("Accept --fail-above for a name that neither recording has.", rare=True)] = (
        False
    )
