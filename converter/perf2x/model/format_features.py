"""Settings of the features that output formats can request in ``Needs.features``.

They are declared here because emitters do not import features.
"""

from typing import Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.setting import FeatureSettings, Setting

CodeObject = Annotated[
    str, Setting("Program or library: name, path or build id; default: the one with most samples.", ("--object",))
]
"""Type of the option ``--object`` of formats that count one object's code."""


class CodeRequest(Frozen):
    """An output format's request for counts of one object's code."""

    object: str = ""
    """Name, path or build id; empty: the object with the most samples."""
    skipped_branches: Literal["kernel", "external"] = "kernel"
    """Recorded branches that are skipped in the search for the next taken branch after each branch.

    ``kernel``: branches from or to kernel code. ``external``: branches with both ends outside the object.
    """
    by_line: bool = False
    """Also count by source line, which requires debug info."""
    gcc_version: int = 0
    """Count lines as this version of GCC (12 to 16) expects them; 0: as LLVM expects them."""


class CodeSettings(FeatureSettings):
    """Settings of ``features/code_counts``."""

    LOOKS_UP_NAMES = False

    code: CodeRequest | None = None
    """Count branches and samples of one object's code; None: no counts."""


class ListingSettings(FeatureSettings):
    """Settings of ``features/annotate``."""

    listings: ListingOptions | None = None
    """Functions to list with costs of lines and instructions, in View.listings; None: no listings."""


class SingleSampleSettings(FeatureSettings):
    """Settings of ``features/single_samples``."""

    AS_RECORDED = True

    as_recorded: bool = False
    """Provide a reader of single samples (``View.single_samples``). Samples keep the addresses of their process."""
    places: frozenset[str] = frozenset()
    """Addresses outside stacks to symbolize, too: ``branches`` (sources and targets), ``data`` (accessed addresses)."""


class OriginalSettings(FeatureSettings):
    """Settings of ``features/original_bytes.py``."""

    original: int = 0
    """Maximum size, in bytes, of a recording to keep unchanged in View.original; 0: keep none."""
