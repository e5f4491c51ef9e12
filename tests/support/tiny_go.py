"""Writes tables of Go functions in each of their layouts, so that tests need no Go."""

import struct
from dataclasses import dataclass

MAGICS = {"1.2": 0xFFFFFFFB, "1.16": 0xFFFFFFFA, "1.18": 0xFFFFFFF0, "1.20": 0xFFFFFFF1}


@dataclass(frozen=True)
class TinyFunction:
    """``lines`` and ``files`` are (value, instructions) of ranges, one behind the other; files count from 0."""

    name: str
    entry: int
    lines: tuple[tuple[int, int], ...]
    files: tuple[tuple[int, int], ...]
    start_line: int = 0
    inlined: tuple[tuple[str, int], ...] = ()
    """(name, start line) of functions that were inlined into this one; written in the layout of Go 1.20 only."""


def variable_length(number) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def values(ranges) -> bytes:
    out, last = b"", -1
    for value, count in ranges:
        change = value - last
        out += variable_length(change << 1 if change >= 0 else ~(change << 1)) + variable_length(count)
        last = value
    return out + b"\0"


def tiny_go_table(
    functions, end, filenames, version="1.20", word=8, order="<", quantum=1, text=0, stated_text=None, trees=None
) -> bytes:
    """``end``: svma behind the last function; ``stated_text``: what the header says of ``text``; ``trees`` collects
    the trees of inlined calls.
    """
    parts = {"names": b"\0", "units": b"", "files": b"", "values": b"\0"}
    at = {}
    for filename in filenames:
        parts["units"] += struct.pack(order + "I", len(parts["files"]))
        parts["files"] += filename.encode() + b"\0"
    for function in functions:
        for kind, data in (("lines", values(function.lines)), ("files", values(function.files))):
            at[function, kind] = len(parts["values"])
            parts["values"] += data
        at[function, "name"] = len(parts["names"])
        parts["names"] += function.name.encode() + b"\0"
        if trees is not None and function.inlined:
            at[function, "calls"], at[function, "tree"] = len(parts["values"]), len(trees)
            parts["values"] += values(((-1, 2), *((number, 1) for number in range(len(function.inlined)))))
            for name, line in function.inlined:
                trees += struct.pack(order + "4sIII", b"", len(parts["names"]), 0, line)
                parts["names"] += name.encode() + b"\0"
    if version == "1.2":
        return _oldest(functions, end, filenames, parts, at, word, order, quantum)
    return _newer(functions, end, parts, at, (version, word, order, quantum, text, stated_text))


def _start(version, word, order, quantum) -> bytes:
    return struct.pack(order + "IBBBB", MAGICS[version], 0, 0, quantum, word)


def _row(function, entry, name, line_at, file_at, order, word, calls=()) -> bytes:
    fields = name, 0, 0, 0, file_at, line_at, 3 if calls else 0, 0, function.start_line
    row = struct.pack(order + ("Q" if word == 8 else "I") + "9I", entry, *fields)
    more = (0, 0, calls[0], 0, 0, 0, calls[1]) if calls else ()
    return row + bytes([0, 0, 0, 4 if calls else 0]) + struct.pack(order + f"{len(more)}I", *more)


def _oldest(functions, end, filenames, parts, at, word, order, quantum) -> bytes:
    """Go 1.2: every offset counts from the table's start; of the files, number 0 is their count."""
    letter = "Q" if word == 8 else "I"
    header = 8 + word
    rows_at = header + (2 * len(functions) + 1) * word + 4
    size = word + 40
    files_at = rows_at + size * len(functions)
    texts_at = files_at + 4 * len(filenames)
    names_at = texts_at + len(parts["files"])
    values_at = names_at + len(parts["names"])
    pairs = rows = b""
    for number, function in enumerate(functions):
        pairs += struct.pack(order + letter * 2, function.entry, rows_at + size * number)
        places = (at[function, key] for key in ("name", "lines", "files"))
        name, line_at, file_at = (a + b for a, b in zip(places, (names_at, values_at, values_at), strict=True))
        rows += _row(function, function.entry, name, line_at, file_at, order, word)
    offsets = struct.unpack(order + "I" * len(filenames), parts["units"])
    table = struct.pack(order + "I" * len(filenames), len(filenames), *(texts_at + o for o in offsets[1:]))
    head = _start("1.2", word, order, quantum) + struct.pack(order + letter, len(functions))
    last = struct.pack(order + letter + "I", end, files_at)
    return head + pairs + last + rows + table + parts["files"] + parts["names"] + parts["values"]


def _newer(functions, end, parts, at, facts) -> bytes:
    version, word, order, quantum, text, stated_text = facts
    letter = "Q" if word == 8 else "I"
    narrow = version != "1.16"
    place, places, body = 8 + word * (8 if narrow else 7), [], b""
    for part in parts.values():
        places.append(place + len(body))
        body += part + b"\0" * (-len(part) % 8)
    size = (4 if narrow else word) * 2
    base = text if narrow else 0
    pairs = rows = b""
    for function in functions:
        where = size * len(functions) + size // 2 + len(rows)
        pairs += struct.pack(order + ("II" if narrow else letter * 2), function.entry - base, where)
        numbers = at[function, "name"], at[function, "lines"], at[function, "files"]
        calls = (at[function, "calls"], at[function, "tree"]) if (function, "calls") in at else ()
        rows += _row(function, function.entry - base, *numbers, order, 4 if narrow else word, calls)
    last = struct.pack(order + ("I" if narrow else letter), end - base)
    words = [len(functions), 0, *([text if stated_text is None else stated_text] if narrow else []), *places]
    head = _start(version, word, order, quantum) + struct.pack(
        order + letter * (len(words) + 1), *words, place + len(body)
    )
    return head + body + pairs + last + rows
