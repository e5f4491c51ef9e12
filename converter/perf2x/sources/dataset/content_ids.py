"""Content-addressed ids: equal recordings and equal objects have equal ids on all hosts.

An id is BLAKE2b of 128 bits (RFC 7693, ``hashlib``), of a recording's bytes or of an object's identifying data.
The hash is cryptographic because recordings may come from anywhere: nobody can craft a file with the id of another.
"""

from collections.abc import Iterable
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

_WIDTH = 16
"""Bytes of an id."""


def text_id(*facts: bytes | str | int) -> bytes:
    """Hash a few values, each preceded by its type and length, so that no two lists collide."""
    digest = blake2b(digest_size=_WIDTH)
    for fact in facts:
        raw = fact if isinstance(fact, bytes) else str(fact).encode("utf-8", "surrogateescape")
        digest.update(f"{type(fact).__name__}:{len(raw)}:".encode() + raw)
    return digest.digest()


def recording_id(files: Iterable[Path]) -> bytes:
    """Return the id of a recording: of the bytes of its files in any order, including those in its directories.

    Raises OSError if one cannot be read.
    """
    digests = sorted(_file_digest(one) for path in files for one in _files_of(path))
    return text_id("recording", *digests)


def _files_of(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _file_digest(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        return file_digest(file, partial(blake2b, digest_size=_WIDTH)).digest()
