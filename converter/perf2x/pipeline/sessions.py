"""Opens inputs and joins the files of one recording session."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from perf2x.pipeline.context import LoadContext
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.errors import OptionError
from perf2x.tables.events import Recording


class Input(Struct, frozen=True):
    """One input of a load."""

    path: str
    """The file to read."""
    name: str
    """The user's name for it: that of the bundle which the file was unpacked from."""
    tags: Mapping[str, str]


class SessionInput(Struct, frozen=True):
    """One recording session, opened, and its tags."""

    recording: Recording
    tags: Mapping[str, str]
    files: tuple[str, ...]
    """The user's names for its files."""


def open_sessions(inputs: Sequence[Input], context: LoadContext) -> list[SessionInput]:
    """Open every input and join the files of one session, which are put in order of time.

    Sessions keep the order of their first files. OptionError for a file given twice and for files of one session with
    different tags.
    """
    opened = [SessionInput(_open(one, context), one.tags, (one.name,)) for one in inputs]
    return opened if len(opened) == 1 else list(_join_sessions(opened, context.diagnostics))


def _open(one: Input, context: LoadContext) -> Recording:
    from perf2x.reader import open_recording

    source = "" if one.path == one.name else one.name
    progress = context.progress_of("indexing")
    return open_recording(one.path, source=source, diagnostics=context.diagnostics, progress=progress)


def _join_sessions(opened: Sequence[SessionInput], diagnostics: Diagnostics) -> Iterator[SessionInput]:
    from perf2x.reader.joined_session import JoinedRecording, order_by_time, same_session

    groups: list[list[SessionInput]] = []
    for part in opened:
        session = part.recording.session
        group = next((group for group in groups if same_session(group[0].recording.session, session)), None)
        if group is None:
            groups.append([part])
        else:
            _check_joinable(group, part)
            group.append(part)
    for group in groups:
        parts = [part.recording for part in group]
        recording = parts[0] if len(parts) == 1 else JoinedRecording(order_by_time(parts), diagnostics)
        yield SessionInput(recording, group[0].tags, tuple(name for part in group for name in part.files))


def _check_joinable(group: Sequence[SessionInput], part: SessionInput) -> None:
    source = part.recording.session.source
    if any(source == other.recording.session.source for other in group):
        raise OptionError(f"{source} is given twice")
    if group[0].tags != part.tags:
        first = group[0].recording.session.source
        raise OptionError(f"{source} and {first} are of one session; give both the same tags")
