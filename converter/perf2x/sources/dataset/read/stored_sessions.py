"""Groups the recordings of datasets into sessions: those with the same events and kernel are read together."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.open_sessions import Input, SessionInput, SessionPart
from perf2x.model.printable_text import as_recorded
from perf2x.sources.dataset.dataset_address import parse_address
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row
from perf2x.sources.dataset.read.stored_part import StoredFacts, StoredPart, parse_facts

_TOGETHER = 2000
"""Maximum number of recordings per session, because memory grows with their stacks."""


def stored_sessions(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Return the recordings of all datasets. Raises OptionError for a recording that is in two of them."""
    stored, file_of = [], dict[str, str]()
    for one in inputs:
        for rows, session in _sessions_of(one, context):
            for row in rows:
                if row.ident in file_of:
                    twice = row.values["source"]
                    raise OptionError(f"{one.name} and {file_of[row.ident]} have a recording in common: {twice}")
            file_of |= {row.ident: one.name for row in rows}
            stored.append(session)
    return stored


def _sessions_of(one: Input, context: LoadContext) -> Iterator[tuple[Sequence[Row], SessionInput]]:
    part = DatasetPart(parse_address(one.path))
    part.require()
    if "host" in context.options.keep:
        from perf2x.model.totals.host_noise import HOST

        part.rows = [replace(row, tags={**row.tags, HOST: as_recorded(row.values["host"])}) for row in part.rows]
    failed = [row for row in part.rows if row.values["error"] is not None]
    context.diagnostics.add(
        "recordings_failed",
        "recordings could not be read when they were added; the table of recordings has the reasons.",
        count=len(failed),
        where=next((str(row.values["source"]) for row in failed), ""),
    )
    if len(failed) == len(part.rows):
        raise FormatError(f"{one.name}: no recording of it could be read: {failed[0].values['error']}")
    groups: dict[object, list[tuple[Row, StoredFacts]]] = {}
    for row in part.rows:
        if row.values["error"] is None:
            facts = parse_facts(row.values["facts"], part.tables.root)
            groups.setdefault(_alike(row, facts), []).append((row, facts))
    for many in groups.values():
        for first in range(0, len(many), _TOGETHER):
            some = many[first : first + _TOGETHER]
            recording = StoredPart(
                one.name, part, [row for row, _ in some], [facts for _, facts in some], context.diagnostics
            )
            yield recording.rows, _session(one, recording, context)


def _alike(row: Row, facts: StoredFacts) -> object:
    """Return what all recordings of a session share.

    A recording with names of kernel code outside all mappings gets a session of its own, because these addresses are
    valid only for one boot.
    """
    values = row.values
    names = ("arch", "kernel", "kernel_build_id", "is_timeline", "default_event")
    own = row.ident if facts.kernel_looked_up else ""
    return (*(values[name] for name in names), repr(values["events"]), facts.samples_say, facts.clock_id, own)


def _session(one: Input, recording: StoredPart, context: LoadContext) -> SessionInput:
    from perf2x.kernel.merge_reports import common_tags

    named = Input(one.path, one.name, common_tags([row.tags for row in recording.rows]) | dict(one.tags))
    found = SessionPart(named, recording.source, recording.sample_count, recording.has_events, recording)
    return SessionInput((found,), context)
