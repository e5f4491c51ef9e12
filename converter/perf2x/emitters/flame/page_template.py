"""The page around the data: HTML, style and scripts of emitters/flame/page/ in one file.

Scripts and data may be compressed, in base64; page/unpack.js decompresses them in the browser.
"""

import base64
import html
import io
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import BinaryIO

from perf2x.base.files.background_writer import BackgroundGzipWriter
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.model.printable_text import printable

_COMPRESSED_PARTS = ("DATA", "SCRIPT")
_BYTES_PER_LINE = 57 * 1024
"""Compressed bytes in a line of base64: a multiple of 3, so that lines have no padding."""


def write_page(title: str, data: Iterator[bytes], out: BinaryIO, *, compress: bool) -> None:
    """Write the whole file; ``data`` are pieces of one JSON object, which page/data.js reads."""
    folder = files("perf2x.emitters.flame") / "page"
    parts: dict[str, Iterator[bytes]] = {
        "TITLE": iter([html.escape(printable(title)).encode()]),
        "STYLE": iter([(folder / "page.css").read_bytes()]),
        "UNPACK": iter([(folder / "unpack.js").read_bytes()]),
        "SCRIPT": (file.read_bytes() for file in sorted(folder.iterdir(), key=str) if file.name.endswith(".js")),
        "DATA": data if compress else map(_inside_script, data),
    }
    # re.split returns HTML and the names of parts in turn
    for index, piece in enumerate(re.split(r"\{\{(\w+)\}\}", (folder / "page.html").read_text("utf-8"))):
        if index % 2 == 0:
            out.write(piece.encode())
        else:
            out.writelines(_compressed(parts[piece]) if compress and piece in _COMPRESSED_PARTS else parts[piece])


def field(name: str, value: object) -> bytes:
    """Encode one member of the data's JSON object, followed by a comma."""
    return json_bytes(name) + b":" + json_bytes(value) + b","


def table(name: str, pieces: Iterable[bytes]) -> bytes:
    """Encode one member whose value is ``pieces`` of JSON, followed by a comma."""
    return json_bytes(name) + b":" + b"".join(pieces) + b","


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    compressed = io.BytesIO()
    with BackgroundGzipWriter(compressed) as out:
        out.writelines(pieces)
    for start in range(0, compressed.tell(), _BYTES_PER_LINE):
        yield base64.b64encode(compressed.getbuffer()[start : start + _BYTES_PER_LINE]) + b"\n"


def _inside_script(piece: bytes) -> bytes:
    """Escape JSON so that it cannot end the script element around it."""
    return piece.replace(b"<", b"\\u003c")
