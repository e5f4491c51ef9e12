"""Text of ``perf2x script`` with many sets of fields, read again: folds are those of the text with all of them.

perf prints the same layouts (tools/perf/builtin-script.c); `tests.oracle.fresh` holds the printer against perf itself.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache

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
FIELDS = [f"{head},{frame}" for head in HEADS for frame in FRAMES] + ["comm,tid,time,event,ip,sym"]
ALL = "comm,pid,tid,time,period,event,ip,sym,symoff,dso"


def stacks(folds: dict[str, int], fields: str, known: str) -> Counter[str]:
    """Folds of a text with ``fields``, as far as one with the fields ``known`` tells them."""
    found: Counter[str] = Counter()
    for stack, count in folds.items():
        is_named = "comm" in fields or stack.startswith("?;")  # a process without a name
        frames = stack.split(";")[is_named and "comm" not in known :]
        found[";".join("?" if frame.startswith("[") and "dso" not in known else frame for frame in frames)] += count
    return found


@pytest.fixture(scope="module", params=[("calls", ()), ("calls", ("-G",)), ("shapes", ("-G",))], ids=str)
def folds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, int]]:
    name, options = request.param
    path = tmp_path_factory.mktemp("fields") / "text"

    @cache
    def of_text(fields: str) -> dict[str, int]:
        ran = perf2x("script", CORPUS / name / "perf.data", "-F", fields, *NAMES, *options, "-q")
        assert ran.code == 0, ran.err
        path.write_text(ran.out)
        return folded(path, "--event", "all", symbols=True)

    return of_text


@pytest.mark.parametrize("fields", FIELDS)
def test_folds_do_not_depend_on_the_fields(folds: Callable[[str], dict[str, int]], fields: str) -> None:
    assert stacks(folds(fields), fields, fields) == stacks(folds(ALL), ALL, fields)
