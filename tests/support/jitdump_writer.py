"""Writes jitdump files record by record."""

import struct


def header(order="<", flags=0, machine=62) -> bytes:
    return struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, machine, 0, 5, 0, flags)


def record(kind, time, body, order="<") -> bytes:
    return struct.pack(order + "IIQ", kind, 16 + len(body), time) + body


def code_load(time, address, name, index, order="<", size=16, code=b"") -> bytes:
    code = code or b"\x90" * size
    body = struct.pack(order + "IIQQQQ", 5, 5, address, address, len(code), index) + name.encode() + b"\0" + code
    return record(0, time, body, order)


def move(time, old, new, index, size=16) -> bytes:
    return record(1, time, struct.pack("<IIQQQQQ", 5, 5, new, old, new, size, index))


def debug(address, *lines) -> bytes:
    body = b"".join(struct.pack("<Qii", at, line, 0) + name + b"\0" for at, line, name in lines)
    return record(2, 0, struct.pack("<QQ", address, len(lines)) + body)


CIE = bytes.fromhex("1400000000000000017a5200017810011b0c070890010000")
FDE = bytes.fromhex("1c0000001c000000d0ffffff0c0000000044410e108602430d06430c07080000")
"""CPython 3.14's call frame information: push %rbp after 4 bytes, mov %rsp,%rbp next, pop %rbp before the last ret."""
_FRAME_HEADER = bytes.fromhex("011b033bc4ffffff01000000b8ffffffe0ffffff00000000")


def unwinding(frames=CIE + FDE, header_size=20) -> bytes:
    size = len(frames) + header_size
    body = struct.pack("<QQQ", size, header_size, size) + frames + _FRAME_HEADER[:header_size]
    return record(4, 0, body + b"\0" * (-len(body) % 8))
