"""Text of ``perf2x script`` with many sets of fields, read again: folds are those of the text with all of them.

perf prints the same layouts (tools/perf/builtin-script.c); `tests.oracle.fresh` holds the printer against perf itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

from tests.support.command import folded, perf2x
from tests.support.recordings import CORPUS

NAMES = ["--symfs", str(CORPUS / "common" / "symfs")]
HEADS = (
    "comm,tid,time,event", "comm,pid,tid,time,event", "comm,tid,time,period,event", "comm,pid,tid,period,event",
    "comm,tid,event", "comm,tid,time", "comm,tid", "comm,time,event", "comm,event", "comm,time", "comm,period", "comm",
    "tid,time,event", "tid,event", "tid,period,event", "pid,tid", "tid", "pid", "event", "time", "period", "time,event",
)  # fmt: skip
FRAMES = ("ip,sym,dso", "ip,sym,symoff,dso", "ip,sym,dso,dsoff")
TEXTS = ("calls", ()), ("calls", ("-G",)), ("shapes", ("-G",))
ALL = "comm,pid,tid,time,period,event,ip,sym,symoff,dso"


def stacks(folds: dict[str, int], fields: str, known: str) -> Counter[str]:
    """Folds of a text with ``fields``, as far as one with the fields ``known`` tells them."""
    found: Counter[str] = Counter()
    for stack, count in folds.items():
        is_named = "comm" in fields or stack.startswith("?;")  # a process without a name
        frames = stack.split(";")[is_named and "comm" not in known :]
        found[";".join("?" if frame.startswith("[") and "dso" not in known else frame for frame in frames)] += count
    return found


Folds = Callable[[int, str], dict[str, int]]


@pytest.fixture(scope="module")
def folds(tmp_path_factory: pytest.TempPathFactory) -> Folds:
    path = tmp_path_factory.mktemp("fields") / "text"

    @cache
    def of_text(text: int, fields: str) -> dict[str, int]:
        name, options = TEXTS[text]
        ran = perf2x("script", CORPUS / name / "perf.data", "-F", fields, *NAMES, *options, "-q")
        assert ran.code == 0, ran.err
        path.write_text(ran.out)
        return folded(path, "--event", "all", symbols=True)

    return of_text


def sets() -> Iterator[Any]:
    """DictionaryColumn, heads and frames; quick ones have each head once, and pair each text with all frames."""
    for number, head in enumerate(HEADS):
        for text, frame in product(range(len(TEXTS)), range(len(FRAMES))):
            is_quick = (text, frame) == (number % len(TEXTS), number // len(TEXTS) % len(FRAMES))
            yield pytest.param(text, f"{head},{FRAMES[frame]}", marks=() if is_quick else pytest.mark.slow)
    yield from ((text, "comm,tid,time,event,ip,sym") for text in range(len(TEXTS)))


@pytest.mark.parametrize(("text", "fields"), list(sets()))
def test_folds_do_not_depend_on_the_fields(folds: Folds, text: int, fields: str) -> None:
    assert stacks(folds(text, fields), fields, fields) == stacks(folds(text, ALL), ALL, fields)
