"""Attributes: named values of samples, files, locations and profiles in one table, and those of a resource.

With texts they are what all profiles of a file share, besides the tables of stacks and what they consist of.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, arange, flatnonzero
from perf2x.base.columnar.ragged import Ragged, octet_rows, offsets_of, side_by_side
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.protobuf import message_field, nested_field, number_field, number_fields, top_level
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


class AttributeTexts:
    """Distinct texts in the order in which they were added; number 0 is the empty one, which means "not set"."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def add(self, text: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(printable(text), len(self._numbers))

    def add_rows(self, texts: Sequence[str], rows: AnyArray) -> I64:
        """Return (n,) the numbers of the texts in (n,) rows; texts in no row are not added."""
        used, place = unique_inverse(rows.astype(np.int64))
        return np.array([self.add(texts[row]) for row in used.tolist()], np.int64)[place]

    def listed(self) -> list[str]:
        """Return all texts, the empty one first."""
        return list(self._numbers)


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
        used, place = unique_inverse(rows)
        held = (values[row] for row in used.tolist())
        return np.array([0 if value is None else self.add(key, value) for value in held], np.int64)[place]

    def encoded(self) -> Ragged:
        """Return the table, as messages."""
        keys = np.array([0, *(key for key, _, _ in self._numbers)], np.int64)
        values = _any_values([value for _, _, value in self._numbers])
        offsets = offsets_of((arange(len(keys)) > 0).astype(np.int64))
        return side_by_side(
            [
                number_field(KeyValueAndUnit.KEY_STRINDEX, keys),
                nested_field(KeyValueAndUnit.VALUE, values, offsets),
            ]
        )


def key_values(attributes: Mapping[str, str]) -> Ragged:
    """Return the attributes of a resource, as messages, in the order of their keys."""
    items = sorted(attributes.items())
    values = _any_values([value for _, value in items])
    keys = octet_rows([printable(key).encode() for key, _ in items])
    return side_by_side(
        [message_field(KeyValue.KEY, keys), nested_field(KeyValue.VALUE, values, arange(len(items) + 1))]
    )


def referring_key_values(attributes: Mapping[str, str], texts: AttributeTexts) -> Ragged:
    """Return the same with keys and values in the table of texts."""
    items = sorted(attributes.items())
    keys, numbers = (np.array([texts.add(item[at]) for item in items], np.int64) for at in (0, 1))
    values = number_fields({AnyValue.STRING_VALUE_STRINDEX: numbers})
    return side_by_side(
        [
            nested_field(KeyValue.VALUE, values, arange(len(items) + 1)),
            number_field(KeyValue.KEY_STRINDEX, keys),
        ]
    )


def _any_values(values: Sequence[Value]) -> Ragged:
    """Return values as messages; a text that is empty is an empty message."""
    texts = octet_rows([printable(value).encode() if isinstance(value, str) else b"" for value in values])
    truths = np.array([value is True for value in values], np.bool_)
    are_numbers = np.array([isinstance(value, int) and not isinstance(value, bool) for value in values], np.bool_)
    numbers = np.array([value if isinstance(value, int) else 0 for value in values], np.int64)
    return side_by_side(
        [
            message_field(AnyValue.STRING_VALUE, texts),
            number_field(AnyValue.BOOL_VALUE, truths.astype(np.int64)),
            number_field(AnyValue.INT_VALUE, numbers, are_numbers),
            _arrays(values),
        ]
    )


def _arrays(values: Sequence[Value]) -> Ragged:
    """(n,) rows of the field that holds several texts."""
    lists = [value if isinstance(value, tuple) else () for value in values]
    entries = octet_rows([printable(text).encode() for texts in lists for text in texts])
    items = message_field(AnyValue.STRING_VALUE, entries)
    offsets = offsets_of(np.array([len(texts) for texts in lists], np.int64))
    arrays = nested_field(ArrayValue.VALUES, items, offsets)
    held = np.array([isinstance(value, tuple) for value in values], np.bool_)
    return nested_field(AnyValue.ARRAY_VALUE, arrays.take(flatnonzero(held)), offsets_of(held.astype(np.int64)))


def number_rows(columns: Sequence[I64], count: int) -> Ragged:
    """Return (count,) rows of the numbers in the columns, without those that are 0."""
    if not columns:
        return Ragged.of_empty_rows(count, np.int64)
    held = [Ragged(offsets_of((column > 0).astype(np.int64)), column[column > 0]) for column in columns]
    return side_by_side(held)


_NO_LINK = (Link.TRACE_ID, bytes(16)), (Link.SPAN_ID, bytes(8))
"""Entry 0 of the links has zeros, for readers that expect so many bytes."""


class Dictionary:
    """Texts and attributes, to which profiles and tables add."""

    def __init__(self) -> None:
        self.texts = AttributeTexts()
        self.attributes = Attributes(self.texts)

    def own_tables(self) -> Pieces:
        """Yield links, texts and attributes, once nothing more is added."""
        link = side_by_side([message_field(field, octet_rows([value])) for field, value in _NO_LINK])
        attributes = self.attributes.encoded()
        texts = octet_rows([text.encode() for text in self.texts.listed()])
        yield top_level(ProfilesDictionary.LINK_TABLE, link)
        yield top_level(ProfilesDictionary.STRING_TABLE, texts)
        yield top_level(ProfilesDictionary.ATTRIBUTE_TABLE, attributes)
