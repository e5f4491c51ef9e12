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
"""The kinds, in the order in which they are tried."""
_FIRST, _BLOCK = 1 << 16, 1 << 20
_MOST_NAMES, _BYTES_OF_NAME = 1 << 16, 64
"""A text may have _MOST_NAMES distinct names, and one more for each _BYTES_OF_NAME bytes.

Names cost memory; in real texts they repeat.
"""
_Done = Callable[[int], None]
"""Called with the number of bytes that are no longer needed."""


def text_kind(head: bytes) -> Kind | None:
    """Return the kind of a text by its first bytes, whose last line may be incomplete; None for anything else."""
    if b"\0" in head:
        return None
    head = head.replace(b"\r\n", b"\n")
    whole = head[: head.rfind(b"\n") + 1] or head
    return next((kind for kind in _KINDS if kind.is_kind(whole)), None)


def read_text(data: U8, source: str, done: _Done) -> Text:
    """Read a text of a known kind, named ``source``. Raises FormatError for impossible numbers and names."""
    kind = text_kind(data[:_FIRST].tobytes())
    assert kind is not None
    reader, parts = kind(), []
    reader.source = source
    for block in _blocks(data, kind.cut, done):
        parts.append(reader.read(block))
        if reader.names > _MOST_NAMES + len(data) // _BYTES_OF_NAME:
            raise FormatError(f"{source}: damaged: {reader.names:,} different names in {len(data):,} bytes")
    frames, stacks = reader.stacks.table()
    return Text(
        kind=kind.kind,
        events=_decoded(reader.events) or [WEIGHT],
        comms=_decoded(reader.comms) or [""],
        frames=frames,
        stacks=stacks,
        samples=join_tables(parts),
        with_period=frozenset(range(len(reader.events))) - reader.without_period,
        not_read=reader.not_read,
        cut=reader.stacks.cut,
    )


def _decoded(texts: Iterable[bytes]) -> list[str]:
    return [text.decode("utf-8", "surrogateescape") for text in texts]


def _blocks(data: U8, cut: Callable[[bytes], int], done: _Done) -> Iterator[bytes]:
    """Yield the text a few MiB at a time, cut between samples if possible."""
    rest = b""
    for start in range(0, len(data), _BLOCK):
        block = rest + data[start : start + _BLOCK].tobytes().replace(b"\r\n", b"\n")
        at = cut(block) or len(block)
        yield block[:at]
        rest = block[at:]
        done(min(start + _BLOCK, len(data)))
    yield rest
