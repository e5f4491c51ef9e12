"""The text of ``--to perf-script`` is perf's, sample by sample; each difference has a rule.

Perf is wrong about a caller whose return address is the first byte of the next function (it names that one), about
names of threads before they were renamed and after they ended, and about ``buf`` in compat32 (see test_collapsed.py);
it leaves some deferred chains open, prints 127 frames at most, and a sample whose user part is deferred only once that
part came, so that the order differs.
"""

import io
import lzma
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from perf2x.emitters.perf_script.perf_script import PerfScript
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from tests.support import outputs
from tests.support.against_perf import MAX_LINES
from tests.support.perf_script import parse
from tests.support.recordings import Case, corpus_cases, quick_first

SAME = {"calls", "events", "family", "shapes", "unwind_short"}
"""Recordings of which not a byte differs, nor their order."""
CASES = quick_first(
    case for case in corpus_cases() if case.script and (case.name in SAME or not case.name.startswith("unwind"))
)
NAME = re.compile(r"^.*?(?= +\d+ +(?:\[|\d+\.))")
VARIABLE = re.compile(r" buf\+0x[0-9a-f]+ ")
LAMBDA = re.compile(r" \S+ (?=\S*::\{lambda)")


def blocks(text: str) -> Iterator[list[str]]:
    """Lines of each sample."""
    found: list[str] = []
    for line in text.split("\n"):
        if line and line[0] != "\t" and found:
            yield found
            found = []
        found += [line] if line else []
    yield found


@cache
def printed(case: Case) -> str:
    out = io.BytesIO()
    options = load_options(as_recorded=True, symbols=outputs.symbols_of(case))
    PerfScript().emit(load(str(case.data), options).profile, out)
    return out.getvalue().decode()


def is_open(block: list[str]) -> bool:
    """Whether perf could not complete a sample."""
    return next(parse(block)).cookie is not None


def unlike(perf: list[str], ours: list[str]) -> list[tuple[str, str]]:
    """Frames that no rule explains."""
    if is_open(perf):
        perf = perf[:-1]
        ours = ours[: len(perf)]
    if len(perf) > MAX_LINES:
        ours = ours[: len(perf)]
    if len(perf) != len(ours):
        return [(f"{len(perf)} lines", f"{len(ours)} lines")]
    pairs = zip(perf[1:], ours[1:], strict=True)
    return [(one, other) for one, other in pairs if one != other and not explained(one, other)]


def explained(perf: str, ours: str) -> bool:
    """Equal but for the name of the function behind a call, a variable's name, or a lambda's return type."""
    if "+0x0 " in perf or VARIABLE.search(perf):
        return perf.split()[0] == ours.split()[0]
    return LAMBDA.sub(" ", perf) == LAMBDA.sub(" ", ours)


@pytest.mark.parametrize("case", CASES)
def test_equal_sample_by_sample(case: Case) -> None:
    assert case.script is not None
    perf = lzma.decompress(case.script.read_bytes()).decode()
    text = printed(case)
    assert (text == perf) or case.name not in SAME
    waiting: dict[str, list[list[str]]] = defaultdict(list)
    for block in blocks(text):
        waiting[NAME.sub("", block[0])].append(block)
    wrong = []
    for block in blocks(perf):
        mine = waiting[NAME.sub("", block[0])]
        same = next((row for row, one in enumerate(mine) if not unlike(block, one)), None)
        if same is not None:
            mine.pop(same)
        else:
            wrong.append((block[0], unlike(block, mine.pop(0))[:1] if mine else []))
    assert (len(wrong), wrong[:3]) == (0, [])
    assert not [rest for rest in waiting.values() if rest]


@pytest.mark.parametrize("case", CASES)
def test_samples_are_in_order_of_time(case: Case) -> None:
    times = [block.time for block in parse(printed(case).split("\n"))]
    assert None in times or times == sorted(times)  # type: ignore[type-var]
