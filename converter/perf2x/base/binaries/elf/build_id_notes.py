"""Reads build ids from notes, and compares them.

Source of truth: the System V ABI, "Note Section"; include/linux/buildid.h and lib/buildid.c.
"""

import struct

_NT_GNU_BUILD_ID = 3
_MAX_BUILD_ID_SIZE = 64


def gnu_build_id(notes: bytes, byte_order: str, alignment: int = 4) -> bytes:
    """Return the first GNU build id in a sequence of notes; b"" if there is none.

    A note has a header (namesz, descsz, type), a name and a descriptor. Descriptors and notes begin at multiples of 4
    bytes, or of 8 if ``alignment`` is 8. ``alignment`` is that of the section or segment.
    """
    padding = 8 if alignment == 8 else 4
    note_offset = 0
    while note_offset + 12 <= len(notes):
        name_size, descriptor_size, note_type = struct.unpack_from(byte_order + "III", notes, note_offset)
        descriptor_offset = note_offset + 12 + name_size
        descriptor_offset = -(-descriptor_offset // padding) * padding
        if descriptor_offset + descriptor_size > len(notes):
            return b""
        is_gnu = notes[note_offset + 12 : note_offset + 12 + name_size] == b"GNU\0"
        if is_gnu and note_type == _NT_GNU_BUILD_ID and 0 < descriptor_size <= _MAX_BUILD_ID_SIZE:
            return notes[descriptor_offset : descriptor_offset + descriptor_size]
        note_offset = -(-(descriptor_offset + descriptor_size) // padding) * padding
    return b""


def strip_build_id_padding(build_id: bytes) -> bytes:
    """Remove the zeros with which perf pads a build id of 8 or 16 bytes to 20 bytes (util/build-id.c)."""
    for size in (8, 16):
        if len(build_id) == 20 and build_id[:size].strip(b"\0") and not build_id[size:].strip(b"\0"):
            return build_id[:size]
    return build_id


def same_build_id(recorded: bytes, found: bytes) -> bool:
    """Return whether two build ids are equal apart from trailing zeros (util/dso.c dso__build_id_equal).

    The result is False if ``found`` is empty.
    """
    return bool(found) and recorded.rstrip(b"\0") == found.rstrip(b"\0")
