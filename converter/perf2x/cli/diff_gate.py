"""``--fail-above`` of ``perf2x diff``: how much a function, an object or the whole may grow.

::

    5%                  every line of the table, and the whole
    total=5%            the whole alone
    function=2%         any function; object=2% any object
    function:parse*=1%  functions by name or glob; object:libc.so.6=1%
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from perf2x.classes import dataclass
from perf2x.cli import console
from perf2x.cli.gates import limit
from perf2x.cli.tables import signed
from perf2x.model.choice import no_such
from perf2x.model.errors import OptionError

if TYPE_CHECKING:
    from perf2x.comparing import Change
    from perf2x.totals import Totals


@dataclass(frozen=True, slots=True)
class Bar:
    """One limit."""

    percent: float
    kind: str = ""
    """function or object; "" for the lines of the table that is shown."""
    pattern: str = "*"
    whole: bool = True
    lines: bool = True


def bars_of(texts: Sequence[str]) -> list[Bar]:
    """What was said; OptionError for what is no limit."""
    return [_bar(text) for text in texts]


def _bar(text: str) -> Bar:
    what, equals, share = text.rpartition("=")
    percent = limit("fail_above", share) or 0.0
    if not equals:
        return Bar(percent)
    if what == "total":
        return Bar(percent, lines=False)
    kind, colon, pattern = what.partition(":")
    if kind not in ("function", "object") or (colon and not pattern):
        raise OptionError(
            f"--fail-above {text}: expected 5%, total=5%, function=5%, object=5%, function:NAME=5% or object:NAME=5%"
        )
    return Bar(percent, kind, pattern or "*", whole=False)


def grown(
    bar: Bar, was: "Totals", now: "Totals", moved: Sequence["Change"], sort: str, normalize: bool
) -> Iterator[str]:
    """A sentence for the whole, and for each line in the order given, that grew by more than the bar allows.

    With ``normalize`` the wholes are equal by definition. Nothing grows beyond a share of nothing.
    """
    if not was.whole:
        return
    allowed = bar.percent / 100 * was.whole
    risen = now.whole - was.whole
    if bar.whole and not normalize and risen > allowed:
        yield f"the whole grew by {signed(risen, was.whole)}, more than {bar.percent:g} % (--fail-above)"
    rows = [row for row in moved if row.name == bar.pattern or fnmatchcase(row.name, bar.pattern)] if bar.lines else []
    if bar.lines and not rows and bar.pattern != "*":
        console.note(f"perf2x: --fail-above: {no_such(bar.kind, bar.pattern, [row.name for row in moved])}")
    for row in rows:
        if row.moved(sort) > allowed:
            place = f" in {row.object}" if row.object else ""
            share = signed(row.moved(sort), was.whole)
            chance = "; it may be chance: record more samples" if row.moved(sort) < row.noise(sort) else ""
            yield f"{row.name}{place} grew by {share} of the whole, more than {bar.percent:g} % (--fail-above){chance}"
