"""Formats the raw data of tracepoint samples as text, with the print formats in the kernel's format files."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from perf2x.base.abi import ENDIAN, ByteOrder
from perf2x.base.columnar import I64, ListArray, ListInterner, zeros
from perf2x.model.recording import Event, Session
from perf2x.reader.records.format_tokens import PrintFormatError
from perf2x.reader.records.print_expressions import BYTE_ORDER, FIELD_BYTES
from perf2x.reader.records.print_format import AddressFormatter, compile_format, field_text
from perf2x.reader.records.tracepoint_decoder import decode_fields, field_bytes


class TracepointText:
    """Formats the raw data of tracepoint samples (PERF_SAMPLE_RAW); equal data in a batch is formatted once."""

    def __init__(self, session: Session, format_address: AddressFormatter) -> None:
        self._format_address = format_address
        tracing: Any = session.features.get("tracing_data") or {}
        self._strings: Mapping[str, str] = tracing.get("strings", {})
        self._session = session
        self._byte_order: ByteOrder = cast(ByteOrder, session.byte_order)
        # by tracepoint id (``config``)
        self._formatters: dict[int, Callable[[bytes], str]] = {}

    def texts(self, event: Event, raw: ListArray) -> tuple[list[str], I64]:
        """Return a string for each distinct row of ``raw``, and (n,) the index of each sample's string.

        All strings are "" if the recording does not have the event's format.
        """
        format_entry = self._session.tracepoint_format(event)
        if format_entry is None:
            return [""], zeros(len(raw))
        distinct = ListInterner(np.uint8)
        row = distinct.number_rows(raw)
        if event.config not in self._formatters:
            self._formatters[event.config] = _formatter(
                format_entry, self._byte_order, self._format_address, self._strings
            )
        format_raw = self._formatters[event.config]
        return [format_raw(data.tobytes()) for data in distinct.table().rows()], row


def _formatter(
    format_entry: Any, byte_order: ByteOrder, format_address: AddressFormatter, strings: Mapping[str, str]
) -> Callable[[bytes], str]:
    """List names and values of the fields if perf2x does not understand the event's print format."""
    fields = format_entry["fields"]
    try:
        print_fields = compile_format(format_entry["print"], format_address, strings)
    except PrintFormatError:
        return lambda raw: field_text(decode_fields(fields, raw, byte_order))

    def format_raw(raw: bytes) -> str:
        parts = {field["name"]: field_bytes(field, raw, byte_order) for field in fields}
        return print_fields(
            {**decode_fields(fields, raw, byte_order), FIELD_BYTES: parts, BYTE_ORDER: ENDIAN[byte_order]}
        )

    return format_raw
