"""Verdicts on an object: will a profile have function names, source lines and complete stacks?

Advice for objects that lack names, lines or unwind tables, with the command or option to use.
"""

from collections.abc import Iterator, Sequence

from perf2x.analysis.explain.code_coverage import GO_TABLE, FunctionTable
from perf2x.analysis.explain.debug_info import ASSEMBLER, DebugInfo
from perf2x.analysis.explain.findings import Advice, Explanation, SplitDebugInfo, Supplementary, Verdict
from perf2x.binaries.find.object_finder import OTHER_BUILD, OTHER_CHECKSUM

ENOUGH = 0.9
"""The share of the code that call frame information must cover; start-up code and padding never have any."""
MINI = ", .gnu_debugdata"


def function_names(tables: Sequence[FunctionTable], code: str) -> Verdict:
    """Judge whether functions have names."""
    whole = next((table for table in tables if table.name in (".symtab", GO_TABLE) and table.functions), None)
    if whole is not None:
        where = " of the mini debug info" if whole.file.endswith(MINI) else ""
        return Verdict(True, f"{whole.name}{where} names {_function_count(whole, code)}")
    exported = next((table for table in tables if table.functions), None)
    if exported is not None:
        return Verdict(
            False, f"stripped: {exported.name} names only {_function_count(exported, code)}; the rest is unknown"
        )
    broken = next((table.broken for table in tables if table.broken), "")
    return Verdict(False, broken or "stripped: no table of symbols, no function has a name")


def source_lines(
    found: Sequence[DebugInfo], split: SplitDebugInfo | None, dwz: Supplementary | None, go: bool
) -> Verdict:
    """Judge whether there are source lines and inlined functions."""
    best = next((info for info in found if info.units), None)
    if best is None:
        broken = next((info.broken for info in found if info.broken), "")
        none = (
            "lines from Go's own table, no debug info" if go else "no debug info: neither lines nor inlined functions"
        )
        return Verdict(go, f"debug info cannot be read: {broken}" if broken else none)
    versions = " and ".join(best.versions)
    if split is not None and not split.whole:
        return Verdict(False, f"DWARF {versions}, but {split.looked_for - split.present} .dwo files are missing")
    if dwz is not None and not dwz.found:
        return Verdict(False, f"DWARF {versions}, but the dwz file {dwz.name} is missing")
    return Verdict(True, f"DWARF {versions} in {best.file}")


def stack_unwinding(tables: Sequence[FunctionTable], code: str) -> Verdict:
    """Judge whether stacks can be unwound with call frame information."""
    best = max((table for table in tables if table.share is not None), key=lambda table: table.share or 0, default=None)
    if best is None or not best.share:
        return Verdict(False, "no call frame information: stacks through it need frame pointers")
    text = f"{best.name} covers {format_share(best.share)} of {code}"
    if best.share < ENOUGH:
        return Verdict(False, f"{text}; stacks through the rest need frame pointers")
    return Verdict(True, f"{text}: stacks can be unwound without frame pointers")


def keeps_frame_pointers(found: Sequence[DebugInfo]) -> bool:
    """Return whether all units state that they were compiled with frame pointers; assembler units do not count."""
    compiled = sum(info.units - len(info.split) - info.languages.get(ASSEMBLER, 0) for info in found)
    return 0 < compiled == sum(info.frame_pointers for info in found) and all(info.whole for info in found)


def format_share(share: float) -> str:
    """Format a share, ``98.7 %``, rounded down so that 100 % means all."""
    return f"{int(share * 1000) / 10:g} %"


def _function_count(table: FunctionTable, code: str) -> str:
    counted = f"{table.functions:,} function{'' if table.functions == 1 else 's'}"
    return counted if table.share is None else f"{counted}, {format_share(table.share)} of {code}"


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
