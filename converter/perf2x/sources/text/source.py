"""Kind of input for text, such as the output of ``perf script``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from perf2x.kernel.input_source import Source, SourceKind

if TYPE_CHECKING:
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.reader.containers.input_file import InputFile


def _is_supported(head: bytes) -> bool:
    from perf2x.sources.text.read_text import text_kind

    return text_kind(head) is not None


def _open(
    file: "InputFile", name: str, diagnostics: "Diagnostics", progress: Callable[[int, int], None] | None
) -> Source:
    from perf2x.sources.text.text_recording import TextRecording

    return TextRecording(file, name, diagnostics, progress)


TEXT = SourceKind(_is_supported, _open)
