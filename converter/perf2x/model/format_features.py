"""Settings of features that output formats are made of (``Needs.features``); ``features/`` does what they ask for."""

from typing import ClassVar, Literal

from perf2x.base.frozen import Frozen
from perf2x.model.listing_options import ListingOptions
from perf2x.model.setting import FeatureSettings


class CodeRequest(Frozen):
    """Counts of one object's code that an output format asks for."""

    object: str = ""
    """Name, path or build id; empty: the one that most samples were taken in."""
    steps_over: Literal["kernel", "external"] = "kernel"
    """Branches to leave out before the others become neighbours: those from or to the kernel, or all outside."""
    lines: bool = False
    """Also count lines of functions, which needs debug information."""
    gcc: int = 0
    """The version of GCC that lines are counted for, 12 to 16; 0: LLVM."""


class CodeSettings(FeatureSettings, frozen=True):
    """Settings of ``features/code_counts``."""

    LOOKS_UP_NAMES: ClassVar[bool] = False

    code: CodeRequest | None = None
    """Count branches and samples of one object's code; None: do not."""


class ListingSettings(FeatureSettings, frozen=True):
    """Settings of ``features/annotate``."""

    listings: ListingOptions | None = None
    """Functions to list with costs of lines and instructions, in View.listings; None: none."""


class SingleSampleSettings(FeatureSettings, frozen=True):
    """Settings of ``features/single_samples``."""

    AS_RECORDED: ClassVar[bool] = True

    as_recorded: bool = False
    """Keep what reads the samples once more, one by one, each with its thread and its stack at the addresses of its
    process (``View.single_samples``)."""
    places: frozenset[str] = frozenset()
    """Name addresses of such samples besides their stacks: ``branches``, ``data``."""


class OriginalSettings(FeatureSettings, frozen=True):
    """Settings of ``features/original_bytes.py``."""

    original: int = 0
    """Bytes of the recording that may be kept as they are, in View.original; 0: none."""
