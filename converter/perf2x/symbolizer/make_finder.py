"""Make the object finder from the symbol options, to be shared by unwinder and symbolizer."""

from collections.abc import Iterator, Sequence

from perf2x.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.binaries.find.debuginfod import Debuginfod, Progress, cache_directory, debuginfod_urls
from perf2x.binaries.find.object_finder import Fetcher, Finder
from perf2x.binaries.find.perf_archive import Archive, name_key
from perf2x.binaries.find.source_files import Fetch
from perf2x.model.diagnostics import Diagnostics
from perf2x.symbolizer.symbol_options import SymbolOptions


def make_finder(options: SymbolOptions, diagnostics: Diagnostics, progress: Progress | None = None) -> Finder:
    """Make a finder that searches everything ``options`` names; use one per conversion, as it keeps what it found."""
    fetchers: list[Fetcher] = []
    objects = _ArchivedObjects(archives_of(options))
    if options.archives:
        fetchers.append(objects.by_build_id)
    urls = debuginfod_urls(options.debuginfod_urls, {})
    if urls:
        fetchers.append(Debuginfod(urls, cache_directory(), diagnostics, progress).fetch)
    return Finder(options.search_paths(), tuple(fetchers), objects.by_name)


def make_source_fetcher(options: SymbolOptions, diagnostics: Diagnostics) -> Fetch | None:
    """Make a function that asks the debuginfod servers for source files; None without servers."""
    urls = debuginfod_urls(options.debuginfod_urls, {})
    return Debuginfod(urls, cache_directory(), diagnostics).source if urls else None


def archives_of(options: SymbolOptions) -> tuple[Archive, ...]:
    """The tarballs that the user named."""
    return tuple(Archive(path) for path in options.archives)


class _ArchivedObjects:
    """Objects in archives, found by build id or, if none was recorded, by name."""

    def __init__(self, archives: Sequence[Archive]) -> None:
        self._archives = archives

    def by_build_id(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """Objects of a kind that the finder asks for, ``executable`` or ``debuginfo``."""
        members = {"executable": ("elf", "vdso"), "debuginfo": ("debug",)}[kind]
        for archive in self._archives:
            found = archive.member(build_id, members)
            if found is not None:
                yield open_elf(found[1], found[0])

    def by_name(self, name: str) -> Iterator[ElfObject]:
        """Objects of a recorded name."""
        for archive in self._archives:
            for kind in ("elf", "vdso", "debug"):
                found = archive.member(name_key(name), (kind,))
                if found is not None:
                    yield open_elf(found[1], found[0])
