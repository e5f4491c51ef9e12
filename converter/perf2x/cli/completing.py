"""What a shell may offer behind an option: words such as ``plain|compat``, installed formats. Files are its own."""

import re
from collections.abc import Callable

Complete = Callable[[str], list[str]]
_WORDS = re.compile(r"[a-z][a-z-]*(\|[a-z][a-z-]*)+")


def completion_of(name: str, metavar: str | None) -> Complete | None:
    """A function from what was typed so far to what it may become; None where only the user knows."""
    if metavar is not None and _WORDS.fullmatch(metavar):
        words = metavar.split("|")

        def those(incomplete: str) -> list[str]:
            return [word for word in words if word.startswith(incomplete)]

        return those
    return _formats if name == "to" else None


def _formats(incomplete: str) -> list[str]:
    from perf2x.plugins import EMITTERS, available

    return [name for name in available(EMITTERS) if name.startswith(incomplete)]
