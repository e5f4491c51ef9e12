"""Groups the recordings of datasets into sessions.

The recordings of a session have the same events and kernel; they are loaded together.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.open_sessions import Input, SessionInput, SessionPart
from perf2x.model.printable_text import undo_printable
from perf2x.sources.dataset.dataset_address import parse_address
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row
from perf2x.sources.dataset.read.stored_part import StoredFacts, StoredPart, parse_facts

_MAX_RECORDINGS = 2000
"""Recordings in a session: memory grows with its stacks."""


def stored_sessions(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Return the sessions of all datasets. Raises OptionError if two of them share a recording."""
    sessions, dataset_of = [], dict[str, str]()
    for dataset in inputs:
        for rows, session in _sessions_of(dataset, context):
            for row in rows:
                if row.ident in dataset_of:
                    both = f"{dataset.name} and {dataset_of[row.ident]}"
                    raise OptionError(f"{both} have a recording in common: {row.values['source']}")
            dataset_of |= {row.ident: dataset.name for row in rows}
            sessions.append(session)
    return sessions


def _sessions_of(dataset: Input, context: LoadContext) -> Iterator[tuple[Sequence[Row], SessionInput]]:
    """Yield the sessions of a dataset, each with its rows; report recordings that could not be read when added.

    Raises FormatError if none could be read.
    """
    dataset_part = DatasetPart(parse_address(dataset.path))
    dataset_part.require_recordings()
    if "host" in context.options.keep:  # a tag keeps samples of different hosts apart
        from perf2x.model.totals.host_noise import HOST

        dataset_part.rows = [
            replace(row, tags={**row.tags, HOST: undo_printable(row.values["host"])}) for row in dataset_part.rows
        ]
    failed = [row for row in dataset_part.rows if row.values["error"] is not None]
    context.diagnostics.add(
        "recordings_failed",
        "recordings could not be read when they were added; the table of recordings has the reasons.",
        count=len(failed),
        where=next((str(row.values["source"]) for row in failed), ""),
    )
    if len(failed) == len(dataset_part.rows):
        raise FormatError(f"{dataset.name}: no recording of it could be read: {failed[0].values['error']}")
    groups: dict[object, list[tuple[Row, StoredFacts]]] = {}
    for row in dataset_part.rows:
        if row.values["error"] is None:
            facts = parse_facts(row.values["facts"], dataset_part.tables.root)
            groups.setdefault(_session_key(row, facts), []).append((row, facts))
    for group in groups.values():
        for first in range(0, len(group), _MAX_RECORDINGS):
            pairs = group[first : first + _MAX_RECORDINGS]
            stored = StoredPart(
                dataset.name,
                dataset_part,
                [row for row, _ in pairs],
                [facts for _, facts in pairs],
                context.diagnostics,
            )
            yield stored.rows, _session(dataset, stored, context)


def _session_key(row: Row, facts: StoredFacts) -> object:
    """Recordings with equal keys share a session.

    Names of kernel code outside all mappings are valid for one boot only, so a recording that has them stays alone.
    """
    values = row.values
    names = ("arch", "kernel", "kernel_build_id", "is_timeline", "default_event")
    ident = row.ident if facts.has_unmapped_kernel_names else ""
    return (*(values[name] for name in names), repr(values["events"]), facts.recorded_fields, facts.clock_id, ident)


def _session(dataset: Input, stored: StoredPart, context: LoadContext) -> SessionInput:
    from perf2x.kernel.merge_reports import common_tags

    tags = common_tags([row.tags for row in stored.rows]) | dict(dataset.tags)
    tagged = Input(dataset.path, dataset.name, tags)
    session_part = SessionPart(tagged, stored.source, stored.sample_count, stored.has_events, stored)
    return SessionInput((session_part,), context)
