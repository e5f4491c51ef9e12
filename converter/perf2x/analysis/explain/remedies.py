"""Advice for objects that lack debug files, with the command or option to use; ``info`` and ``explain`` share it."""

from collections.abc import Iterator

from perf2x.base.frozen import Frozen
from perf2x.binaries.find.object_finder import OTHER_BUILD, OTHER_CHECKSUM, ObjectFiles


class Remedy(Frozen):
    """A piece of advice, and the command or option to use."""

    what: str
    command: str


class SearchResult(Frozen):
    """A path that was searched, and the outcome (binaries/find/object_finder.py: TAKEN, ABSENT …)."""

    path: str
    result: str


def search_results(found: ObjectFiles) -> tuple[SearchResult, ...]:
    """Return every path that was searched, in order."""
    return tuple(SearchResult(*searched) for searched in found.searched)


def for_debug_file(lacking: str, package: str, build_id: str, found: ObjectFiles) -> Iterator[Remedy]:
    """Yield where ``lacking`` names or lines may come from; ``package``: of this machine with debug symbols, or ""."""
    if found.files and any(one.outcome in (OTHER_BUILD, OTHER_CHECKSUM) for one in found.searched):
        yield Remedy("a debug file of another build was found; say where the right one is", "--debug-dir DIR")
    if package:
        yield Remedy(f"for {lacking}, install the debug symbols of exactly this version", f"apt install {package}")
    if build_id:
        command = f"debuginfod-find debuginfo {build_id}"
        yield Remedy(f"for {lacking}, ask a server, as perf2x does with --debuginfod URL", command)
