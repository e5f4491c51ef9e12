"""Text of tracepoints' samples, by the formats that the recording holds."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.interner import RaggedInterner
from perf2x.base.columnar.ragged import Ragged
from perf2x.emitters.encoding.text_chunks import chunk_array
from perf2x.model.printable_text import printable
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

    def column(self, event: Event, raw: Ragged) -> AnyArray:
        """(n,) text of each sample of an event; nothing where its format was not recorded."""
        known = self._formats.get(str(event.config))
        distinct = RaggedInterner(raw.values.dtype)
        row = distinct.number_rows(raw)
        if known is None:
            return chunk_array([b""])[row * 0]
        if event.config not in self._printers:
            self._printers[event.config] = _printer(known["print"])
        printer = self._printers[event.config]
        texts = (
            printable(printer(decode_fields(known["fields"], entry.tobytes(), self._order)))
            for entry in distinct.table().rows()
        )
        return chunk_array([text.encode() for text in texts])[row]


def _printer(form: str) -> Callable[[Any], str]:
    try:
        return compile_format(form)
    except PrintFormatError:
        return field_text
