"""The page of ``perf2x report``: lines of ``info``, tables of ``top`` and ``diff``, in Markdown or for a terminal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.options.report_options import ReportFlags
from perf2x.cli.render.diff_table import change_layouts
from perf2x.cli.render.fit_text import first_lines
from perf2x.cli.render.hints import advice_with_typed_options
from perf2x.cli.render.info_page import event_lines, quality_lines, session_facts
from perf2x.cli.render.markdown_table import MAX_BYTES, Section, code, markdown_document, name_list
from perf2x.cli.render.report_formats import Report, lines_on_screen, markdown_section
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.stats_json import advice_facts
from perf2x.cli.render.summary import contents_line
from perf2x.cli.render.text_table import Layout, name_column
from perf2x.cli.render.top_table import total_layouts
from perf2x.cli.report.next_steps import lacks_callers, next_steps
from perf2x.cli.report.report_facts import Changes, report_facts
from perf2x.kernel.load_result import Loaded
from perf2x.model.advice import Advice
from perf2x.model.number_format import format_percent
from perf2x.model.printable_text import short
from perf2x.tools.tables.library_tables import ResultTable
from perf2x.tools.tables.report_tables import Caller, HotPath, ReportTables, report_tables
from perf2x.tools.tables.top_rows import TopTable

# Maximum number of characters of a sentence, and of a caller's name.
_SENTENCE, _NAME = 1000, 40
_CALLERS = 3


def recording_report(
    loaded: Loaded,
    sources: Sequence[str],
    how: ReportFlags,
    changes: Changes | None = None,
    verdict: Verdict | None = None,
) -> Report:
    """Return the report about a recording; its page for people has at most ``how.max_bytes``."""
    tables, most = report_tables(loaded.profile, how.value, how.limit, how.columns), how.max_bytes or MAX_BYTES
    facts = report_facts(loaded, tables, sources, changes, verdict)
    steps = [*next_steps(facts, [one for one in advice_with_typed_options(loaded) if not one.for_dates])]
    facts["next"] = advice_facts(steps)

    found = _parts(loaded, tables, facts, steps, changes)
    parts = [part for part in found if part.texts or part.table is not None]

    def for_people(screen: Screen) -> Iterator[str]:
        ahead = verdict.lines(screen) if verdict else ()
        heading = screen.sentence(f"perf2x report: {short(sources[0])}", "bold")
        return first_lines(chain(ahead, heading, _terminal(parts, screen)), most)

    def markdown() -> Iterator[str]:
        ahead = verdict.markdown() if verdict else ()
        return markdown_document(f"perf2x report: {name_list(sources)}", _sections(parts), most, ahead)

    return Report(for_people, lambda: facts, markdown)


class _Part(Frozen):
    """Part of a page: sentences, or a table and its layouts, from wide to narrow."""

    title: str
    texts: Sequence[str | Advice] = ()
    table: ResultTable | None = None
    layouts: Sequence[Layout] = ()


def _parts(
    loaded: Loaded, tables: ReportTables, facts: dict[str, Any], steps: Sequence[Advice], changes: Changes | None
) -> Iterator[_Part]:
    """Yield the parts of the page; ``facts`` are those of JSON."""
    rows = tables.objects.limit or 0
    events = facts["events"]
    more = [f"… and {len(events) - rows:,} more events"] if len(events) > rows else []
    session = [f"{label}: {text}" for label, text in session_facts(facts["session"] | facts)]
    yield _Part("", [contents_line(loaded), *session, *event_lines(loaded, events[:rows]), *more])
    yield _Part("Look at next", steps)
    if changes:
        table = changes.table
        yield _Part(
            "What changed", [*table.notes, *[table.unmoved_note] * (table.unmoved > 0)], table, change_layouts(table)
        )
    title = "Hottest functions by themselves" if tables.by_self.rows else "Sums"
    some = " (some are missing)" * lacks_callers(steps)
    yield _functions(title, tables.by_self, tables, some)
    if tables.by_self.rows:
        yield _functions("Hottest functions with all that they call", tables.by_total, tables, some)
        yield _Part(
            "Hottest paths" + some.replace("some", "some callers"), [*_paths(tables.paths, tables.by_self.whole.whole)]
        )
        yield _Part("Objects", (), tables.objects, total_layouts(tables.objects))
        yield _Part("Threads", (), tables.threads, total_layouts(tables.threads))
    yield _Part("Quality", [*quality_lines(loaded, rows)])


def _functions(title: str, table: TopTable, tables: ReportTables, some: str) -> _Part:
    """Return functions, and their callers with shares of the function's total."""
    called = name_column(f"called by{some}", [_callers(tables.callers[row.key], row.total) for row in table.rows])
    layouts = total_layouts(table)
    return _Part(title, (), table, [*([*layout, called] for layout in layouts), *layouts])


def _callers(rows: Sequence[Caller], total: int) -> str:
    named = [f"{short(row.name, _NAME) or 'no caller'} {format_percent(row.value, total)}" for row in rows[:_CALLERS]]
    return ", ".join([*named, *([f"{len(rows) - _CALLERS:,} more"] if len(rows) > _CALLERS else [])])


def _paths(paths: Iterable[HotPath], whole: int) -> Iterator[str]:
    for path in paths:
        own = f", the last function itself {format_percent(path.own, whole)}" if path.own else ""
        yield f"{format_percent(path.total, whole)}{own}: {' → '.join(path.shown)}"


def _sections(parts: Iterable[_Part]) -> Iterator[Section]:
    for part in parts:
        yield Section(part.title and f"#### {part.title}", ())
        if part.table is not None:
            yield markdown_section(part.table, part.layouts)
        yield Section("\n".join(f"- {_sentence(line, code)}" for line in part.texts), ())


def _terminal(parts: Iterable[_Part], screen: Screen) -> Iterator[str]:
    for part in parts:
        yield from ("", screen.paint(part.title, "bold underline")) if part.title else ()
        for line in part.texts:
            yield from screen.sentence(f"- {_sentence(line, short)}", indent="  ")
        yield from lines_on_screen(part.table, part.layouts, screen) if part.table is not None else ()


def _sentence(line: str | Advice, quoted: Callable[..., str]) -> str:
    return line.with_names(quoted) if isinstance(line, Advice) else quoted(line, _SENTENCE)
