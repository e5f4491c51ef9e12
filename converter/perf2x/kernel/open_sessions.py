"""Opens inputs and groups those of each session.

All inputs are opened once, to group them. As an open input holds a mapped file, an index and tables, only the first few
stay open; the others are opened again when their session is loaded.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perf2x.base.columnar import Frozen, join_tables
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.input_source import Source, SourceKind, source_kinds
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.options_for_format import refuse_missing_data
from perf2x.kernel.perf_data import PerfData
from perf2x.model.recording import PERF_STAT_ONLY_COUNTS, Event, Losts, Session
from perf2x.reader.containers.input_file import HEAD_SIZE, MAGICS, input_name, map_input
from perf2x.reader.loss_notes import note_lost_samples

MAX_OPEN_INPUTS = 16
"""The first inputs, up to this many, stay open; the others are opened, and so indexed, twice.

Indexing takes a tenth of a conversion's time. Inputs that can be read only once, such as pipes, always stay open.
"""


class Input(Frozen):
    """One input of a load."""

    path: str
    """The file to read."""
    name: str
    """The user's name for the input: ``path``, or if the file was unpacked from a bundle, the bundle's path."""
    tags: Mapping[str, str]


class SessionPart(Frozen):
    """An input that was opened, and facts that stay known when it is closed."""

    input: Input
    source: str  # the input's name in messages
    sample_count: int
    has_events: bool
    opened: Source | None
    """None: the input was closed, and must be opened again."""
    is_perf_stat: bool = False
    """Whether perf stat made the recording."""
    events: Sequence[Event] = ()
    losts: Losts | None = None
    """The records of lost samples."""


class SessionInput(Frozen):
    """Inputs that are loaded together.

    They are the files of one perf record, in the order in which the user named them, or recordings of a dataset with
    the same kernel and events.
    """

    parts: tuple[SessionPart, ...]
    context: LoadContext

    @property
    def tags(self) -> Mapping[str, str]:
        """The user's labels; all files of a session have the same."""
        return self.parts[0].input.tags

    @property
    def files(self) -> tuple[str, ...]:
        """The user's names for the session's files."""
        return tuple(part.input.name for part in self.parts)

    def open(self) -> Source:
        """Open the session's source; several files are joined in order of time.

        Raises FormatError if a file has disappeared, SettingError or OptionError if the source lacks data for an
        option.
        """
        opened = [part.opened or _reopen(part.input, self.context) for part in self.parts]
        source = opened[0]
        if len(opened) > 1:
            from perf2x.reader.joined_session import JoinedRecording, order_by_time

            recordings = order_by_time([part.recording for part in opened])
            source = PerfData(JoinedRecording(recordings, self.context.diagnostics))
        refuse_missing_data(self.context.options, source.lacks)
        return source


def find_sessions(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Find sessions: first in folders and URLs that contain many, then in files."""
    sessions: list[SessionInput] = []
    for kind in source_kinds():
        recognized = [candidate for candidate in inputs if kind.recognizes_path(candidate.path)]
        if recognized and kind.sessions:
            sessions += kind.sessions(recognized, context)
            inputs = [candidate for candidate in inputs if candidate not in recognized]
    return sessions + sessions_of_files(inputs, context)


def sessions_of_files(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Open every file, and group the files of each session, in the order of their first files.

    Damage and lost samples are counted. Raises OptionError if a file is named twice, or if files of one session have
    different tags.
    """
    groups = list(_parts_by_session(inputs, context))
    for parts in groups:
        losts = join_tables([part.losts for part in parts if part.losts is not None])
        note_lost_samples(parts[0].events, losts, context.diagnostics)
    return [SessionInput(tuple(parts), context) for parts in groups]


def _parts_by_session(inputs: Sequence[Input], context: LoadContext) -> Iterator[list[SessionPart]]:
    groups: dict[bytes, list[SessionPart]] = {}
    names = set[str]()
    for number, file in enumerate(inputs):
        source = _open(file, context)
        recording = source.recording
        session = recording.session
        path = Path(file.path)
        can_reopen = file.path != "-" and (path.is_file() or path.is_dir())  # not standard input or a pipe
        if session.is_perf_stat and not context.options.counts:
            raise FormatError(f"{session.source}: no samples: {PERF_STAT_ONLY_COUNTS}")
        opened = source if number < MAX_OPEN_INPUTS or not can_reopen else None
        part = SessionPart(
            file, session.source, recording.sample_count, bool(session.events), opened, session.is_perf_stat,
            session.events, recording.sideband.losts,
        )  # fmt: skip
        is_alone = len(inputs) == 1 or "records" in source.lacks  # not to be grouped with other files
        # the number cannot equal a digest, because it is shorter
        group = groups.setdefault(b"%d" % number if is_alone else _session_digest(session), [])
        if part.source in names:
            raise OptionError(f"{part.source} is given twice")
        names.add(part.source)
        _check_tags(group, part)
        group.append(part)
    return iter(groups.values())


def _session_digest(session: Session) -> bytes:
    from perf2x.reader.joined_session import session_key

    return session_key(session)


def _open(file: Input, context: LoadContext) -> Source:
    from perf2x.reader import open_recording

    name = "" if file.path == file.name else file.name  # "": open_recording makes the name from the path
    progress, mapped = context.stage_progress("indexing"), None
    if not Path(file.path).is_dir():
        mapped = map_input(file.path, context.diagnostics, lambda head: _kind_of(head) is not None)
        kind = _kind_of(mapped.data[:HEAD_SIZE].tobytes())
        if kind is not None and kind.open is not None:
            return kind.open(mapped, name or input_name(file.path), context.diagnostics, progress)
    recording = open_recording(
        file.path,
        source=name,
        diagnostics=context.diagnostics,
        progress=progress,
        itrace=context.options.itrace,
        mapped_input=mapped,
    )
    return PerfData(recording)


def _kind_of(head: bytes) -> SourceKind | None:
    """None for perf.data, or if no kind recognizes the first bytes."""
    return None if head.startswith(MAGICS) else next((kind for kind in source_kinds() if kind.recognizes(head)), None)


def _reopen(file: Input, context: LoadContext) -> Source:
    with context.stages.stage("index"), context.diagnostics.counted_apart():
        return _open(file, context)


def _check_tags(group: Sequence[SessionPart], part: SessionPart) -> None:
    if group and group[0].input.tags != part.input.tags:
        raise OptionError(f"{part.source} and {group[0].source} are from one session; pass the same tags for both")
