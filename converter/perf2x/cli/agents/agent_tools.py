"""The tools of ``perf2x mcp``: each answers a question about a recording with the text that a command prints.

The docstrings of the tools are their descriptions for the language model.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from perf2x.api import diff, top
from perf2x.cli.agents.allowed_folders import AllowedFolders
from perf2x.cli.render.fit_text import first_lines
from perf2x.cli.render.screen import WIDTH_WITHOUT_TERMINAL, Screen
from perf2x.cli.render.text_table import Column, name_column, table_lines
from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.load_result import Loaded
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.number_format import format_amount, format_percent, plural
from perf2x.model.printable_text import escaped
from perf2x.model.profile import Profile
from perf2x.model.totals.row_kinds import Sort
from perf2x.tools.tables.report_tables import Caller, call_tree, callers_of

MAX_BYTES = 20_000
"""Maximum size of an answer in bytes, about 5,000 tokens."""
_MAX_ROWS = 200
# Maximum number of functions whose callers are listed at once.
_MAX_FUNCTIONS = 63
_BYTES_PER_TOKEN = 4
_CONFIDENCE = 0.95  # of the intervals of changes
_SCREEN = Screen(WIDTH_WITHOUT_TERMINAL)

# "data-object" is not offered, because it needs recordings that are loaded with other options.
By = Literal["function", "object", "thread"]


class AgentTools:
    """Answers questions about files in allowed folders. Raises Perf2xError for questions without an answer."""

    def __init__(self, folders: AllowedFolders, options: LoadOptions, source_dirs: tuple[Path, ...]) -> None:
        self._folders = folders
        self._options = options
        self._source_dirs = source_dirs
        self._load = lru_cache(maxsize=4)(self._load_file)  # questions about the same recording follow each other

    def report(self, recording: str, before: str = "") -> str:
        """Summarize a perf.data recording: what was recorded, hottest functions with callers, paths, threads, quality,
        what to look at next. Start here. ``before`` names an earlier recording, to show what changed since.
        """
        from perf2x.cli.diff.fail_above import GrowthVerdict
        from perf2x.cli.options.report_options import ReportFlags
        from perf2x.cli.report.report_facts import changes_of
        from perf2x.cli.report.report_page import recording_report
        from perf2x.tools.diff.pair_options import PairOptions
        from perf2x.tools.diff.recording_pair import pair_of

        loaded, changes, flags = self._loaded(recording), None, ReportFlags(max_bytes=MAX_BYTES)
        if before:
            pair = pair_of((before, recording), (self._loaded(before), loaded), "period", PairOptions())
            loaded, changes = pair.after, changes_of(pair, GrowthVerdict(), _CONFIDENCE, flags.limit)
        return _answer(recording_report(loaded, (recording,), flags, changes).markdown())

    def top(self, recording: str, by: By = "function", sort: Sort = "self", limit: int = 20) -> str:
        """List the hottest functions, objects or threads of a perf.data recording: cost by itself (self), and with all
        that it calls (total)."""
        from perf2x.cli.render.top_table import remarks, top_report

        loaded = self._loaded(recording)
        table = top(loaded, by=by, sort=sort, limit=_checked_limit(limit))
        return _answer([*top_report(table, (recording,)).lines(_SCREEN), *remarks(table, loaded)])

    def callers(self, recording: str, function: str, limit: int = 20) -> str:
        """List who calls a function of a perf.data recording, and the share of its total cost due to each caller.
        ``function`` is a name as ``top`` shows it, or a glob."""
        from perf2x.features.annotate.make_listings import choose_functions

        profile, max_rows = self._loaded(recording).profile, _checked_limit(limit)
        matching = choose_functions(profile, ListingOptions(function, source=True, value="period"))
        if len(matching) > _MAX_FUNCTIONS:
            reason = f"it matches {len(matching):,} functions, more than {_MAX_FUNCTIONS}"
            raise OptionError(f"{function}: {reason}")
        callers_by_key = callers_of(call_tree(profile), matching).items()
        return _answer(
            line for key, callers in callers_by_key for line in _caller_lines(profile, *key, callers, max_rows)
        )

    def annotate(self, recording: str, function: str, assembly: bool = False) -> str:
        """Show what each source line of a function costs, or each instruction (``assembly``). ``function`` is a name as
        ``top`` shows it, or a glob."""
        from perf2x.cli.render.annotate_page import listing_report

        listing_options = ListingOptions(
            function, source=not assembly, assembly=assembly, source_dirs=self._source_dirs, value="period"
        )
        return _answer(listing_report(self._loaded(recording, listing_options).profile).lines(_SCREEN))

    def diff(
        self,
        before: str,
        after: str,
        by: By = "function",
        sort: Sort = "self",
        normalize: bool = False,
        per: tuple[float, float] | None = None,
        per_value: str = "",
        map: dict[str, str] | None = None,  # noqa: A002  as the command's option is called
        limit: int = 20,
    ) -> str:
        """Compare two perf.data recordings: what changed most. ~ marks changes within sampling noise. For recordings of
        different length: ``normalize`` compares shares; ``per`` has the units of work done before and after, or
        ``per_value`` names an event that counts them. ``map`` pairs names of the same object before and after.
        """
        from perf2x.cli.render.diff_table import diff_report

        recordings = (self._loaded(before), self._loaded(after))
        table = diff(
            *recordings,
            by=by,
            sort=sort,
            normalize=normalize,
            per=per,
            per_value=per_value,
            map=map,
            limit=_checked_limit(limit),
        )
        notes = [*table.notes, *([table.unchanged_note] if table.unchanged_count else ())]
        return _answer([*diff_report(table, _CONFIDENCE).lines(_SCREEN), *notes])

    def explain(self, object_file: str) -> str:
        """Show which symbols, lines and unwinding information an ELF file has, and what would help if names are
        missing."""
        from perf2x.base.diagnostics import Diagnostics
        from perf2x.cli.render.explain_page import explain_report
        from perf2x.symbolizer.make_object_finder import make_finder
        from perf2x.tools.explain.explain_object import explain_file

        path = str(self._folders.find(object_file))
        assert self._options.symbols is not None
        explanation = explain_file(path, make_finder(self._options.symbols, Diagnostics(), None))
        return _answer(explain_report([explanation], {}).lines(_SCREEN))

    def query(self, dataset: str, sql: str, limit: int = 50) -> str:
        """Run SQL (DuckDB, read-only) on a dataset of perf2x fleet. Tables: recordings, samples, stacks, places,
        mappings, symbols; views: by_function, by_stack, functions, frames."""
        from perf2x.cli.render.query_result import first_rows, text_lines
        from perf2x.fleet.query import run_query

        with run_query(self._folders.find(dataset, folder=True), sql) as result:
            layout, left_out = first_rows(result, _checked_limit(limit))
        more = [f"… {left_out:,} more rows"] if left_out else []
        return _answer([*text_lines(layout, _SCREEN), *more])

    def _loaded(self, name: str, listings: ListingOptions | None = None) -> Loaded:
        path = self._folders.find(name)
        status = path.stat()
        return self._load(path, (status.st_mtime_ns, status.st_size, status.st_ino), listings)

    def _load_file(self, path: Path, _version: tuple[int, int, int], listings: ListingOptions | None) -> Loaded:
        """``_version`` distinguishes changed files with the same path in the cache."""
        return load(str(path), self._options.with_values(listings=listings))


def _caller_lines(
    profile: Profile, name: str, object_name: str, callers: Sequence[Caller], limit: int
) -> Iterator[str]:
    unit, total = profile.events[profile.default_event].unit, sum(caller.value for caller in callers)
    in_object = f" ({escaped(object_name)})" if object_name else ""
    yield f"{escaped(name)}{in_object}: total {format_amount(total, unit)}, {plural(len(callers), 'caller')}"
    shown = callers[:limit]
    columns = [
        Column("total", [format_amount(caller.value, unit, total) for caller in shown]),
        Column("", [format_percent(caller.value, total) for caller in shown]),
        name_column("object", [caller.object or "–" for caller in shown]),
        name_column("caller", [caller.name or "no caller" for caller in shown]),
    ]
    yield from table_lines([columns], _SCREEN)
    yield from [f"… {len(callers) - limit:,} more"] if len(callers) > limit else []


def _checked_limit(limit: int) -> int:
    if not 1 <= limit <= _MAX_ROWS:
        raise OptionError(f"limit={limit}: it must be from 1 to {_MAX_ROWS}")
    return limit


def _answer(lines: Iterable[str]) -> str:
    text = "\n".join(first_lines(lines, MAX_BYTES))
    return f"{text}\n(about {-(-len(text.encode()) // _BYTES_PER_TOKEN):,} tokens)"
