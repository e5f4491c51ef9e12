"""The options that other commands share with ``convert``: shown in what they print, refused, or harmless because.

``python -m tests.support.command_options`` prints the table, with the cases of option_pairs.py.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from perf2x.cli.app import command
from tests.support.command import Ran, perf2x
from tests.support.option_pairs import CASES, REFUSED, Case, Place, is_named, print_table

Words = tuple[str, ...]
VIEWS: dict[str, tuple[Words, ...]] = {
    "top": (("--limit", "0"), ("--by", "thread"), ("--by", "object")),
    "diff": (("--all", "--limit", "0"), ("--all", "--by", "thread"), ("--all", "--by", "object"), ("--format", "json")),
    "report": (("--limit", "30"),),
    "annotate": (("--assembly",), ("--source",), ("--assembly", "--value", "samples")),
    "view": ((),),
    "info": (("--symbols", "-v"), ()),
    "script": ((),),
}
"""Ways to show a recording; an option must change what one of them shows."""
FUNCTION = {"perf_map": "spin*", "deferred": "work::*"}
"""Functions to annotate in each recording, else all."""
EVERY = tuple(VIEWS)
HARMLESS: tuple[tuple[Words, Words, str], ...] = (
    (EVERY, ("--jobs",), "results are the same, however many processes make them"),
    (EVERY, ("--debuginfod",), "another place of objects, as --debug-dir: tests/unit/base/binaries/find"),
    (EVERY, ("--event",), "all is no filter; events that are not shown are named"),
    (("top", "diff"), ("--fold-recursion",), "totals count a function that calls itself once"),
    (("info",), ("--names", "--no-inline"), "it counts frames that have names, whatever they are"),
    (("info", "report"), ("--quiet",), "they say something only where there are no samples, or with -v"),
    (("script",), ("--no-inline",), "it prints no inlined frames, as perf script --no-inline"),
    (("annotate",), ("--syntax", "--around"), "they show with --assembly and --source-dir"),
)
"""(commands, words of options, why nothing changes)."""


@cache
def run(place: Place, name: str, source: str, words: Words, on: str) -> Ran:
    """Run a command on a recording, once for all cases; of ``view`` the page is what it prints."""
    inputs = {"diff": (source, source), "annotate": (FUNCTION.get(on, "*"), source)}.get(name, (source,))
    ran = perf2x(name, *inputs, *words)
    if name == "view" and ran.code == 0:
        page = Path(ran.out.strip())
        ran = Ran(0, page.read_text(), ran.err.replace(str(page), page.name))
        shutil.rmtree(page.parent)
    return ran


def verdict(place: Place, name: str, case: Case) -> str:
    """Return the outcome of a case: honoured, refused, harmless because …, or DROPPED."""
    source, *names = getattr(place, case.on)
    base = () if case.nameless else tuple(names)
    said = ""
    for view in VIEWS[name]:
        with_option = run(place, name, source, (*base, *case.base, *view, *case.words), case.on)
        said = f"{with_option.code} {with_option.said}"
        if (
            with_option.code == 2
            and is_named(case, said)
            and re.search(REFUSED + "|choose from|must be at|leave nothing", said)
        ):
            return "refused: " + said.removeprefix("2 perf2x: ")
        before = run(place, name, source, (*base, *case.base, *view), case.on)
        left_out = "no function" in with_option.err and with_option.err != before.err  # annotate has nothing to show
        if (
            left_out
            or (with_option.code == 0 and with_option.out != before.out)
            or (case.says and with_option != before)
        ):
            return "honoured"
    why = (why for commands, words, why in HARMLESS if name in commands and case.words[0] in words)
    return next((f"harmless: {one}" for one in why), f"DROPPED: {said}")


def shared(name: str) -> Iterator[Case]:
    """Yield the cases of options that a command has of ``convert``'s."""
    spelled = {word for option in command(name).params for word in (*option.opts, *option.secondary_opts)}
    for cases in CASES.values():
        for case in cases:
            if case.words[0] in spelled and set(case.base[:1]) <= spelled:
                yield case


def pairs(place: Place, commands: Words = tuple(VIEWS)) -> Iterator[tuple[str, str, str]]:
    """Yield (command, words, verdict) of all pairs."""
    for name in commands:
        for case in shared(name):
            yield name, " ".join((*case.base, *case.words)), verdict(place, name, case)


if __name__ == "__main__":
    print_table(lambda folder: pairs(Place(folder), tuple(sys.argv[1:]) or tuple(VIEWS)))
