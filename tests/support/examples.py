"""Numbers of hypothesis examples, fewer of them where HYPOTHESIS_PROFILE asks for that."""

import os

FEW = 15
"""As many as conftest's profile ``fewer`` tries where a test names no number."""


def examples(number: int) -> int:
    """Return how many examples a test tries that wants ``number``: settings of its own would beat the profile's."""
    return min(number, FEW) if os.environ.get("HYPOTHESIS_PROFILE") == "fewer" else number
