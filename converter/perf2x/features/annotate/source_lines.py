"""Finds source files of a profile's objects, and reads their lines for listings."""

from collections.abc import Iterable

from perf2x.base.binaries.find.source_files import SourceFiles
from perf2x.base.binaries.find.untrusted_paths import is_own
from perf2x.base.columnar import I64, unique
from perf2x.base.mapping_names import is_jitdump
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.profile import Profile
from perf2x.model.recording import build_id_by_name
from perf2x.symbolizer.make_object_finder import make_source_fetcher
from perf2x.symbolizer.mapped_objects import object_key
from perf2x.symbolizer.sources.jitdump_mappings import JitdumpFiles
from perf2x.symbolizer.sources.module_source import VmlinuxSource
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind

_LONGEST = 1000
"""Maximum number of characters to show of a line."""


class Sources:
    """Reads lines of the source files that debug info names."""

    def __init__(self, profile: Profile, context: Context, options: ListingOptions) -> None:
        self._profile, self._context, self._around = profile, context, options.around
        self._own: dict[int, bool] = {}
        fetch = make_source_fetcher(context.options, context.diagnostics)
        paths = context.finder.search_paths
        self._files = SourceFiles(paths, options.source_dirs, fetch, as_recorded=options.as_recorded)

    def around(self, path: str, numbers: Iterable[int], locations: I64) -> tuple[dict[int, str], str]:
        """Return the text of lines ``numbers`` and the lines around them, by number; if none is found, the reason.

        ``locations`` are the locations that the lines belong to. A debuginfod server is queried with the build id of
        the first location's object.
        """
        costly = {number for number in numbers if number > 0}
        if not costly:
            return {}, "debug info has no lines"
        is_own = self._are_own(locations)
        found = self._files.find(path, self._build_id(locations), max(costly), is_own=is_own)
        near = {line for number in costly for line in range(number - self._around, number + self._around + 1)}
        texts = {number: found.line(number) for number in sorted(near)}
        return {number: text[:_LONGEST] for number, text in texts.items() if text is not None}, found.reason

    def _are_own(self, locations: I64) -> bool:
        """Return whether the recording was made here, and all objects that name the source file are this machine's own.

        False with bundles: each build id is symbolized only once, so that an object in a bundle may have named
        locations of recordings outside it.
        """
        context = self._context
        if not context.recorded.made_here or context.options.archives:
            return False
        mappings = unique(self._profile.locations.mapping[locations]).tolist()
        for mapping in mappings:
            if mapping not in self._own:
                self._own[mapping] = self._is_own(mapping)
        return bool(mappings) and all(self._own[mapping] for mapping in mappings)

    def _is_own(self, mapping: int) -> bool:
        if mapping < 0:
            return False
        profile, context = self._profile, self._context
        key, pid = object_key(profile, mapping, context.session), int(profile.mappings.pid[mapping])
        places = context.finder.search_paths
        if key.kind is DsoKind.KERNEL:
            kernel = VmlinuxSource(context)
            file = kernel.files.dwarf if kernel.files is not None else None
            return file is not None and any(is_own(places, name, file) for name in kernel.usual_paths)
        if key.kind is DsoKind.FILE and is_jitdump(key.name):
            dump = JitdumpFiles.of(context).open(key.name, pid)
            return dump is not None and dump.name == str(next(places.local_paths(key.name)))
        found = context.find(key.name, key.build_id, pid)
        files = [file for file in (found.code, found.dwarf) if file is not None]
        return bool(files) and all(is_own(places, key.name, file) for file in files)

    def _build_id(self, locations: I64) -> bytes:
        mappings, strings = self._profile.mappings, self._profile.strings
        for mapping in self._profile.locations.mapping[locations[:1]].tolist():
            if mapping >= 0:
                carried = bytes.fromhex(strings[int(mappings.build_id[mapping])])
                return carried or build_id_by_name(self._context.session, strings[int(mappings.filename[mapping])])
        return b""
