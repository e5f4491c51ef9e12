"""The ends of stacks of programs/ends.cpp, act by act, and the differences of perf 7.2 (libdw).

The program says what ran, so it tells who is right: each difference is perf's.
"""

from collections import Counter
from functools import cache

from tests.oracle.test_unwinder import samples_of
from tests.support.against_perf import MAX_LINES, Ours
from tests.support.perf_script import Block, read_blocks
from tests.support.recordings import corpus_cases

(CASE,) = (case for case in corpus_cases() if case.name == "unwind_ends")
START_CONTEXT, BEGIN, START = 0x4014A0, 0x40148B, 0x401074
FIRST, NOTHING_DESCRIBES = 0x401000, 0x40104E
CALLERS = 0x401435, 0x401448, 0x40145B
ACTS = {
    "resume_all(Numbers&)": [([], [])],
    # makecontext put the address there, so nothing is taken off it
    "body()": [([START_CONTEXT], [START_CONTEXT - 1])],
    "deep(int) [clone .isra.0]": [([], [])],
    "large()": [([], [])],
    # perf does not know the caller's frame pointer, which the function has taken back from the stack already
    "epilogue": [([BEGIN, START], [])],
    # what the frame pointer leads to is data: 0, and two functions that nobody called; the code tells the callers
    "nothing_describes": [
        ([caller, BEGIN, START], [data - 1 & 2**64 - 1])
        for caller, data in zip(CALLERS, (0, FIRST, NOTHING_DESCRIBES), strict=True)
    ],
    "last_call": [([], [])],
}
"""By the innermost function that is named here: frames behind the common ones that only we have, and only perf."""


@cache
def ends() -> tuple[list[Ours], Counter[str]]:
    return samples_of(CASE.data)


def act_of(block: Block) -> str:
    return next(frame.symbol for frame in block.frames if frame.symbol in ACTS)


def difference(sample: Ours, block: Block) -> tuple[list[int], list[int]]:
    ours, perfs = [address for address, _ in sample.frames], [frame.address for frame in block.frames]
    common = 0
    while ours[common : common + 1] == perfs[common : common + 1] != []:
        common += 1
    return ours[common:], perfs[common:]


def test_each_act_ends_where_the_program_says() -> None:
    assert CASE.script is not None
    ours, placeholders = ends()
    blocks = {block.key: block for block in read_blocks(CASE.script)}
    assert len(ours) == len(blocks)
    seen = Counter[str]()
    for sample in ours:
        act = act_of(blocks[sample.key])
        assert difference(sample, blocks[sample.key]) in ACTS[act]
        seen[act] += 1
    assert seen.keys() == ACTS.keys()
    # the pages of the large frame that nobody touched were not copied, nor what lies behind them
    assert placeholders == {"[stack not copied]": seen["large()"]}


def test_stacks_are_as_deep_as_they_were() -> None:
    """perf's usual limit of 127 is none of ours."""
    deepest = max(len(sample.frames) for sample in ends()[0])
    assert deepest == 150 + 5 > MAX_LINES
