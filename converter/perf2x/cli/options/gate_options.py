"""Options for CI jobs: limits on the quality of a recording, and statistics about it."""

from typing import Annotated

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError, SettingError
from perf2x.model.setting import Setting

LIMITS = {
    "unresolved": "of the samples are in functions without a name",
    "lost": "of the samples were lost",
    "missing_user": "of the samples miss their user stack",
}
"""Shares that ``--fail-if`` limits, with the end of a sentence about each: ``3.00 % of the samples were lost``."""


def _read_stats(setting: str, stats: str) -> str:
    if stats != "json" and not stats.endswith(".json"):
        raise SettingError("", setting, f" {stats}: write json for standard error, or a file name that ends with .json")
    return stats


class GateFlags(Frozen):
    """Limits on the quality of a recording, and statistics about it."""

    PANEL = "For CI"

    fail_if: Annotated[
        tuple[tuple[str, float], ...],
        Setting(
            "Exit with 3 if more than PCT % of the samples were lost (lost=1) or lack their deferred user stack "
            "(missing-user=5), or are in functions without a name (unresolved=60); repeatable.",
            metavar="WHAT=PCT",
            rare=True,
            read=lambda _, texts: tuple(map(_read_limit, texts)),
        ),
    ] = ()
    """Pairs: a name in LIMITS, and the largest share allowed, in percent."""
    strict: Annotated[bool, Setting("Fail if any recorded data is missing from the output.", rare=True)] = False
    stats: Annotated[
        str | None,
        Setting(
            "Write quality figures as JSON to standard error or a file.",
            metavar="json|FILE.json",
            rare=True,
            read=_read_stats,
        ),
    ] = None


def _read_limit(text: str) -> tuple[str, float]:
    typed_name, _, percent_text = text.partition("=")
    name = typed_name.replace("-", "_")
    if name not in LIMITS:
        raise OptionError(f"--fail-if {text}: expected lost=PCT, missing-user=PCT or unresolved=PCT")
    return name, parse_percentage(f"--fail-if {text}", percent_text)


def parse_percentage(option: str, text: str) -> float:
    """Parse ``5`` or ``5%``.

    Raises OptionError, whose text begins with ``option``, unless the number is from 0 to 100.
    """
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise OptionError(f"{option}: expected a percentage such as 5 or 0.5")
    return value
