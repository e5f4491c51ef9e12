"""The report of ``perf2x explain`` in every format."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from perf2x.analysis.explain.object_verdicts import format_share
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.text_table import name_column, text_column
from perf2x.model.number_format import plural
from perf2x.model.printable_text import plain

if TYPE_CHECKING:
    from perf2x.analysis.explain.code_coverage import FunctionTable
    from perf2x.analysis.explain.debug_info import DebugInfo
    from perf2x.analysis.explain.findings import Explanation
    from perf2x.cli.render.markdown_table import Section

_LABEL = 14
_ORDER = {"little": "little-endian", "big": "big-endian"}
_TYPES = {"EXEC": "program", "DYN": "shared object or program", "REL": "relocatable file", "CORE": "core dump"}


def explain_report(known: "Sequence[Explanation]", refused: Mapping[str, str]) -> Report:
    """Objects in every format; JSON and CSV also list those that were ``refused`` (path: sentence)."""

    def facts() -> dict[str, Any]:
        objects = [to_builtins(one) for one in known]
        return {"objects": objects, "refused": [{"path": path, "error": text} for path, text in refused.items()]}

    def markdown() -> Iterator[str]:
        from perf2x.cli.render.markdown_table import markdown_document

        return markdown_document("perf2x explain", [_object_section(one) for one in known])

    def rows() -> Iterator[Sequence[object]]:
        from perf2x.cli.render.csv_table import flattened

        yield "key", "value"
        yield from flattened(facts())

    return Report(lambda screen: _object_lines(known, screen), facts, markdown, rows)


def _object_lines(known: "Sequence[Explanation]", screen: Screen) -> Iterator[str]:
    """Lines for every object, separated by empty lines."""
    for number, one in enumerate(known):
        if number:
            yield ""
        yield screen.paint(f"{plain(one.path)}:", "bold")
        last = ""
        for label, text in explanation_lines(one):
            head = f"{'' if label == last else label:{_LABEL}}"
            yield f"  {screen.paint(head, 'bold')}{plain(text)}"
            last = label


def _object_section(one: "Explanation") -> "Section":
    from perf2x.cli.render.markdown_table import Section, code

    pairs = list(explanation_lines(one))
    return Section(
        code(one.path),
        [text_column("object", [label for label, _ in pairs]), name_column("", [text for _, text in pairs])],
    )


def explanation_lines(one: "Explanation") -> Iterator[tuple[str, str]]:
    """(label, text), the answers first."""
    yield from ((label, answer.text) for label, answer in one.answers.items())
    for advice in one.advice:
        yield "try", f"{advice.what}: {advice.command}"
    yield "object", _object(one)
    yield "build id", one.build_id or "none"
    yield from (("symbols", _table_text(one, table)) for table in one.name_tables)
    if not one.name_tables:
        yield "symbols", "none"
    yield from (("call frames", _table_text(one, table)) for table in one.frame_tables)
    yield from (("debug info", text) for info in one.debug_info for text in _debug_info(info))
    yield from _elsewhere(one)
    yield from (("looked at", f"{place.path}: {place.result}") for place in one.looked_at)
    yield from (("not taken", text) for text in one.troubles)


def _object(one: "Explanation") -> str:
    what = f"{_TYPES.get(one.type, one.type)}, {one.machine}, {one.bits} bits, {_ORDER[one.byte_order]}"
    return f"{what}, {plural(one.size, 'byte')}, {one.code_size:,} of {one.code}"


def _table_text(one: "Explanation", table: "FunctionTable") -> str:
    where = f" in {table.file}" if table.file != one.path else ""
    if table.broken:
        return f"{table.name}{where}: {table.broken}"
    share = "" if table.share is None else f", {format_share(table.share)} of {one.code}"
    return f"{table.name}{where}: {plural(table.functions, 'function')}{share}"


def _debug_info(info: "DebugInfo") -> Iterator[str]:
    counted = plural(info.units, "unit") if info.whole else f"the first {plural(info.units, 'unit')}"
    shared = f", {plural(info.partial, 'partial unit')}" if info.partial else ""
    packed = ", compressed" if info.compressed else ""
    yield f"{info.file}: {plural(info.size, 'byte')}{packed}, {counted}{shared}"
    versions = {f"DWARF {version}": count for version, count in info.versions.items()}
    for counts in (versions, info.languages, info.producers):
        if counts:
            yield ", ".join(f"{name} ({count:,})" for name, count in counts.items())
    if info.frame_pointers:
        yield f"{plural(info.frame_pointers, 'unit')} compiled with -fno-omit-frame-pointer"
    if info.unreadable:
        yield f"{plural(info.unreadable, 'unit')} with a header alone that can be read"
    if info.broken:
        yield f"the rest was not read: {info.broken}"


def _elsewhere(one: "Explanation") -> Iterator[tuple[str, str]]:
    link, dwz, split = one.debug_link, one.supplementary, one.split
    yield "debug link", f"{link.name}, checksum {link.crc}" if link else "none"
    if dwz is not None:
        yield "dwz file", f"{dwz.name}: {dwz.found or 'not found'}"
    if split is not None:
        missing = f"; first missing: {split.missing}" if split.missing else ""
        package = f"in {split.package}; " if split.package else ""
        found = f"{split.present:,} of {plural(split.looked_for, '.dwo file')} found{missing}"
        yield "split units", f"{split.units:,}: {package}{found}"
