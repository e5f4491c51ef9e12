"""What all profiles of a file share: texts, attributes, and the tables of stacks and what they consist of."""

from collections.abc import Iterable

from perf2x.base.columnar.ragged import Ragged
from perf2x.emitters.encoding.octet_rows import octet_rows
from perf2x.emitters.otlp.attributes import Attributes, Texts
from perf2x.emitters.otlp.otlp_encoding import Encoding
from perf2x.emitters.otlp.otlp_schema import Field, Link, Pieces, ProfilesDictionary

_NO_LINK = (Link.TRACE_ID, bytes(16)), (Link.SPAN_ID, bytes(8))
"""Entry 0 of the links has zeros, for readers that expect so many bytes."""


class Dictionary:
    """Texts and attributes, to which profiles and tables add, and the encoding of all."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.texts = Texts()
        self.attributes = Attributes(self.texts)

    def table(self, field: Field, parts: Iterable[Ragged]) -> Pieces:
        """Return a table from its entries, the first of which is empty."""
        return self.encoding.repeated(field, (self.encoding.entries(field, part) for part in parts))

    def own_tables(self) -> Pieces:
        """Yield links, texts and attributes, once nothing more is added."""
        link = self.encoding.joined([self.encoding.octets(field, octet_rows([value])) for field, value in _NO_LINK])
        attributes = self.attributes.encoded(self.encoding)
        texts = octet_rows([text.encode() for text in self.texts.listed()])
        yield from self.table(ProfilesDictionary.LINK_TABLE, [link])
        yield from self.table(ProfilesDictionary.STRING_TABLE, [texts])
        yield from self.table(ProfilesDictionary.ATTRIBUTE_TABLE, [attributes])
