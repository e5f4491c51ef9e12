"""Makes ids of recordings and objects from their content, so that equal ones have equal ids on all hosts.

An id is a BLAKE2b digest (RFC 7693) of 128 bits: nobody can craft a file with the id of another file.
"""

from collections.abc import Iterable
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

_DIGEST_SIZE = 16
"""Bytes of an id."""


def text_id(*facts: bytes | str | int) -> bytes:
    """Return the digest of values, each preceded by its type and length: so ("ab", "c") and ("a", "bc") differ."""
    digest = blake2b(digest_size=_DIGEST_SIZE)
    for fact in facts:
        raw = fact if isinstance(fact, bytes) else str(fact).encode("utf-8", "surrogateescape")
        digest.update(f"{type(fact).__name__}:{len(raw)}:".encode() + raw)
    return digest.digest()


def recording_id(files: Iterable[Path]) -> bytes:
    """Return the id of a recording by the bytes of its files, whatever their names and order.

    Raises OSError if a file cannot be read.
    """
    digests = sorted(_file_digest(file) for path in files for file in _files_of(path))
    return text_id("recording", *digests)


def _files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def _file_digest(path: Path) -> bytes:
    with path.open("rb", buffering=0) as file:
        return file_digest(file, partial(blake2b, digest_size=_DIGEST_SIZE)).digest()
