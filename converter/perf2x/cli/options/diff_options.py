"""Options of ``perf2x diff`` alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer
from msgspec import Struct
from typer import Option

from perf2x.base.errors import SettingError
from perf2x.cli.options import Rare
from perf2x.cli.options.table_options import RowFlags

if TYPE_CHECKING:
    from perf2x.tools.diff.recording_pair import PairOptions

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The recording to compare with.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The newer recording.")]


class DifferenceFlags(Struct, frozen=True):
    """A file with the difference."""

    PANEL: ClassVar[str] = "Output"

    to: Annotated[
        Literal["html", "pprof", "collapsed"] | None,
        Option(
            "--to",
            "-t",
            help="Also write the difference: a page in red and blue, a profile with its base, or stacks with two "
            "columns.",
        ),
    ] = None
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default="diff.html, …",
            help="Name of the output, whose suffix tells the format; - is standard output.",
        ),
    ] = None


class MatchFlags(Struct, frozen=True):
    """Names that differ between the compared recordings."""

    PANEL: ClassVar[str] = RowFlags.PANEL

    map: Annotated[
        list[str] | None,
        Option(
            metavar="OLD=NEW",
            help="Compare the object OLD of BEFORE with NEW of AFTER; repeatable. Without it, objects that differ only "
            "in name or version are matched by their functions; OLD=OLD keeps one out of that.",
        ),
        Rare,
    ] = None

    def names(self) -> dict[str, str]:
        """Names of objects of BEFORE by those of AFTER."""
        from perf2x.analysis.diff.matching_objects import parse_object_names

        return parse_object_names(self.map or ())


class ChangeFlags(RowFlags, frozen=True):
    """Contents of a table of changes."""

    sort: Annotated[Literal["self", "total"], Option(help="Column to sort by and to apply --fail-above to.")] = "self"
    show_all: Annotated[bool, Option("--all", help="Also show rows that did not change.")] = False


class ComparisonFlags(Struct, frozen=True):
    """The compared values, and the limits that fail."""

    PANEL: ClassVar[str] = "For CI"

    normalize: Annotated[
        bool, Option(help="Compare shares: scale AFTER to the total of BEFORE.", rich_help_panel=RowFlags.PANEL)
    ] = False
    per: Annotated[
        str | None,
        Option(
            metavar="COUNT,COUNT",
            help="Compare costs per unit of work: how many units BEFORE and AFTER did. AFTER is scaled to BEFORE.",
            rich_help_panel=RowFlags.PANEL,
        ),
    ] = None
    per_value: Annotated[
        str | None,
        Option(
            metavar="EVENT",
            help="Likewise, per count of another event that both recorded, such as a tracepoint of requests.",
            rich_help_panel=RowFlags.PANEL,
        ),
        Rare,
    ] = None
    fail_above: Annotated[
        list[str] | None,
        Option(
            metavar="[WHAT=]PCT",
            help="Exit with 3 if a row, or the total, grew by more than PCT % of BEFORE's total and sampling noise "
            "does not explain it. WHAT: total, function, object, share (of a function in the total), or some of them "
            "by name, function:parse*; repeatable.",
        ),
    ] = None
    confidence: Annotated[
        str,
        Option(
            metavar="0.95",
            help="Probability that two recordings of the same program pass, however many rows are compared.",
        ),
        Rare,
    ] = "0.95"
    any_change: Annotated[bool, Option(help="Let --fail-above fail even for changes that may be noise."), Rare] = False

    def pair_options(self, object_names: Mapping[str, str]) -> "PairOptions":
        """The way to compare; SettingError for two ways."""
        from perf2x.tools.diff.recording_pair import PairOptions, parse_work

        return PairOptions(self.normalize, parse_work(self.per), self.per_value or "", object_names)

    def refuse_without_before(self, matched: MatchFlags) -> None:
        """Raise SettingError for what says how to compare, where there is nothing to compare with."""
        for setting in ("normalize", "per", "per_value", "any_change", "map"):
            if getattr(self, setting, None) or getattr(matched, setting, None):
                raise SettingError("", setting, " says how to compare: name the earlier recording with --before")
