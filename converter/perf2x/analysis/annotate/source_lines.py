"""Lines of source files for listings."""

from collections.abc import Iterable

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.base.columnar.arrays import I64
from perf2x.binaries.find.source_files import SourceFiles
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.build_ids import build_id_by_name
from perf2x.symbolizer.make_finder import make_source_fetcher
from perf2x.symbolizer.sources.symbol_source import Context

LONGEST = 1000
"""Characters of a line that are shown."""


class Sources:
    """Source files of a profile's objects."""

    def __init__(self, profile: Profile, context: Context, options: ListingOptions) -> None:
        self._profile, self._context, self._around = profile, context, options.around
        fetch = make_source_fetcher(context.options, context.diagnostics)
        paths = context.finder.search_paths
        self._files = SourceFiles(paths, options.source_dirs, fetch, as_recorded=options.as_recorded)

    def around(self, path: str, numbers: Iterable[int], locations: I64) -> tuple[dict[int, str], str]:
        """Text of lines and of those around them by number, and the reason if there is none.

        ``locations`` are some that the lines belong to; their object's build id is what a server is asked by.
        """
        wanted = {number for number in numbers if number > 0}
        if not wanted:
            return {}, "debug info gives no lines"
        found = self._files.find(path, self._build_id(locations), max(wanted))
        near = {line for number in wanted for line in range(number - self._around, number + self._around + 1)}
        texts = {number: found.line(number) for number in sorted(near)}
        return {number: text[:LONGEST] for number, text in texts.items() if text is not None}, found.reason

    def _build_id(self, locations: I64) -> bytes:
        mappings, strings = self._profile.mappings, self._profile.strings
        for mapping in self._profile.locations.mapping[locations[:1]].tolist():
            if mapping >= 0:
                carried = bytes.fromhex(strings[int(mappings.build_id[mapping])])
                return carried or build_id_by_name(self._context.session, strings[int(mappings.filename[mapping])])
        return b""
