"""Attributes: named values of samples, files, locations and profiles in one table, and those of a resource.

With texts they are what all profiles of a file share, besides the tables of stacks and what they consist of.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from perf2x.base.columnar import I64, AnyArray, Ragged, StringInterner, numbers_of, offsets_of, side_by_side
from perf2x.emitters.encoding.protobuf import message, number, number_but_0, text
from perf2x.emitters.encoding.protobuf import texts as text_entries
from perf2x.emitters.otlp.otlp_schema import (
    AnyValue,
    ArrayValue,
    KeyValue,
    KeyValueAndUnit,
    Link,
    Pieces,
    ProfilesDictionary,
)
from perf2x.model.printable_text import printable


class AttributeTexts(StringInterner):
    """Distinct texts in the order in which they were added; number 0 is the empty one, which means "not set"."""

    def add(self, text: str) -> int:
        """Return the number of a text."""
        return self[printable(text)]

    def add_rows(self, texts: Sequence[str], rows: AnyArray) -> I64:
        """Return (n,) the numbers of the texts in (n,) rows; texts in no row are not added."""
        return numbers_of(rows, lambda row: self.add(texts[row]))


Value = str | int | bool | tuple[str, ...]


class Attributes:
    """Distinct (key, value) in the order in which they were added; number 0 is empty and means "not set"."""

    def __init__(self, texts: AttributeTexts) -> None:
        self._texts = texts
        self._numbers: dict[tuple[int, type, Value], int] = {}

    def add(self, key: str, value: Value) -> int:
        """Return the number of an attribute; True and 1 are two."""
        return self._numbers.setdefault((self._texts.add(key), type(value), value), len(self._numbers) + 1)

    def add_column(self, key: str, values: Sequence[Value | None], rows: I64) -> I64:
        """Return (n,) the numbers of the values in (n,) rows, 0 where there is none; unused values are not added."""

        def number_of(row: int) -> int:
            value = values[row]
            return 0 if value is None else self.add(key, value)

        return numbers_of(rows, number_of)

    def encoded(self) -> Pieces:
        """Yield the entries of the table."""
        yield message(ProfilesDictionary.ATTRIBUTE_TABLE, b"")
        for key, _, value in self._numbers:
            fields = number(KeyValueAndUnit.KEY_STRINDEX, key) + _any_value(KeyValueAndUnit.VALUE, value)
            yield message(ProfilesDictionary.ATTRIBUTE_TABLE, fields)


def key_values(field: int, attributes: Mapping[str, str], texts: AttributeTexts | None) -> Pieces:
    """Yield attributes as a repeated field, in the order of their keys; with ``texts`` as numbers of that table."""
    items = sorted(attributes.items())
    if texts is None:
        for key, value in items:
            yield message(field, text(KeyValue.KEY, printable(key)) + _any_value(KeyValue.VALUE, value))
        return
    keys, values = ([texts.add(item[at]) for item in items] for at in (0, 1))
    for name, held in zip(keys, values, strict=True):
        refers = message(KeyValue.VALUE, number_but_0(AnyValue.STRING_VALUE_STRINDEX, held))
        yield message(field, refers + number_but_0(KeyValue.KEY_STRINDEX, name))


def _any_value(field: int, value: Value) -> bytes:
    """Encode an AnyValue; a text that is empty is an empty message."""
    if isinstance(value, str):
        return message(field, text(AnyValue.STRING_VALUE, printable(value)))
    if isinstance(value, tuple):
        entries = (_any_value(ArrayValue.VALUES, one) for one in value)
        return message(field, message(AnyValue.ARRAY_VALUE, b"".join(entries)))
    return message(field, number(AnyValue.BOOL_VALUE if isinstance(value, bool) else AnyValue.INT_VALUE, value))


def number_rows(columns: Sequence[I64], count: int) -> Ragged:
    """Return (count,) rows of the numbers in the columns, without those that are 0."""
    if not columns:
        return Ragged.of_empty_rows(count, np.int64)
    held = [Ragged(offsets_of((column > 0).astype(np.int64)), column[column > 0]) for column in columns]
    return side_by_side(held)


class Dictionary:
    """Texts and attributes, to which profiles and tables add."""

    def __init__(self) -> None:
        self.texts = AttributeTexts()
        self.attributes = Attributes(self.texts)

    def own_tables(self) -> Pieces:
        """Yield links, texts and attributes, once nothing more is added."""
        no_link = message(Link.TRACE_ID, bytes(16)) + message(Link.SPAN_ID, bytes(8))
        yield message(ProfilesDictionary.LINK_TABLE, no_link)  # zeros, for readers that expect so many bytes
        yield text_entries(ProfilesDictionary.STRING_TABLE, self.texts)
        yield from self.attributes.encoded()
