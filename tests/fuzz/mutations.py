"""Mutations of bytes: some know the structure of perf.data, some that of text; all take a random generator."""

import struct
from collections.abc import Callable
from random import Random

Mutation = Callable[[bytearray, Random], None]
"""Changes the bytes in place."""

EXTREMES = (
    0,
    1,
    7,
    8,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 8,
    2**64 - 1,
)
RECORD_TYPES = (*range(1, 24), *range(64, 90), 0, 255, 2**32 - 1)
HOSTILE_TEXTS = (
    b"\x1b]0;x\x07",
    b"\xff\xfe\x80",
    b"\xe2\x80\xae",
    b"../../../../etc/passwd",
    b"a" * 300,
    b"\n\r\0",
    b";;% ",
)


def flip_bits(data: bytearray, chance: Random) -> None:
    for _ in range(chance.choice((1, 1, 3, 30))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def set_number(data: bytearray, chance: Random) -> None:
    """Replace an aligned number of two, four or eight bytes by an extreme value."""
    size = chance.choice((2, 4, 8, 8))
    if len(data) < size:
        return
    at = chance.randrange(len(data) // size) * size
    _put(data, at, size, chance.choice(EXTREMES), chance.choice(("little", "big")))


def nudge_number(data: bytearray, chance: Random) -> None:
    """Change a small number, which may be a count or a size, by a little or a lot."""
    words = [at for at in range(0, len(data) - 8, 8) if 0 < int.from_bytes(data[at : at + 8], "little") < 4096]
    if words:
        at = chance.choice(words)
        value = int.from_bytes(data[at : at + 8], "little") + chance.choice((-8, -1, 1, 8, 256, 2**20, 2**40))
        _put(data, at, 8, value, "little")


def truncate(data: bytearray, chance: Random) -> None:
    del data[chance.randrange(len(data)) :]


def double_block(data: bytearray, chance: Random) -> None:
    start, stop = _span(data, chance)
    data[stop:stop] = data[start:stop]


def drop_block(data: bytearray, chance: Random) -> None:
    start, stop = _span(data, chance)
    del data[start:stop]


def swap_blocks(data: bytearray, chance: Random) -> None:
    start, stop = _span(data, chance)
    middle = (start + stop) // 2
    data[start:stop] = data[middle:stop] + data[start:middle]


def replace_text(data: bytearray, chance: Random) -> None:
    """Overwrite a run of letters with characters that terminals, parsers or file systems may mishandle."""
    runs = [at for at in range(0, len(data) - 8, 8) if data[at : at + 4].isalpha()]
    if runs:
        at, text = chance.choice(runs), chance.choice(HOSTILE_TEXTS)
        stop = min(at + len(text), len(data))
        data[at:stop] = text[: stop - at]


def header_field(data: bytearray, chance: Random) -> None:
    """Falsify the file header: sizes and offsets of attributes, data and features."""
    if len(data) >= 104:
        _put(data, chance.randrange(13) * 8, 8, chance.choice((*EXTREMES, len(data), len(data) - 8, 104)), _order(data))


def record_size(data: bytearray, chance: Random) -> None:
    if records := records_of(data):
        at, size = chance.choice(records)
        _put(data, at + 6, 2, chance.choice((0, 4, 8, size - 8, size + 8, size + 1, 65528, 65535)), _order(data))


def record_type(data: bytearray, chance: Random) -> None:
    if records := records_of(data):
        _put(data, chance.choice(records)[0], 4, chance.choice(RECORD_TYPES), _order(data))


def record_field(data: bytearray, chance: Random) -> None:
    """Put an extreme value into a word, or half a word, of a record's body."""
    if records := [record for record in records_of(data) if record[1] >= 16]:
        at, size = chance.choice(records)
        width = chance.choice((4, 8))
        _put(data, at + 8 + chance.randrange((size - 8) // width) * width, width, chance.choice(EXTREMES), _order(data))


def double_record(data: bytearray, chance: Random) -> None:
    if records := records_of(data):
        at, size = chance.choice(records)
        _resize(data, at, data[at : at + size] * chance.choice((2, 2, 50)), size)


def drop_record(data: bytearray, chance: Random) -> None:
    if records := records_of(data):
        at, size = chance.choice(records)
        _resize(data, at, b"", size)


def swap_records(data: bytearray, chance: Random) -> None:
    records = records_of(data)
    if len(records) > 1:
        (first, size), (second, other) = sorted(chance.sample(records, 2))
        data[first : second + other] = (
            data[second : second + other] + data[first + size : second] + data[first : first + size]
        )


def damage_line(data: bytearray, chance: Random) -> None:
    """Damage text with a row per line: an extreme field; a line doubled, split, joined or made very long."""
    lines = bytes(data).split(b"\n")
    row = chance.randrange(len(lines))
    words = lines[row].split(b" ")
    words[chance.randrange(len(words))] = chance.choice((b"", b"-1", b"f" * 16, b"f" * 40, b"0x", *HOSTILE_TEXTS))
    lines[row] = chance.choice((b" ".join(words), lines[row] * 2, lines[row] + b"\n" + lines[row], b"x" * 70000))
    data[:] = b"\n".join(lines)


BINARY: tuple[Mutation, ...] = (
    flip_bits, set_number, nudge_number, truncate, double_block, drop_block, swap_blocks, replace_text,
)  # fmt: skip
RECORDING: tuple[Mutation, ...] = (
    *BINARY, header_field, record_size, record_type, record_field, record_field, record_field, double_record,
    drop_record, swap_records,
)  # fmt: skip
TEXT: tuple[Mutation, ...] = (flip_bits, truncate, double_block, drop_block, damage_line, damage_line, damage_line)


def mutated(data: bytes, mutations: tuple[Mutation, ...], chance: Random) -> bytes:
    """Return a damaged copy: mostly one change, sometimes several."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if changed:
            chance.choice(mutations)(changed, chance)
    return bytes(changed)


def records_of(data: bytes | bytearray) -> list[tuple[int, int]]:
    """Return (offset, size) of records in a perf.data file or pipe, as far as their sizes are consistent."""
    order = "<" if _order(data) == "little" else ">"
    if len(data) < 16:
        return []
    size = struct.unpack_from(order + "Q", data, 8)[0]
    at, stop = (16, len(data)) if size == 16 or len(data) < 56 else struct.unpack_from(order + "QQ", data, 40)
    stop = len(data) if size == 16 or len(data) < 56 else min(at + stop, len(data))
    found = []
    while at + 8 <= stop and len(found) < 100_000:
        length = struct.unpack_from(order + "H", data, at + 6)[0]
        if length < 8 or at + length > stop:
            break
        found.append((at, length))
        at += length
    return found


def _order(data: bytes | bytearray) -> str:
    return "big" if data[:8] == b"2ELIFREP" else "little"


def _put(data: bytearray, at: int, size: int, value: int, order: str) -> None:
    if at >= 0 and at + size <= len(data):
        data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "big" if order == "big" else "little")


def _resize(data: bytearray, at: int, text: bytes | bytearray, size: int) -> None:
    """Replace a record by ``text``, and update the size of the data in a file's header (a pipe has none)."""
    data[at : at + size] = text
    order = "big" if _order(data) == "big" else "little"
    if len(data) >= 56 and int.from_bytes(data[8:16], order) == 104:
        told = int.from_bytes(data[48:56], order) + len(text) - size
        _put(data, 48, 8, told, order)


def _span(data: bytearray, chance: Random) -> tuple[int, int]:
    start = chance.randrange(len(data)) // 8 * 8
    return start, min(len(data), start + chance.choice((8, 64, 512, 4096)))
