"""Opens inputs and groups the files of each recording session.

::

    inputs ──find_sessions──▶ sessions, each opened once ──session.open()──▶ one recording at a time

There may be very many inputs, so few stay open: an open recording holds a mapped file, an index and all its records
except samples. The others are opened again when needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perf2x.base.columnar import Frozen, join_tables
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.input_source import Source, SourceKind, source_kinds
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.options_for_format import refuse_lacking
from perf2x.kernel.perf_data import PerfData
from perf2x.model.recording import COUNTED, Event, Losts, Session
from perf2x.reader.containers.input_file import FIRST, MAGICS, input_name, map_input
from perf2x.reader.loss_notes import note_lost_samples

MOST_OPEN = 16
"""Number of inputs that stay open; the others are indexed twice, which takes a tenth of a conversion's time."""


class Input(Frozen):
    """One input of a load."""

    path: str
    """The file to read."""
    name: str
    """The user's name for it: for a file that was unpacked from a bundle, the bundle's name."""
    tags: Mapping[str, str]


class SessionPart(Frozen):
    """One opened input, and the data to keep of it after closing."""

    input: Input
    source: str
    sample_count: int
    has_events: bool
    opened: Source | None
    """None: it must be opened again."""
    counts: bool = False
    """Whether perf stat recorded it."""
    events: Sequence[Event] = ()
    losts: Losts | None = None


class SessionInput(Frozen):
    """One recording session: its files in the given order, and its tags."""

    parts: tuple[SessionPart, ...]
    context: LoadContext

    @property
    def tags(self) -> Mapping[str, str]:
        """Labels of the session."""
        return self.parts[0].input.tags

    @property
    def files(self) -> tuple[str, ...]:
        """The user's names for the session's files."""
        return tuple(part.input.name for part in self.parts)

    def open(self) -> Source:
        """Return the source, with its parts in order of time.

        Raises FormatError if a file has disappeared, SettingError or OptionError for options that need missing data.
        """
        opened = [part.opened or _reopen(part.input, self.context) for part in self.parts]
        source = opened[0]
        if len(opened) > 1:
            from perf2x.reader.joined_session import JoinedRecording, order_by_time

            recordings = [one.recording for one in opened]
            source = PerfData(JoinedRecording(order_by_time(recordings), self.context.diagnostics))
        refuse_lacking(self.context.options, source.lacks)
        return source


def find_sessions(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Find the recordings of inputs that contain many, then the sessions of the others."""
    found: list[SessionInput] = []
    for kind in source_kinds():
        own = [one for one in inputs if kind.takes_path(one.path)]
        if own and kind.sessions:
            found += kind.sessions(own, context)
            inputs = [one for one in inputs if one not in own]
    return found + sessions_of_files(inputs, context)


def sessions_of_files(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Open every file, record its damage, and group the files of one session, whose losses are added.

    Sessions are in the order of their first files. Raises OptionError for a file that is given twice, and for files of
    one session with different tags.
    """
    groups = list(_groups(inputs, context))
    for parts in groups:
        losts = join_tables([part.losts for part in parts if part.losts is not None])
        note_lost_samples(parts[0].events, losts, context.diagnostics)
    return [SessionInput(tuple(parts), context) for parts in groups]


def _groups(inputs: Sequence[Input], context: LoadContext) -> Iterator[list[SessionPart]]:
    groups: dict[bytes, list[SessionPart]] = {}
    for number, one in enumerate(inputs):
        source = _open(one, context)
        recording = source.recording
        session = recording.session
        path = Path(one.path)
        can_reopen = one.path != "-" and (path.is_file() or path.is_dir())  # not standard input or a pipe
        if session.counts and not context.options.counts:
            raise FormatError(f"{session.source}: no samples: {COUNTED}")
        kept = source if number < MOST_OPEN or not can_reopen else None
        part = SessionPart(
            one, session.source, recording.sample_count, bool(session.events), kept, session.counts,
            session.events, recording.sideband.losts,
        )  # fmt: skip
        is_alone = len(inputs) == 1 or "records" in source.lacks
        group = groups.setdefault(b"%d" % number if is_alone else _key(session), [])
        _check_joinable(group, part)
        group.append(part)
    return iter(groups.values())


def _key(session: Session) -> bytes:
    from perf2x.reader.joined_session import session_key  # a single recording does not need it

    return session_key(session)


def _open(one: Input, context: LoadContext) -> Source:
    from perf2x.reader import open_recording

    source = "" if one.path == one.name else one.name
    progress, mapped = context.progress_of("indexing"), None
    if not Path(one.path).is_dir():
        mapped = map_input(one.path, context.diagnostics, lambda head: _kind_of(head) is not None)
        kind = _kind_of(mapped.data[:FIRST].tobytes())
        if kind is not None and kind.open is not None:
            return kind.open(mapped, source or input_name(one.path), context.diagnostics, progress)
    recording = open_recording(
        one.path,
        source=source,
        diagnostics=context.diagnostics,
        progress=progress,
        itrace=context.options.itrace,
        mapped=mapped,
    )
    return PerfData(recording)


def _kind_of(head: bytes) -> SourceKind | None:
    """Return the kind of an input by its first bytes; None for perf.data, which is also the fallback."""
    return None if head.startswith(MAGICS) else next((kind for kind in source_kinds() if kind.takes(head)), None)


def _reopen(one: Input, context: LoadContext) -> Source:
    """Open an input again, without counting its damage again."""
    with context.stages.stage("index"), context.diagnostics.apart():
        return _open(one, context)


def _check_joinable(group: Sequence[SessionPart], part: SessionPart) -> None:
    if any(part.source == other.source for other in group):
        raise OptionError(f"{part.source} is given twice")
    if group and group[0].input.tags != part.input.tags:
        raise OptionError(f"{part.source} and {group[0].source} are from one session; pass the same tags for both")
