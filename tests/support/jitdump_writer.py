"""Writes jitdump files record by record."""

import struct


def header(order="<", flags=0) -> bytes:
    return struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 5, 0, flags)


def record(kind, time, body, order="<") -> bytes:
    return struct.pack(order + "IIQ", kind, 16 + len(body), time) + body


def code_load(time, address, name, index, order="<", size=16) -> bytes:
    body = struct.pack(order + "IIQQQQ", 5, 5, address, address, size, index) + name.encode() + b"\0" + b"\x90" * size
    return record(0, time, body, order)


def move(time, old, new, index, size=16) -> bytes:
    return record(1, time, struct.pack("<IIQQQQQ", 5, 5, new, old, new, size, index))


def debug(address, *lines) -> bytes:
    body = b"".join(struct.pack("<Qii", at, line, 0) + name + b"\0" for at, line, name in lines)
    return record(2, 0, struct.pack("<QQ", address, len(lines)) + body)
