"""The page around the data: HTML, style and scripts of emitters/flame/page/ as one file, the profile inside it as text.

Separate from html.py because the difference of two profiles (diff_page.py) is shown by the same page.
"""

import base64
import html
import io
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import BinaryIO

from perf2x.base.files.background_writer import BackgroundGzipWriter
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.model.printable_text import printable

_SCRIPTS = (
    "view_state.js",
    "trees.js",
    "data.js",
    "bursts.js",
    "compare.js",
    "layout.js",
    "moments.js",
    "lanes.js",
    "strips.js",
    "draw.js",
    "page.js",
    "boxes.js",
    "numbers.js",
    "choices.js",
    "range.js",
    "heat.js",
    "focus.js",
    "columns.js",
    "table.js",
    "changes.js",
    "words.js",
    "code.js",
    "panels.js",
    "actions.js",
    "picture.js",
    "input.js",
)
_COMMENT = re.compile(
    r'^"use strict";\n|^ *//.*\n|/\*\* @type .*?\*/ |^ */\*\*(?:[^*]|\*(?!/))*\*/ *\n?|(?<=[;,{}\[]) // [^"`\n]*$|^ +',
    re.MULTILINE,
)
"""Comments and indentation: types and reasons are for those who work on the page. No text in it spans lines."""
_TOKENS = re.compile(
    r" ?(?:=>|[=!]==|[<>+*-]=|&&|\|\||\?\?|[=<>?:,;{}*]) ?| / |(?<![+-]) [+-] (?![+-])|"
    r"\b(?:if|for|while|return|let|of) (?=[(\[])|(?<=\)) "
)
"""Signs that need no space around them; / only where it divides, + and - not beside another one."""
_ARROW = re.compile(r"\((\w+)\)=>")
_AGAIN = re.compile(r";\nlet\b ?")
_DECLARATIONS = re.compile(r"^(?:let\b.*;\n)+let\b ?", re.MULTILINE)
_SHORT = {"true": "!0", "false": "!1", "undefined": "void 0", "0": ""}
_WORDS = re.compile(r"\b(?:true|false|undefined)\b|(?<![\w.])0(?=\.\d)")
_CONST = re.compile(r"\bconst ")
"""A declaration that ``let`` makes with less; that nothing assigns to it is checked when the scripts are."""
_TEXT = re.compile(
    r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:\$\{(?:[^`{}]|`[^`]*`)*\}|[^`])*`|"""
    r"(?<=[(,=:?!&|])(?: ?)/(?:[^/\\[ *\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])*/"
)
"""Texts, templates with others inside, and patterns."""
_CUT = "\0"
"""Stands in the place of a text."""
_FILLED = re.compile(r"(?<=\$\{)[^`{}]*(?=\})")
_GOES_ON = re.compile(r"(?<=[;,{}(\[])\n|;(?=\n?\})|\n(?=\})")
"""Ends of lines that end no statement, or one that says so, and the sign that ends a block's last statement."""
_SPACE = re.compile(r"\s*([{};,])\s*|(?<=:) ")
"""Around what separates the parts of a style."""
_BYTES_PER_LINE = 57 * 1024


def write_page(title: str, pieces: Iterator[bytes], out: BinaryIO, *, compress: bool) -> None:
    """Write the whole file; ``pieces`` are one JSON object, as emitters/flame/page/data.js reads it."""
    head, tail = _page(title)
    out.write(head)
    for piece in _packed(pieces) if compress else (_inside_script(piece) for piece in pieces):
        out.write(piece)
    out.write(tail)


def field(name: str, value: object) -> bytes:
    """One member of the object, with the comma that separates it from the next."""
    return json_bytes(name) + b":" + json_bytes(value) + b","


def table(name: str, pieces: Iterable[bytes]) -> bytes:
    """Encode a member of the page's data that is made in pieces."""
    return json_bytes(name) + b":" + b"".join(pieces) + b","


def _page(title: str) -> tuple[bytes, bytes]:
    """The page's text before and behind the data."""
    folder = files("perf2x.emitters.flame") / "page"
    parts = {
        "TITLE": html.escape(printable(title)),
        "STYLE": _SPACE.sub(r"\1", (folder / "page.css").read_text("utf-8")).replace(";}", "}"),
        "SCRIPT": '"use strict";' + "".join(_light((folder / name).read_text("utf-8")) for name in _SCRIPTS),
    }
    page = re.sub(r"\n +", "\n", (folder / "page.html").read_text("utf-8"))
    sides = page.split("{{DATA}}")
    head, tail = (re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], side).encode() for side in sides)
    return head, tail


@cache  # the library may write many pages
def _light(script: str) -> str:
    """A script without what browsers pass over."""
    lines = "\n".join(filter(None, _tight(_COMMENT.sub("", script)).splitlines()))
    return _GOES_ON.sub("", _DECLARATIONS.sub(lambda found: _AGAIN.sub(",", found.group()), lines))


def _tight(script: str) -> str:
    """A script without spaces around signs: its texts are cut out, and put back once it is tight."""
    texts: list[str] = []

    def cut(found: re.Match[str]) -> str:
        text = found.group()
        texts.append(_FILLED.sub(lambda inside: _tight(inside.group()), text) if "${" in text else text)
        return _CUT

    parts = _tight_code(_TEXT.sub(cut, script)).split(_CUT)
    return "".join(chain.from_iterable(zip(parts, [*texts, ""], strict=True)))


def _tight_code(part: str) -> str:
    short = _WORDS.sub(lambda found: _SHORT[found.group()], _CONST.sub("let ", part))
    return _ARROW.sub(r"\1=>", _TOKENS.sub(lambda found: found.group().strip(), short))


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks of the gzipped data as lines of base64."""
    packed = io.BytesIO()
    with BackgroundGzipWriter(packed) as out:
        out.writelines(pieces)
    for start in range(0, packed.tell(), _BYTES_PER_LINE):
        yield base64.b64encode(packed.getbuffer()[start : start + _BYTES_PER_LINE]) + b"\n"


def _inside_script(piece: bytes) -> bytes:
    """JSON that cannot end the script element around it."""
    return piece.replace(b"<", b"\\u003c")
