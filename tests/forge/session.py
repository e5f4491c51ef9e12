"""What a forged recording is made of, and ``write_file``."""

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
    """Byte order (``<`` or ``>``), wrapping, events and features of one recording."""

    events: tuple[Event, ...] = (Event(),)
    order: str = "<"
    pipe: bool = False
    features: Features = field(default_factory=Features)
    unfinished: bool = False
    zstd: int = 0
    """0 plain; else records are compressed in pieces of about that many bytes (types 83, or 81 with ``legacy``)."""
    legacy_zstd: bool = False


def container(session: Session, records: Iterable[Record]) -> Container:
    """The recording in pieces, for tests that rearrange them."""
    encoded = tuple(record.encode(session.events, session.order) for record in records)
    if session.zstd:
        encoded = compress(encoded, session)
    attrs = tuple((event.encode(session.order), event.ids) for event in session.events)
    return Container(session.order, attrs, encoded, session.features.sections(session.events, session.order))


def write_file(session: Session, records: Iterable[Record]) -> bytes:
    """The whole recording as bytes."""
    pieces = container(session, records)
    return pieces.to_pipe() if session.pipe else pieces.to_file(session.unfinished)


def compress(encoded: tuple[bytes, ...], session: Session) -> tuple[bytes, ...]:
    """One zstd stream over all records, cut without regard to their borders, as perf does."""
    compressor = zstd().ZstdCompressor()
    plain = b"".join(encoded)
    out = []
    for start in range(0, len(plain), session.zstd):
        piece = compressor.compress(plain[start : start + session.zstd], compressor.FLUSH_BLOCK)
        out.append(Compressed(piece=piece, legacy=session.legacy_zstd).encode(session.events, session.order))
    return tuple(out)


def zstd() -> ModuleType:  # type: ignore[no-untyped-def]
    """The zstd module: the standard library's from Python 3.14 on, the same under another name before."""
    try:
        from compression import zstd as module
    except ImportError:
        from backports import zstd as module
    return module
