"""Recognizes the kind of a text input, and reads it block by block."""

from collections.abc import Callable, Iterable, Iterator

from perf2x.base.columnar import U8, join_tables
from perf2x.errors import FormatError
from perf2x.model.number_format import WEIGHT
from perf2x.sources.text.folded_stacks import Folded
from perf2x.sources.text.script_lines import ScriptText
from perf2x.sources.text.text_tables import Text

Kind = type[ScriptText] | type[Folded]
_KINDS: tuple[Kind, ...] = (ScriptText, Folded)
"""In the order in which they are tried."""
# bytes by which the kind of a text is recognized; bytes of text to read at once
_RECOGNIZED_BYTES, _BLOCK_SIZE = 1 << 16, 1 << 20
_NAMES_ALLOWED, _BYTES_PER_NAME = 1 << 16, 64
"""Distinct names (``TextReader.name_count``) that any text may have, and bytes of text for each further one.

Names take memory, which a hostile text must not exhaust; in real texts, names repeat.
"""
_ForgetBytes = Callable[[int], None]
"""Called with the number of bytes, from the start of the text, that are not needed any more."""


def text_kind(head: bytes) -> Kind | None:
    """Return the kind of a text by its first bytes; None for anything else."""
    if b"\0" in head:
        return None
    head = head.replace(b"\r\n", b"\n")
    complete_lines = head[: head.rfind(b"\n") + 1] or head
    return next((kind for kind in _KINDS if kind.is_kind(complete_lines)), None)


def read_text(data: U8, source: str, forget: _ForgetBytes) -> Text:
    """Read a text that ``text_kind`` recognizes.

    Raises FormatError for counts whose sum is too large, and for too many names.
    """
    kind = text_kind(data[:_RECOGNIZED_BYTES].tobytes())
    assert kind is not None
    reader, parts = kind(), []
    reader.source = source
    for block in _blocks(data, kind.complete_end, forget):
        parts.append(reader.read(block))
        if reader.name_count > _NAMES_ALLOWED + len(data) // _BYTES_PER_NAME:
            raise FormatError(f"{source}: damaged: {reader.name_count:,} different names in {len(data):,} bytes")
    frames, stacks = reader.stacks.table()
    return Text(
        kind=kind.kind,
        events=_decode(reader.events) or [WEIGHT],
        comms=_decode(reader.comms) or [""],
        frames=frames,
        stacks=stacks,
        samples=join_tables(parts),
        events_with_periods=frozenset(range(len(reader.events))) - reader.events_without_periods,
        lines_not_read=reader.lines_not_read,
        stacks_cut=reader.stacks.stacks_cut,
    )


def _decode(names: Iterable[bytes]) -> list[str]:
    return [name.decode("utf-8", "surrogateescape") for name in names]


def _blocks(data: U8, complete_end: Callable[[bytes], int], forget: _ForgetBytes) -> Iterator[bytes]:
    remainder = b""
    for start in range(0, len(data), _BLOCK_SIZE):
        block = remainder + data[start : start + _BLOCK_SIZE].tobytes().replace(b"\r\n", b"\n")
        end = complete_end(block) or len(block)
        yield block[:end]
        remainder = block[end:]
        forget(min(start + _BLOCK_SIZE, len(data)))
    yield remainder
