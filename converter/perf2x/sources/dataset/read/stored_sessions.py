"""Groups the recordings of datasets into sessions.

The recordings of a session have the same events and kernel; they are read together.
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
    part = DatasetPart(parse_address(dataset.path))
    part.require_recordings()
    if "host" in context.options.keep:
        from perf2x.model.totals.host_noise import HOST

        part.rows = [replace(row, tags={**row.tags, HOST: undo_printable(row.values["host"])}) for row in part.rows]
    failed = [row for row in part.rows if row.values["error"] is not None]
    context.diagnostics.add(
        "recordings_failed",
        "recordings could not be read when they were added; the table of recordings has the reasons.",
        count=len(failed),
        where=next((str(row.values["source"]) for row in failed), ""),
    )
    if len(failed) == len(part.rows):
        raise FormatError(f"{dataset.name}: no recording of it could be read: {failed[0].values['error']}")
    groups: dict[object, list[tuple[Row, StoredFacts]]] = {}
    for row in part.rows:
        if row.values["error"] is None:
            facts = parse_facts(row.values["facts"], part.tables.root)
            groups.setdefault(_session_key(row, facts), []).append((row, facts))
    for group in groups.values():
        for first in range(0, len(group), _MAX_RECORDINGS):
            pairs = group[first : first + _MAX_RECORDINGS]
            recording = StoredPart(
                dataset.name, part, [row for row, _ in pairs], [facts for _, facts in pairs], context.diagnostics
            )
            yield recording.rows, _session(dataset, recording, context)


def _session_key(row: Row, facts: StoredFacts) -> object:
    """Recordings with equal keys share a session.

    Names of kernel code outside all mappings are valid for one boot only, so a recording that has them stays alone.
    """
    values = row.values
    names = ("arch", "kernel", "kernel_build_id", "is_timeline", "default_event")
    ident = row.ident if facts.kernel_looked_up else ""
    return (*(values[name] for name in names), repr(values["events"]), facts.samples_say, facts.clock_id, ident)


def _session(dataset: Input, recording: StoredPart, context: LoadContext) -> SessionInput:
    from perf2x.kernel.merge_reports import common_tags

    tags = common_tags([row.tags for row in recording.rows]) | dict(dataset.tags)
    tagged = Input(dataset.path, dataset.name, tags)
    part = SessionPart(tagged, recording.source, recording.sample_count, recording.has_events, recording)
    return SessionInput((part,), context)
