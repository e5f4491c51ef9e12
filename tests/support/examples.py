"""Numbers of hypothesis examples: few by default, all with HYPOTHESIS_PROFILE=all, as the long tests run."""

import os

FEW = 15
"""As many as conftest's default profile tries where a test names no number."""


def examples(number: int) -> int:
    """Return how many examples a test tries that wants ``number``: settings of its own would beat the profile's."""
    return number if os.environ.get("HYPOTHESIS_PROFILE") == "all" else min(number, FEW)
