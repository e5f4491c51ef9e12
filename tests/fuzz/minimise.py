"""Minimization of a failing input: parts are removed, then zeroed, as long as it still fails the same way."""

from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.cases import Case

STEPS = 150
"""Runs to spend on one crasher."""


def minimised(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """Return a case with less data that fails in the same way."""
    budget = STEPS
    size = len(case.data) // 2
    while size >= 8 and budget > 0:
        at = 0
        while at < len(case.data) and budget > 0:
            budget -= 1
            shorter = replace(case, data=case.data[:at] + case.data[at + size :])
            if shorter.data and still_fails(shorter):
                case = shorter
            else:
                at += size
        size //= 2
    return case
