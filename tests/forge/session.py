"""Configuration of a forged recording, and ``write_file``."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType

from tests.forge.container import Container
from tests.forge.events import Event
from tests.forge.features import Features
from tests.forge.records import Record
from tests.forge.userspace import Compressed


@dataclass(frozen=True)
class Session:
    """Byte order (``<`` or ``>``), container, events and features of one recording."""

    events: tuple[Event, ...] = (Event(),)
    order: str = "<"
    pipe: bool = False
    features: Features = field(default_factory=Features)
    unfinished: bool = False
    zstd: int = 0
    """0 plain; else records are compressed in chunks of about that many bytes (types 83, or 81 with ``legacy``)."""
    legacy_zstd: bool = False


def container(session: Session, records: Iterable[Record]) -> Container:
    """Make the parts of a recording, for tests that rearrange them."""
    encoded = tuple(record.encode(session.events, session.order) for record in records)
    if session.zstd:
        encoded = compress(encoded, session)
    attrs = tuple((event.encode(session.order), event.ids) for event in session.events)
    return Container(session.order, attrs, encoded, session.features.sections(session.events, session.order))


def write_file(session: Session, records: Iterable[Record]) -> bytes:
    """Write a whole recording to bytes."""
    pieces = container(session, records)
    return pieces.to_pipe() if session.pipe else pieces.to_file(session.unfinished)


def compress(encoded: tuple[bytes, ...], session: Session) -> tuple[bytes, ...]:
    """Compress all records as one zstd stream, cut without regard to record boundaries, as perf does."""
    compressor = zstd().ZstdCompressor()
    plain = b"".join(encoded)
    out = []
    for start in range(0, len(plain), session.zstd):
        piece = compressor.compress(plain[start : start + session.zstd], compressor.FLUSH_BLOCK)
        out.append(Compressed(piece=piece, legacy=session.legacy_zstd).encode(session.events, session.order))
    return tuple(out)


def zstd() -> ModuleType:  # type: ignore[no-untyped-def]
    """Import the zstd module: the standard library's from Python 3.14 on, else its backport."""
    try:
        from compression import zstd as module
    except ImportError:
        from backports import zstd as module
    return module
