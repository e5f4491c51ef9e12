"""Reads build ids from ELF notes: of files, of /sys/kernel/notes, and of the segments of a vmcore or kcore.

Source of truth: the System V ABI, "Note Section"; include/linux/buildid.h and lib/buildid.c, by which the kernel reads
them.
"""

import struct

_NT_GNU_BUILD_ID = 3
_LONGEST_BUILD_ID = 64


def gnu_build_id(notes: bytes, byte_order: str, alignment: int = 4) -> bytes:
    """Return the first GNU build id in a sequence of notes; b"" if there is none before the end or a damaged note.

    ::

        namesz descsz type | name, padded to 4 | descriptor, padded     (8 where the section is aligned to 8)
    """
    align = 8 if alignment == 8 else 4
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from(byte_order + "III", notes, at)
        start = at + 12 + name_size
        start = -(-start // align) * align
        if start + size > len(notes):
            return b""
        is_gnu = notes[at + 12 : at + 12 + name_size] == b"GNU\0"
        if is_gnu and kind == _NT_GNU_BUILD_ID and 0 < size <= _LONGEST_BUILD_ID:
            return notes[start : start + size]
        at = -(-(start + size) // align) * align
    return b""


def unpadded(build_id: bytes) -> bytes:
    """Return a recorded build id without the zeros that perf pads it with to 20 bytes (util/build-id.c)."""
    for size in (8, 16):
        if len(build_id) == 20 and build_id[:size].strip(b"\0") and not build_id[size:].strip(b"\0"):
            return build_id[:size]
    return build_id


def same_build_id(recorded: bytes, found: bytes) -> bool:
    """Return whether a file has the recorded build id, ignoring trailing zeros (util/dso.c dso__build_id_equal)."""
    return bool(found) and recorded.rstrip(b"\0") == found.rstrip(b"\0")
