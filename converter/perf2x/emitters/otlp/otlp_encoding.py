"""Two encodings of the same messages, from columns: protobuf, and the protocol's JSON. They have the same methods.

A *row* is the bytes of one field, or of all fields of one message, for each of n messages; a *piece* is bytes of one
message that is put together from the inside out. What is 0 or empty is left out, as proto3 does.

The protocol's JSON of columns: names in lowerCamelCase, 64-bit numbers as texts, ids in hex.

Source of truth: docs/specification.md of opentelemetry-proto, "JSON Protobuf Encoding". Every field begins with a
comma, which its message takes off the first one::

    fields of a message     ,"stackIndex":3     ,"values":["10"]
    message                 {"stackIndex":3,"values":["10"]}

Protobuf of columns.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, AnyArray, Bools, arange, flatnonzero
from perf2x.base.columnar.ragged import Ragged, octet_rows, offsets_of, ranges, side_by_side
from perf2x.emitters.encoding.decimal_text import decimal_cells, without_nulls
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.encoding.protobuf import (
    LENGTH,
    fixed_field,
    message_field,
    nested_field,
    number_field,
    packed_field,
    top_level,
    varint,
)
from perf2x.emitters.otlp.otlp_schema import Field, Pieces


class Wire:
    """An Encoding: protobuf, as files and collectors take it."""

    def number(self, field: Field, values: AnyArray, held: Bools | None = None) -> Ragged:
        """(n,) rows of a field of one number."""
        write = fixed_field if field.kind == "fixed64" else number_field
        return write(field.number, values, held)

    def numbers(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a packed field."""
        if field.kind == "fixed64":
            words = rows.values.astype("<u8")
            return message_field(field.number, Ragged(rows.offsets * 8, words.view(np.uint8)))
        return packed_field(field.number, rows)

    def octets(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a field of bytes or text."""
        return message_field(field.number, rows)

    def blob(self, field: Field, octets: bytes) -> Pieces:
        """Bytes behind tag and length."""
        return self.entry(field, [octets])

    def messages(self, field: Field, messages: Ragged, offsets: I64) -> Ragged:
        """(n,) rows of a field of messages."""
        return nested_field(field.number, messages, offsets)

    def joined(self, fields: Sequence[Ragged]) -> Ragged:
        """(n,) messages of the given fields."""
        return side_by_side(fields)

    def entries(self, field: Field, messages: Ragged) -> bytes:
        """Messages, or texts, each behind tag and length."""
        return top_level(field.number, messages)

    def entry(self, field: Field, pieces: Pieces) -> Pieces:
        """One message behind tag and length."""
        held = list(pieces)  # the length stands in front
        return [varint(field.number << 3 | LENGTH) + varint(sum(map(len, held))), *held]

    def repeated(self, field: Field, entries: Pieces) -> Pieces:
        """Entries as they are."""
        return entries

    def single(self, field: Field, pieces: Pieces) -> Pieces:
        """One message behind tag and length."""
        return self.entry(field, pieces)

    def document(self, pieces: Pieces) -> Pieces:
        """Fields as they are."""
        return pieces


_WIDE = frozenset({"int64", "uint64", "fixed64"})
"""Numbers that JSON's readers may round, and that are therefore texts."""


class JsonText:
    """An Encoding: the protocol's JSON."""

    def number(self, field: Field, values: AnyArray, held: Bools | None = None) -> Ragged:
        """(n,) rows of a field of one number."""
        present = values != 0 if held is None else held
        return _listed(field, _texts(field, values[present]), offsets_of(present.astype(np.int64)))

    def numbers(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a list of numbers."""
        return _listed(field, _texts(field, rows.values), rows.offsets)

    def octets(self, field: Field, rows: Ragged) -> Ragged:
        """(n,) rows of a text; bytes are written in hex, which the protocol asks for in ids."""
        present = rows.take(flatnonzero(rows.lengths))
        return _listed(field, _quoted(field, present), offsets_of((rows.lengths > 0).astype(np.int64)))

    def blob(self, field: Field, octets: bytes) -> Pieces:
        """Bytes in base64, as protobuf's own JSON has them; only ids of traces are in hex."""
        return [b"," + _name(field) + b'"', b64encode(octets), b'"']

    def messages(self, field: Field, messages: Ragged, offsets: I64) -> Ragged:
        """(n,) rows of a message, or of a list of messages."""
        return _listed(field, messages, offsets)

    def joined(self, fields: Sequence[Ragged]) -> Ragged:
        """(n,) messages of the given fields."""
        whole = side_by_side(fields)
        start = whole.offsets[:-1] + (whole.lengths > 0)
        lengths = whole.offsets[1:] - start
        inner = Ragged(offsets_of(lengths), whole.values[ranges(start, lengths)])
        return side_by_side([_constant(len(whole), b"{"), inner, _constant(len(whole), b"}")])

    def entries(self, field: Field, messages: Ragged) -> bytes:
        """Messages, or texts, with a comma in front of each."""
        rows = _quoted(field, messages) if field.kind == "string" else messages
        return bytes(side_by_side([_constant(len(rows), b","), rows]).values)

    def entry(self, field: Field, pieces: Pieces) -> Pieces:
        """One message with a comma in front."""
        return chain([b",{"], _without_comma(pieces), [b"}"])

    def repeated(self, field: Field, entries: Pieces) -> Pieces:
        """A list of the entries."""
        inner = _without_comma(entries)
        if first := next(inner, b""):
            yield b"," + _name(field) + b"[" + first
            yield from inner
            yield b"]"

    def single(self, field: Field, pieces: Pieces) -> Pieces:
        """One message behind its name."""
        return chain([b"," + _name(field) + b"{"], _without_comma(pieces), [b"}"])

    def document(self, pieces: Pieces) -> Pieces:
        """An object of the fields, and the end of the line."""
        return chain([b"{"], _without_comma(pieces), [b"}\n"])


def _name(field: Field) -> bytes:
    return json_bytes(field.json_name) + b":"


def _without_comma(pieces: Pieces) -> Iterator[bytes]:
    held = (piece for piece in pieces if piece)
    yield from (first[1:] for first in islice(held, 1))
    yield from held


def _texts(field: Field, values: AnyArray) -> Ragged:
    """(n,) numbers as texts."""
    if field.kind == "bool":
        return _constant(len(values), b"true")
    quote = b'"' if field.kind in _WIDE else b""
    cells = decimal_cells(values, quote)
    if quote:
        cells = np.concatenate([cells, np.full((len(cells), 1), ord(quote), "<u4")], axis=1)
    sizes = np.count_nonzero(np.ascontiguousarray(cells).view(np.uint8).reshape(len(cells), cells.shape[1] * 4), axis=1)
    return Ragged(offsets_of(sizes.astype(np.int64)), np.frombuffer(without_nulls(cells), np.uint8))


def _quoted(field: Field, rows: Ragged) -> Ragged:
    """(n,) texts in quotes, or bytes in hex."""
    whole = rows.values.tobytes()
    bounds = zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True)
    held = (whole[start:end] for start, end in bounds)
    return octet_rows([json_bytes(one.hex() if field.kind == "bytes" else one.decode()) for one in held])


def _listed(field: Field, texts: Ragged, offsets: I64) -> Ragged:
    """Put a field's name in front of each row's texts, commas between them, and brackets round a list."""
    counts = np.diff(offsets)
    head = b"," + _name(field) + (b"[" if field.repeated else b"")
    first = np.zeros(len(texts), np.int64)
    first[offsets[:-1][counts > 0]] = 1
    heads = octet_rows([b",", head]).take(first)
    delimited = side_by_side([heads, texts])
    rows = Ragged(delimited.offsets[offsets], delimited.values)
    if not field.repeated:
        return rows
    return side_by_side([rows, octet_rows([b"", b"]"]).take((counts > 0).astype(np.int64))])


def _constant(count: int, text: bytes) -> Ragged:
    """(count,) rows of the same bytes."""
    octets: U8 = np.frombuffer(text, np.uint8)
    return Ragged(arange(count + 1) * len(text), np.tile(octets, count))


Encoding = Wire | JsonText


def encoded_rows(encoding: Encoding, fields: Mapping[Field, AnyArray | Ragged]) -> Ragged:
    """(n,) messages whose fields, in this order, are a number (a column) or a list of numbers (a table)."""
    rows = (
        encoding.numbers(field, values) if isinstance(values, Ragged) else encoding.number(field, values)
        for field, values in fields.items()
    )
    return encoding.joined(list(rows))


def one_number(encoding: Encoding, field: Field, value: int) -> bytes:
    """Encode a field of one message; nothing for 0."""
    return bytes(encoding.number(field, np.array([value], np.uint64)).values)
