"""Creates the object finder, which the unwinder and the symbolizer share, and the context of symbol sources."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.binaries.find.debuginfod import Debuginfod, Progress, cache_directory
from perf2x.base.binaries.find.object_finder import Fetcher, Finder
from perf2x.base.binaries.find.perf_archive import Archive, substitute_build_id
from perf2x.base.binaries.find.source_files import Fetch
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.columnar import flatnonzero
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.profile import Profile
from perf2x.model.recording import KERNEL, Session, Sideband, build_id_by_name, kernel_build_id
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions


def make_finder(options: SymbolOptions, diagnostics: Diagnostics, progress: Progress | None = None) -> Finder:
    """Create a finder that searches all directories, archives and servers in ``options``; it caches what it finds."""
    fetchers: list[Fetcher] = []
    archived = _ArchivedObjects(archives_of(options))
    if options.archives:
        fetchers.append(archived.by_build_id)
    if (client := _debuginfod(options, diagnostics, progress)) is not None:
        fetchers.append(client.fetch)
    return Finder(options.search_paths(), tuple(fetchers), archived.by_name)


def make_source_fetcher(options: SymbolOptions, diagnostics: Diagnostics) -> Fetch | None:
    """Create a function that fetches source files from the debuginfod servers; None without servers."""
    client = _debuginfod(options, diagnostics)
    return client.source if client is not None else None


def _debuginfod(
    options: SymbolOptions, diagnostics: Diagnostics, progress: Progress | None = None
) -> Debuginfod | None:
    """Use only HTTP servers: DEBUGINFOD_URLS may have URLs with other schemes, such as file://."""
    urls = tuple(url.rstrip("/") for url in options.debuginfod_urls if url.startswith(("http://", "https://")))
    return Debuginfod(urls, cache_directory(), diagnostics, progress) if urls else None


def archives_of(options: SymbolOptions) -> tuple[Archive, ...]:
    """Return the archives to search: tarballs of ``perf archive``, and bundles."""
    return tuple(Archive(path) for path in options.archives)


class _ArchivedObjects(Struct):
    _archives: Sequence[Archive]

    def by_build_id(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """``kind`` is ``executable`` or ``debuginfo``, as in requests to servers."""
        members = {"executable": ("elf", "vdso"), "debuginfo": ("debug",)}[kind]
        for archive in self._archives:
            member = archive.member(build_id, members)
            if member is not None:
                name, contents = member
                yield open_elf(contents, name)

    def by_name(self, name: str) -> Iterator[ElfObject]:
        for archive in self._archives:
            for kind in ("elf", "vdso", "debug"):
                member = archive.member(substitute_build_id(name), (kind,))
                if member is not None:
                    member_name, contents = member
                    yield open_elf(contents, member_name)


def make_context(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    finder: Finder,
    sideband: Sideband | None = None,
) -> Context:
    """Collect what symbol sources need.

    The kernel's build id and relocation reference (a symbol such as _text, and its recorded address) are those of the
    profile's first mapping of the kernel. A missing build id comes from ``sideband``, or else from ``session``.
    """
    fallback_build_id = kernel_build_id(session, sideband.mmaps) if sideband else build_id_by_name(session, KERNEL)
    reference, build_id = ("", 0), fallback_build_id
    for row in flatnonzero(profile.mappings.is_kernel):
        name = profile.strings[int(profile.mappings.filename[row])]
        if name.startswith(KERNEL):
            reference = (name.removeprefix(KERNEL), int(profile.mappings.offset[row]))
            build_id = bytes.fromhex(profile.strings[int(profile.mappings.build_id[row])]) or build_id
            break
    namespaces = sideband.namespaces if sideband else None
    files = RecordedFileCheck(session, sideband.mmaps if sideband else None)
    return Context(options, session, finder, diagnostics, build_id, reference, namespaces, files)
