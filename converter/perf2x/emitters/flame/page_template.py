"""The page around the data: HTML, style and scripts of emitters/flame/page/ in one file, with the profile as text.

Scripts and data are compressed; the browser decompresses them. The module is separate from html.py because the
difference of two profiles (diff_page.py) uses the same page.
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

_PACKED = ("DATA", "SCRIPT")
_BYTES_PER_LINE = 57 * 1024


def write_page(title: str, pieces: Iterator[bytes], out: BinaryIO, *, compress: bool) -> None:
    """Write the whole file; ``pieces`` are one JSON object for emitters/flame/page/data.js."""
    folder = files("perf2x.emitters.flame") / "page"
    parts: dict[str, Iterator[bytes]] = {
        "TITLE": iter([html.escape(printable(title)).encode()]),
        "STYLE": iter([(folder / "page.css").read_bytes()]),
        "UNPACK": iter([(folder / "unpack.js").read_bytes()]),
        "SCRIPT": (one.read_bytes() for one in sorted(folder.iterdir(), key=str) if one.name.endswith(".js")),
        "DATA": pieces if compress else map(_inside_script, pieces),
    }
    for number, text in enumerate(re.split(r"\{\{(\w+)\}\}", (folder / "page.html").read_text("utf-8"))):
        if number % 2 == 0:
            out.write(text.encode())
        else:
            out.writelines(_packed(parts[text]) if compress and text in _PACKED else parts[text])


def field(name: str, value: object) -> bytes:
    """Encode one member of the object, with the comma that separates it from the next."""
    return json_bytes(name) + b":" + json_bytes(value) + b","


def table(name: str, pieces: Iterable[bytes]) -> bytes:
    """Encode a member of the page's data that is computed in pieces."""
    return json_bytes(name) + b":" + b"".join(pieces) + b","


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the gzipped input as lines of base64."""
    packed = io.BytesIO()
    with BackgroundGzipWriter(packed) as out:
        out.writelines(pieces)
    for start in range(0, packed.tell(), _BYTES_PER_LINE):
        yield base64.b64encode(packed.getbuffer()[start : start + _BYTES_PER_LINE]) + b"\n"


def _inside_script(piece: bytes) -> bytes:
    """Escape JSON so that it cannot end the script element around it."""
    return piece.replace(b"<", b"\\u003c")
