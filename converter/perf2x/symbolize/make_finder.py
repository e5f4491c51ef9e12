"""The object finder that the options ask for, to be shared by unwinder and symbolizer."""

from collections.abc import Callable, Iterator, Sequence

from perf2x.binary.elf.file import ElfObject, open_elf
from perf2x.debugfiles.archive import Archive, name_key
from perf2x.debugfiles.debuginfod import Debuginfod, Progress, cache_directory, debuginfod_urls
from perf2x.debugfiles.finder import Fetcher, Finder
from perf2x.symbolize.options import SymbolOptions
from perf2x.tables.diagnostics import Diagnostics


def make_finder(options: SymbolOptions, diagnostics: Diagnostics, progress: Progress | None = None) -> Finder:
    """A finder with every place that ``options`` names; one per conversion, it remembers what it found."""
    fetchers: list[Fetcher] = []
    archives = archives_of(options)
    if archives:
        fetchers.append(_from_archives(archives))
    urls = debuginfod_urls(options.debuginfod_urls, {})
    if urls:
        fetchers.append(Debuginfod(urls, cache_directory(), diagnostics, progress).fetch)
    return Finder(options.places(), tuple(fetchers), _bundled_in(archives))


def archives_of(options: SymbolOptions) -> tuple[Archive, ...]:
    """The tarballs that the user named."""
    return tuple(Archive(path) for path in options.archives)


def _bundled_in(archives: Sequence[Archive]) -> Callable[[str], Iterator[ElfObject]]:
    def files(name: str) -> Iterator[ElfObject]:
        for archive in archives:
            for kind in ("elf", "vdso", "debug"):
                found = archive.member(name_key(name), (kind,))
                if found is not None:
                    yield open_elf(found[1], found[0])

    return files


def _from_archives(archives: Sequence[Archive]) -> Fetcher:
    kinds = {"executable": ("elf", "vdso"), "debuginfo": ("debug",)}

    def fetch(kind: str, build_id: bytes) -> Iterator[ElfObject]:
        for archive in archives:
            found = archive.member(build_id, kinds[kind])
            if found is not None:
                yield open_elf(found[1], found[0])

    return fetch
