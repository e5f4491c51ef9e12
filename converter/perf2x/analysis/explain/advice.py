"""Advice for objects that lack names, lines or unwind tables, with the command or option to use."""

from collections.abc import Iterator

from perf2x.analysis.explain.findings import Advice, Explanation
from perf2x.binaries.find.object_finder import OTHER_BUILD, OTHER_CHECKSUM


def advice(known: Explanation, package: str) -> Iterator[Advice]:
    """Yield advice, the simplest first; none when nothing is missing. ``package``: with debug symbols, or ""."""
    lacking = [what for what in ("names", "lines") if not known.answers[what].good]
    if lacking and known.split is not None and not known.split.whole and known.answers["names"].good:
        yield Advice(
            "keep the .dwo files where they were compiled, or pack them as PROGRAM.dwp", f"dwp -e {known.path}"
        )
    elif lacking:
        yield from _for_debug_file(known, package, " and ".join(lacking))
    if not known.answers["stacks"].good and known.code_size:
        yield Advice("for whole stacks, compile with frame pointers", "-fno-omit-frame-pointer")


def _for_debug_file(known: Explanation, package: str, what: str) -> Iterator[Advice]:
    if any(place.result in (OTHER_BUILD, OTHER_CHECKSUM) for place in known.looked_at):
        yield Advice("a debug file of another build was found; say where the right one is", "--debug-dir DIR")
    if package:
        yield Advice(f"for {what}, install the debug symbols of exactly this version", f"apt install {package}")
    if known.build_id:
        yield Advice(
            f"for {what}, ask a server, as perf2x does with --debuginfod URL", debuginfod_command(known.build_id)
        )
    elif known.type != "REL":
        yield Advice("so that debug files can be found by build id, link with", "-Wl,--build-id")
    if not package:
        yield Advice("if you built it, compile with debug info and do not strip it", "-g")


def debuginfod_command(build_id: str) -> str:
    """Return the command that fetches a debug file from debuginfod servers."""
    return f"debuginfod-find debuginfo {build_id}"
