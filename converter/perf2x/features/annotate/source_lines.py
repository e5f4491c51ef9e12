"""Finds source files of a profile's objects, and reads their lines for listings.

Paths in debug info are always followed below ``--symfs`` and ``--source-dir``. They are followed to this machine's own
files only if the recording was made here and the object is installed here (base/binaries/find/untrusted_paths.py).
"""

from collections.abc import Iterable
from functools import cache

from perf2x.base.binaries.find.source_files import SourceFiles
from perf2x.base.binaries.find.untrusted_paths import is_installed_here
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

_MAX_LINE_LENGTH = 1000


class SourceLines:
    """Reads lines of the source files that debug info names."""

    def __init__(self, profile: Profile, context: Context, options: ListingOptions) -> None:
        self._profile, self._context, self._line_count_around = profile, context, options.around
        self._is_installed = cache(self._is_installed_object)
        fetch = make_source_fetcher(context.options, context.diagnostics)
        paths = context.finder.search_paths
        self._files = SourceFiles(paths, options.source_dirs, fetch, allow_recorded_paths=options.as_recorded)

    def lines_around(self, path: str, numbers: Iterable[int], locations: I64) -> tuple[dict[int, str], str]:
        """Return the text of the lines ``numbers`` (0: unknown) and of lines around them, by number.

        The second result is the reason why there is no text; "" if there is text. The objects of ``locations`` decide
        whether the path is trusted. The build id of the first location's object is sent to debuginfod.
        """
        known_numbers = {number for number in numbers if number > 0}
        if not known_numbers:
            return {}, "debug info has no lines"
        are_installed = self._are_installed_objects(locations)
        file = self._files.find(path, self._build_id(locations), max(known_numbers), is_installed_here=are_installed)
        around = self._line_count_around
        shown_numbers = {line for number in known_numbers for line in range(number - around, number + around + 1)}
        texts = {number: file.line(number) for number in sorted(shown_numbers)}
        return {number: text[:_MAX_LINE_LENGTH] for number, text in texts.items() if text is not None}, file.reason

    def _are_installed_objects(self, locations: I64) -> bool:
        context = self._context
        # an archive, which may be a bundle, can hold a forged object with the build id of the installed one
        if not context.recorded.was_made_here or context.options.archives:
            return False
        mappings = unique(self._profile.locations.mapping[locations]).tolist()
        return bool(mappings) and all(map(self._is_installed, mappings))

    def _is_installed_object(self, mapping: int) -> bool:
        if mapping < 0:
            return False
        profile, context = self._profile, self._context
        key, pid = object_key(profile, mapping, context.session), int(profile.mappings.pid[mapping])
        search_paths = context.finder.search_paths
        if key.kind is DsoKind.KERNEL:
            kernel = VmlinuxSource(context)
            file = kernel.files.dwarf if kernel.files is not None else None
            return file is not None and any(is_installed_here(search_paths, path, file) for path in kernel.usual_paths)
        if key.kind is DsoKind.FILE and is_jitdump(key.name):
            jitdump = JitdumpFiles.of(context).open(key.name, pid)
            return jitdump is not None and jitdump.name == str(next(search_paths.local_paths(key.name)))
        found = context.find(key.name, key.build_id, pid)
        files = [file for file in (found.code, found.dwarf) if file is not None]
        return bool(files) and all(is_installed_here(search_paths, key.name, file) for file in files)

    def _build_id(self, locations: I64) -> bytes:
        mappings, strings = self._profile.mappings, self._profile.strings
        for mapping in self._profile.locations.mapping[locations[:1]].tolist():
            if mapping >= 0:
                recorded = bytes.fromhex(strings[int(mappings.build_id[mapping])])
                return recorded or build_id_by_name(self._context.session, strings[int(mappings.filename[mapping])])
        return b""
