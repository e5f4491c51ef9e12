"""From file to text: what ``--to collapsed --value samples`` counts is what perf script printed, name by name.

Four things are perf's own and allowed for: a caller whose return address is the first byte of the next function
(perf names that one; the call was the last instruction of the one before); the thread's name at another moment; ``buf``
in compat32, a variable in .bss that perf 7.2 takes for code because both segments have one file offset; and the return
type of a template function in front of a lambda inside it, which one demangler writes and another leaves out.
"""

import re
from collections import Counter

import pytest

from tests.support import outputs
from tests.support.against_perf import PERF_MAP, compare
from tests.support.from_reference import opinion_of
from tests.support.perf_script import Block, read_blocks
from tests.support.recordings import Case, corpus_cases, quick_first

CASES = quick_first(case for case in corpus_cases() if case.script)
NOT_CALLED = {"first", "nothing_describes", "__start_context"}
"""Functions of programs/ends.cpp whose first bytes lie on stacks though no call ends there: perf is right by chance."""
COMPARED = 0.6
"""At least this share of each recording must be left to compare; in compat32 every stack begins with ``buf``."""


VARIABLES = {"buf"}
RETURN_TYPE = re.compile(r"^[^<( ]+ (?=.*\{lambda)")


def names_of(block: Block) -> tuple[str, ...]:
    """Root first; unresolved frames as perf2x calls them."""
    return tuple(name_of(frame.symbol, frame.dso) for frame in reversed(block.frames))


def name_of(symbol: str, dso: str) -> str:
    if symbol != "[unknown]":
        return plain(symbol)
    if PERF_MAP.match(dso):
        return "[anon]"
    return dso if dso.startswith("[") else f"[{dso.rpartition('/')[2]}]"


def plain(name: str) -> str:
    return RETURN_TYPE.sub("", name).replace(";", ":")


def perfs_error(block: Block) -> bool:
    """Whether a caller's return address is the first byte of a function, or a variable is taken for one."""
    behind_calls = any(frame.offset == 0 and frame.symbol not in NOT_CALLED for frame in block.frames[1:])
    return behind_calls or any(frame.symbol in VARIABLES for frame in block.frames)


@pytest.mark.parametrize("case", CASES)
def test_collapsed_stacks_equal_perfs(case: Case) -> None:
    assert case.script is not None
    opinion = opinion_of(case.data)
    blocks = [block for block in read_blocks(case.script) if block.event not in opinion.unwound]
    if not blocks:
        pytest.skip("all of its stacks are unwound")
    pairs = compare(opinion.samples, blocks).completed
    wanted = Counter((ours.comm.replace(" ", "_"), *names_of(block)) for ours, block in pairs if not perfs_error(block))
    profile = outputs.profile_of(case.data, symbols=outputs.symbols_of(case))
    got = outputs.read_collapsed(outputs.emitted(profile, "collapsed", event="all", value="samples"))
    plainly: Counter[tuple[str, ...]] = Counter()
    for stack, number in got.items():
        plainly[tuple(map(plain, stack))] += number
    missing = wanted - plainly
    assert not missing, f"{case}: {missing.most_common(2)}"
    assert case.name == "compat32" or sum(wanted.values()) >= COMPARED * len(pairs)
