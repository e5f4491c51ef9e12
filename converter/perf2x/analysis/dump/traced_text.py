"""Text of tracepoints' samples, by the formats that the recording holds."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.interner import RaggedInterner
from perf2x.base.columnar.ragged import Ragged
from perf2x.model.recording.events import Event, Session
from perf2x.reader.records.print_format import PrintFormatError, compile_format, field_text
from perf2x.reader.records.tracepoint_decoder import decode_fields

if TYPE_CHECKING:
    from perf2x.base.abi.layouts import ByteOrder


class TracedText:
    """Words the raw bytes of samples; equal bytes of a batch are worded once."""

    def __init__(self, session: Session) -> None:
        tracing: Any = session.features.get("tracing_data") or {}
        self._formats, self._order = tracing.get("formats", {}), cast("ByteOrder", session.byte_order)
        self._printers: dict[int, Callable[[Any], str]] = {}

    def of(self, event: Event, raw: Ragged) -> tuple[list[str], I64]:
        """Distinct texts of samples of an event, and (n,) the text of each; "" where its format was not recorded."""
        known = self._formats.get(str(event.config))
        if known is None:
            return [""], np.zeros(len(raw), np.int64)
        distinct = RaggedInterner(np.uint8)
        row = distinct.number_rows(raw)
        if event.config not in self._printers:
            self._printers[event.config] = _printer(known["print"])
        printer = self._printers[event.config]
        entries = distinct.table().rows()
        return [printer(decode_fields(known["fields"], entry.tobytes(), self._order)) for entry in entries], row


def _printer(form: str) -> Callable[[Any], str]:
    try:
        return compile_format(form)
    except PrintFormatError:
        return field_text
