"""Formats tracepoint samples as text, by the format files in the recording."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from perf2x.base.abi import ENDIAN, ByteOrder
from perf2x.base.columnar import I64, ListArray, ListInterner, zeros
from perf2x.model.recording import Event, Session
from perf2x.reader.records.format_tokens import PrintFormatError
from perf2x.reader.records.print_format import BYTE_ORDER, FIELD_BYTES, AddressFormatter, compile_format, field_text
from perf2x.reader.records.tracepoint_decoder import decode_fields, field_bytes


class TracedText:
    """Formats the raw bytes of samples; equal bytes of a batch are formatted once."""

    def __init__(self, session: Session, function: AddressFormatter) -> None:
        self._function = function
        tracing: Any = session.features.get("tracing_data") or {}
        self._strings: Mapping[str, str] = tracing.get("strings", {})
        self._session = session
        self._order: ByteOrder = cast(ByteOrder, session.byte_order)
        self._printers: dict[int, Callable[[bytes], str]] = {}

    def of(self, event: Event, raw: ListArray) -> tuple[list[str], I64]:
        """Return the distinct texts of an event's samples, and (n,) the index of each sample's text.

        The text is "" if the recording does not have the event's format.
        """
        format_fields = self._session.tracepoint_format(event)
        if format_fields is None:
            return [""], zeros(len(raw))
        distinct = ListInterner(np.uint8)
        row = distinct.number_rows(raw)
        if event.config not in self._printers:
            self._printers[event.config] = _printer(format_fields, self._order, self._function, self._strings)
        printer = self._printers[event.config]
        return [printer(octets.tobytes()) for octets in distinct.table().rows()], row


def _printer(
    format_fields: Any, order: ByteOrder, function: AddressFormatter, strings: Mapping[str, str]
) -> Callable[[bytes], str]:
    """Return a function from raw bytes to text: by the print format, or field by field if it is not understood."""
    fields = format_fields["fields"]
    try:
        formatted = compile_format(format_fields["print"], function, strings)
    except PrintFormatError:
        return lambda raw: field_text(decode_fields(fields, raw, order))

    def text(raw: bytes) -> str:
        parts = {field["name"]: field_bytes(field, raw, order) for field in fields}
        return formatted({**decode_fields(fields, raw, order), FIELD_BYTES: parts, BYTE_ORDER: ENDIAN[order]})

    return text
