"""Context of a load: its options, and everything that its stages report to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from perf2x.model.diagnostics import Diagnostics
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.stage_timer import Stages

if TYPE_CHECKING:
    from perf2x.binaries.find.object_finder import Finder
    from perf2x.symbolizer.known.known_names import KnownNames
    from perf2x.transforms.filters.unmatched_filters import UnmatchedFilters

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total) now and then."""


class LoadContext:
    """Options, diagnostics, progress and stage times of one load, and the finder of objects that its stages share."""

    def __init__(
        self, options: LoadOptions, diagnostics: Diagnostics, progress: Progress | None, stages: Stages
    ) -> None:
        self.options = options
        self.diagnostics = diagnostics
        self.progress = progress
        self.stages = stages
        self.known_names: KnownNames | None = None
        """Names that one recording is given and the next one need not look up; None for one recording alone."""
        self.unmatched: UnmatchedFilters | None = None
        """Filters that only some of several recordings may match; None for one recording alone."""

    @cached_property
    def finder(self) -> Finder:
        """Finder of objects, made on first use: most loads without symbols need none."""
        from perf2x.symbolizer.make_finder import make_finder
        from perf2x.symbolizer.symbol_options import SymbolOptions

        return make_finder(self.options.symbols or SymbolOptions(), self.diagnostics, self.progress)

    def progress_of(self, stage: str) -> Callable[[int, int], None] | None:
        """A callback for one stage, called with (done, total); None when nobody watches."""
        progress = self.progress
        return None if progress is None else lambda done, total: progress(stage, done, total)
