"""The page of ``perf2x report``: lines of ``info``, tables of ``top`` and ``diff``, in Markdown or for a terminal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.analysis.event_columns import cell_text
from perf2x.analysis.report_tables import ReportTables, report_tables
from perf2x.analysis.result_table import ResultTable
from perf2x.cli.render.diff_table import change_layouts
from perf2x.cli.render.fit_text import first_lines
from perf2x.cli.render.info_page import event_lines, quality_lines
from perf2x.cli.render.markdown_table import Section, code, markdown_document, name_list
from perf2x.cli.render.report_formats import lines, section
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.summary import contents_line
from perf2x.cli.render.text_table import Layout, name_column
from perf2x.cli.render.top_table import total_layouts
from perf2x.cli.report.next_steps import next_steps
from perf2x.cli.report.report_facts import json_text, report_facts
from perf2x.model.advice import Advice
from perf2x.model.number_format import format_percent
from perf2x.model.printable_text import short

if TYPE_CHECKING:
    from perf2x.analysis.top_rows import TopTable
    from perf2x.cli.diff.gate_outcome import Verdict
    from perf2x.cli.report.report_facts import Changes
    from perf2x.pipeline.load_result import Loaded

_SENTENCE, _NAME = 1000, 40
"""Characters of a sentence, and of a caller."""
_CALLERS = 3


def report_text(
    loaded: "Loaded",
    sources: Sequence[str],
    value: str,
    shape: str | Screen,
    rows: int,
    most: int,
    changes: "Changes | None" = None,
    verdict: "Verdict | None" = None,
    columns: Sequence[str] = (),
) -> str:
    """Return the report about a recording as ``markdown``, ``json`` or for a screen, at most ``most`` bytes of it.

    Its tables have so many ``rows``; ``columns`` are other events and ratios.
    """
    tables = report_tables(loaded.profile, value, rows, columns)
    facts = report_facts(loaded, tables, sources, changes, verdict)
    steps = [*next_steps(facts, [one for one in loaded.advice if not one.for_dates])]
    if shape == "json":
        return json_text(facts | {"next": [{"about": one.about, "text": one.words()} for one in steps]}, rows, most)
    parts = _parts(loaded, tables, facts, steps, changes)
    if isinstance(shape, Screen):
        page = _terminal(parts, sources, verdict, shape)
    else:
        ahead = verdict.markdown() if verdict else ()
        page = chain(ahead, markdown_document(f"perf2x report: {name_list(sources)}", _sections(parts), most))
    return "".join(f"{line}\n" for line in first_lines(page, most))


class Part(Struct, frozen=True):
    """Part of a page: sentences, or a table and its layouts, from wide to narrow."""

    title: str
    said: Sequence[str | Advice] = ()
    table: ResultTable | None = None
    layouts: Sequence[Layout] = ()


def _parts(
    loaded: "Loaded", tables: ReportTables, facts: dict[str, Any], steps: Sequence[Advice], changes: "Changes | None"
) -> Iterator[Part]:
    """Parts of the page; ``facts`` are those of JSON."""
    rows = tables.objects.limit or 0
    session = facts["session"]
    machine = ", ".join(session[key] for key in ("hostname", "os_release", "arch") if session[key])
    command = " ".join(facts["command_line"])
    events = facts["events"]
    more = [f"… and {len(events) - rows:,} more events"] if len(events) > rows else []
    ratios = [f"{one.name}: {cell_text(one.whole, None)}" for one in tables.by_self.beside if one.is_ratio]
    known = [f"{label}: {text}" for label, text in (("recorded with", command), ("on", machine)) if text]
    yield Part("", [contents_line(loaded), *known, *event_lines(loaded, events[:rows]), *more, *ratios])
    if steps:
        yield Part("Look at next", steps)
    if changes:
        notes = [*changes.table.notes, *([changes.table.unmoved_note] if changes.table.unmoved else ())]
        yield Part("What changed", notes, changes.table, change_layouts(changes.table))
    if tables.by_self.rows:
        yield from _tables(tables, facts["paths"])
    quality = [*quality_lines(loaded, rows)]
    if quality:
        yield Part("Quality", quality)


def _tables(tables: ReportTables, paths: Sequence[dict[str, Any]]) -> Iterator[Part]:
    yield _functions("Hottest functions by themselves", tables.by_self, tables)
    yield _functions("Hottest functions with all that they call", tables.by_total, tables)
    if paths:
        yield Part("Hottest paths", [*_paths(paths, tables.by_self.whole.whole)])
    yield Part("Objects", (), tables.objects, total_layouts(tables.objects))
    yield Part("Threads", (), tables.threads, total_layouts(tables.threads))


def _functions(title: str, table: "TopTable", tables: ReportTables) -> Part:
    """Functions, and their callers with shares of the function's total."""
    called = name_column("called by", [_callers(tables, row.name, row.object, row.total) for row in table.rows])
    layouts = total_layouts(table)
    return Part(title, (), table, [*([*layout, called] for layout in layouts), *layouts])


def _callers(tables: ReportTables, name: str, thing: str, total: int) -> str:
    rows = tables.callers.get((name, thing), [])
    named = [f"{short(row.name, _NAME) or 'no caller'} {format_percent(row.value, total)}" for row in rows[:_CALLERS]]
    return ", ".join([*named, *([f"{len(rows) - _CALLERS:,} more"] if len(rows) > _CALLERS else [])])


def _paths(paths: Iterable[dict[str, Any]], whole: int) -> Iterator[str]:
    for path in paths:
        own = f", the last by itself {format_percent(path['own'], whole)}" if path["own"] else ""
        yield f"{format_percent(path['total'], whole)}{own}: {' → '.join(path['functions'])}"


def _sections(parts: Iterable[Part]) -> Iterator[Section]:
    for part in parts:
        if part.title:
            yield Section(f"#### {part.title}", ())
        if part.table is not None:
            yield section(part.table, part.layouts)
        yield Section("\n".join(f"- {_sentence(line, code)}" for line in part.said), ())


def _terminal(
    parts: Iterable[Part], sources: Sequence[str], verdict: "Verdict | None", screen: Screen
) -> Iterator[str]:
    yield from verdict.lines(screen) if verdict else ()
    yield from screen.sentence(f"perf2x report: {short(sources[0])}", "bold")
    for part in parts:
        if part.title:
            yield from ("", screen.paint(part.title, "bold underline"))
        for line in part.said:
            yield from screen.sentence(f"- {_sentence(line, short)}", indent="  ")
        yield from lines(part.table, part.layouts, screen) if part.table is not None else ()


def _sentence(line: str | Advice, quoted: Callable[..., str]) -> str:
    return line.with_names(quoted) if isinstance(line, Advice) else quoted(line, _SENTENCE)
