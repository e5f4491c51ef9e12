"""Stitched stacks are what the scalar stitcher and perf itself say, sample by sample."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.against_perf import Ours, compare
from tests.support.from_reference import opinion_of
from tests.support.perf_script import read_blocks
from tests.support.product import product_samples, stitched
from tests.support.recordings import Case, corpus_cases, deferred_cases, quick_first
from tests.support.verdicts import explained

CASES = [
    *quick_first(corpus_cases()),
    *(pytest.param(case, marks=[pytest.mark.shared, pytest.mark.slow]) for case in deferred_cases()),
]


def row(sample: Ours) -> tuple[object, ...]:
    frames = tuple(sample.frames)
    return *sample.key, sample.time_ns, sample.comm, sample.period, sample.missing, sample.kernel_frames, frames


def product_of(path: Path, unwound: set[str]) -> list[Ours]:
    recording, profile = stitched(path)
    profile.check()
    return [sample for sample in product_samples(recording, profile) if sample.event not in unwound]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stitches_like_the_reference(case: Case) -> None:
    opinion = opinion_of(case.data)
    ours, theirs = Counter(map(row, product_of(case.data, opinion.unwound))), Counter(map(row, opinion.samples))
    assert not ours - theirs
    assert not theirs - ours


@pytest.mark.parametrize("case", CASES, ids=str)
def test_stitches_like_perf(case: Case) -> None:
    blocks = read_blocks(case.script) if case.script else []
    if not blocks:
        pytest.skip("perf could not read this recording")
    opinion = opinion_of(case.data)
    blocks = [block for block in blocks if block.event not in opinion.unwound]
    explained(case.name, compare(product_of(case.data, opinion.unwound), blocks), opinion.comms)
