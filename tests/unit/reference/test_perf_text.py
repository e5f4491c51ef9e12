"""The scalar reference agrees with perf's own text; every difference is a named one."""

import pytest

from tests.support.against_perf import compare
from tests.support.from_reference import opinion_of
from tests.support.perf_script import read_blocks
from tests.support.recordings import Case, corpus_cases, deferred_cases, quick_first
from tests.support.verdicts import explained

CASES = quick_first(case for case in corpus_cases() if case.script) + [
    pytest.param(case, marks=[pytest.mark.shared, pytest.mark.slow]) for case in deferred_cases() if case.script
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_agrees_with_perf(case: Case) -> None:
    assert case.script is not None
    blocks = read_blocks(case.script)
    if not blocks:
        pytest.skip("perf could not read this recording")
    opinion = opinion_of(case.data)
    blocks = [block for block in blocks if block.event not in opinion.unwound]
    explained(case.name, compare(opinion.samples, blocks), opinion.comms)
