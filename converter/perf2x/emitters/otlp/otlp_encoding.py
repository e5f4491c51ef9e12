"""Two encodings of the same messages, from columns: protobuf, and the protocol's JSON.

A *row* is the bytes of one field, or of all fields of one message, for each of n messages; a *piece* is bytes of one
message that is put together from the inside out.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from perf2x.base.columnar.arrays import I64, AnyArray, Bools
from perf2x.base.columnar.ragged import Ragged
from perf2x.emitters.otlp.otlp_schema import Field

Pieces = Iterable[bytes]
"""Read once, in order: a table of all addresses of a file may be made while it is written."""


class Encoding(Protocol):
    """Encodes fields; what is 0 or empty is left out, as proto3 does."""

    def number(self, field: Field, values: AnyArray, held: Bools | None = None) -> Ragged:
        """(n,) rows of a field of one number; where ``held`` is given, it says which are written."""
        ...

    def numbers(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a repeated field of numbers."""
        ...

    def octets(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a field of bytes or of text in UTF-8."""
        ...

    def blob(self, field: Field, octets: bytes) -> Pieces:
        """A field of one message's bytes, which may be many."""
        ...

    def messages(self, field: Field, messages: Ragged, offsets: I64) -> Ragged:
        """(n,) rows of a field of messages: row i holds ``messages[offsets[i]:offsets[i + 1]]``, empty ones, too."""
        ...

    def joined(self, fields: Sequence[Ragged]) -> Ragged:
        """(n,) messages of the given fields, in order."""
        ...

    def entries(self, field: Field, messages: Ragged) -> bytes:
        """Messages, or texts, as entries of a repeated field, for `repeated`."""
        ...

    def entry(self, field: Field, pieces: Pieces) -> Pieces:
        """One entry of a repeated field from a message's fields, for `repeated`."""
        ...

    def repeated(self, field: Field, entries: Pieces) -> Pieces:
        """A repeated field of runs of entries; nothing for none."""
        ...

    def single(self, field: Field, pieces: Pieces) -> Pieces:
        """A field of one message from that message's fields."""
        ...

    def document(self, pieces: Pieces) -> Pieces:
        """The outermost message from its fields."""
        ...
