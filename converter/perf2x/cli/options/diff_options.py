"""Options of ``perf2x diff`` alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from perf2x.base.frozen import Frozen
from perf2x.cli.options.table_options import RowFlags
from perf2x.errors import SettingError
from perf2x.model.setting import Argument, Setting
from perf2x.model.totals.kinds import Sort

if TYPE_CHECKING:
    from perf2x.tools.diff.recording_pair import PairOptions

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
            "Name of the output, whose suffix tells the format; - is standard output.",
            ("--output", "-o"),
            "FILE",
            shown_default="diff.html, …",
        ),
    ] = None


class MatchFlags(Frozen):
    """Names that differ between the compared recordings."""

    PANEL = RowFlags.PANEL

    map: Annotated[
        tuple[str, ...],
        Setting(
            "Compare the object OLD of BEFORE with NEW of AFTER; repeatable. Without it, objects that differ only "
            "in name or version are matched by their functions; OLD=OLD keeps one out of that.",
            metavar="OLD=NEW",
            rare=True,
        ),
    ] = ()

    def names(self) -> dict[str, str]:
        """Names of objects of BEFORE by those of AFTER."""
        from perf2x.tools.diff.matching_objects import parse_object_names

        return parse_object_names(self.map)


class ChangeFlags(RowFlags, frozen=True):
    """Contents of a table of changes."""

    sort: Annotated[Sort, Setting("Column to sort by and to apply --fail-above to.")] = "self"
    show_all: Annotated[bool, Setting("Also show rows that did not change.", ("--all",))] = False


class ComparisonFlags(Frozen):
    """The compared values, and the limits that fail."""

    PANEL = "For CI"

    normalize: Annotated[bool, Setting("Compare shares: scale AFTER to the total of BEFORE.", panel=RowFlags.PANEL)] = (
        False
    )
    per: Annotated[
        str | None,
        Setting(
            "Compare costs per unit of work: how many units BEFORE and AFTER did. AFTER is scaled to BEFORE.",
            metavar="COUNT,COUNT",
            panel=RowFlags.PANEL,
        ),
    ] = None
    per_value: Annotated[
        str | None,
        Setting(
            "Likewise, per count of another event that both recorded, such as a tracepoint of requests.",
            metavar="EVENT",
            panel=RowFlags.PANEL,
            rare=True,
        ),
    ] = None
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

    def pair_options(self, object_names: Mapping[str, str]) -> "PairOptions":
        """The way to compare; SettingError for two ways."""
        from perf2x.tools.diff.recording_pair import PairOptions, parse_work

        return PairOptions(self.normalize, parse_work(self.per), self.per_value or "", object_names)

    def refuse_without_before(self, matched: MatchFlags) -> None:
        """Raise SettingError for what says how to compare, where there is nothing to compare with."""
        for setting in ("normalize", "per", "per_value", "any_change", "allow_unknown", "map"):
            if getattr(self, setting, None) or getattr(matched, setting, None):
                raise SettingError("", setting, " says how to compare: name the earlier recording with --before")
