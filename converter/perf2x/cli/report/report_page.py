"""The page of ``perf2x report``: lines of ``info``, tables of ``top`` and ``diff``, and advice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.options.report_options import ReportFlags
from perf2x.cli.render.copyable_advice import advice_with_typed_options
from perf2x.cli.render.diff_table import diff_layouts
from perf2x.cli.render.fit_text import first_lines
from perf2x.cli.render.info_page import event_lines, labelled_quality_lines, session_facts
from perf2x.cli.render.markdown_table import MAX_BYTES, Section, code, markdown_document, name_list
from perf2x.cli.render.report_formats import Report, lines_on_screen, markdown_section
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.stats_json import advice_facts
from perf2x.cli.render.summary import contents_line
from perf2x.cli.render.text_table import Layout, name_column
from perf2x.cli.render.top_table import top_layouts
from perf2x.cli.report.next_steps import lacks_callers, next_steps
from perf2x.cli.report.report_facts import Changes, report_facts
from perf2x.kernel.load_result import Loaded
from perf2x.model.advice import Advice
from perf2x.model.number_format import format_percent
from perf2x.model.printable_text import short
from perf2x.tools.tables.report_tables import Caller, HotPath, ReportTables, report_tables
from perf2x.tools.tables.result_table import ResultTable
from perf2x.tools.tables.top_rows import TopTable

# Maximum numbers of characters of a sentence, and of a caller's name in a table.
_SENTENCE_LENGTH, _NAME_LENGTH = 1000, 40
_MAX_CALLERS = 3


def recording_report(
    loaded: Loaded,
    sources: Sequence[str],
    flags: ReportFlags,
    changes: Changes | None = None,
    verdict: Verdict | None = None,
) -> Report:
    """Return the report on a recording. Its page has at most ``flags.max_bytes``; the JSON is not limited."""
    tables = report_tables(loaded.profile, flags.value, flags.limit, flags.columns)
    max_bytes = flags.max_bytes or MAX_BYTES
    facts = report_facts(loaded, tables, sources, changes, verdict)
    # the page shows no times of day
    recording_advice = [advice for advice in advice_with_typed_options(loaded) if not advice.concerns_dates]
    steps = [*next_steps(facts, recording_advice)]
    facts["next"] = advice_facts(steps)

    all_parts = _parts(loaded, tables, facts, steps, changes)
    parts = [part for part in all_parts if part.sentences or part.table is not None]

    def lines(screen: Screen) -> Iterator[str]:
        verdict_lines = verdict.lines(screen) if verdict else ()
        heading = screen.sentence(f"perf2x report: {short(sources[0])}", "bold")
        return first_lines(chain(verdict_lines, heading, _terminal_lines(parts, screen)), max_bytes)

    def markdown() -> Iterator[str]:
        verdict_lines = verdict.markdown() if verdict else ()
        heading = f"perf2x report: {name_list(sources)}"
        return markdown_document(heading, _sections(parts), max_bytes, verdict_lines)

    return Report(lines, lambda: facts, markdown)


class _Part(Frozen):
    """Part of a page; ``layouts`` are those of the table, from wide to narrow."""

    title: str
    sentences: Sequence[str | Advice] = ()
    table: ResultTable | None = None
    layouts: Sequence[Layout] = ()


def _parts(
    loaded: Loaded, tables: ReportTables, facts: dict[str, Any], steps: Sequence[Advice], changes: Changes | None
) -> Iterator[_Part]:
    limit = tables.objects.limit or 0  # all tables have the limit of the report
    events = facts["events"]
    more_events = [f"… and {len(events) - limit:,} more events"] if len(events) > limit else []
    # ``session_facts`` expects the command line among the session's facts
    session = [f"{label}: {text}" for label, text in session_facts(facts["session"] | facts)]
    yield _Part("", [contents_line(loaded), *session, *event_lines(loaded, events[:limit]), *more_events])
    yield _Part("Look at next", steps)
    if changes:
        table = changes.table
        yield _Part(
            "What changed",
            [*table.notes, *[table.unchanged_note] * (table.unchanged_count > 0)],
            table,
            diff_layouts(table),
        )
    # a recording of perf stat has no functions
    title = "Hottest functions by themselves" if tables.by_self.rows else "Sums"
    warning = " (some are missing)" * lacks_callers(steps)
    yield _function_part(title, tables.by_self, tables, warning)
    if tables.by_self.rows:
        yield _function_part("Hottest functions with all that they call", tables.by_total, tables, warning)
        yield _Part(
            "Hottest paths" + warning.replace("some", "some callers"),
            [*_path_lines(tables.paths, tables.by_self.whole.cost)],
        )
        yield _Part("Objects", (), tables.objects, top_layouts(tables.objects))
        yield _Part("Threads", (), tables.threads, top_layouts(tables.threads))
    yield _Part("Quality", [*labelled_quality_lines(loaded, limit)])


def _function_part(title: str, table: TopTable, tables: ReportTables, warning: str) -> _Part:
    callers = name_column(
        f"called by{warning}", [_callers_text(tables.callers[row.key], row.total) for row in table.rows]
    )
    layouts = top_layouts(table)
    return _Part(title, (), table, [*([*layout, callers] for layout in layouts), *layouts])


def _callers_text(callers: Sequence[Caller], total: int) -> str:
    listed = [
        f"{short(caller.name, _NAME_LENGTH) or 'no caller'} {format_percent(caller.value, total)}"
        for caller in callers[:_MAX_CALLERS]
    ]
    return ", ".join([*listed, *([f"{len(callers) - _MAX_CALLERS:,} more"] if len(callers) > _MAX_CALLERS else [])])


def _path_lines(paths: Iterable[HotPath], event_total: int) -> Iterator[str]:
    for path in paths:
        own = f", the last function itself {format_percent(path.own, event_total)}" if path.own else ""
        yield f"{format_percent(path.total, event_total)}{own}: {' → '.join(path.displayed_functions)}"


def _sections(parts: Iterable[_Part]) -> Iterator[Section]:
    for part in parts:
        yield Section(part.title and f"#### {part.title}", ())
        if part.table is not None:
            yield markdown_section(part.table, part.layouts)
        yield Section("\n".join(f"- {_sentence(line, code)}" for line in part.sentences), ())


def _terminal_lines(parts: Iterable[_Part], screen: Screen) -> Iterator[str]:
    for part in parts:
        yield from ("", screen.paint(part.title, "bold underline")) if part.title else ()
        for line in part.sentences:
            yield from screen.sentence(f"- {_sentence(line, short)}", indent="  ")
        yield from lines_on_screen(part.table, part.layouts, screen) if part.table is not None else ()


def _sentence(line: str | Advice, quote: Callable[..., str]) -> str:
    return line.with_names(quote) if isinstance(line, Advice) else quote(line, _SENTENCE_LENGTH)
