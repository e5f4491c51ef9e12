"""Reads and compares build ids: those in the notes of ELF files, in /sys/kernel/notes, in a vmcore or kcore.

Source of truth: the System V ABI, "Note Section"; include/linux/buildid.h and lib/buildid.c, by which the kernel reads
them.
"""

import struct

_NT_GNU_BUILD_ID = 3
_MAX_BUILD_ID_SIZE = 64


def gnu_build_id(notes: bytes, byte_order: str, alignment: int = 4) -> bytes:
    """Return the first GNU build id in a sequence of notes; b"" if there is none before the end or a damaged note.

    ``alignment`` is that of the section or segment. A note has these fields, the last two padded to a multiple of 4
    bytes, or of 8 if ``alignment`` is 8::

        namesz, descsz, type, name, descriptor
    """
    padding = 8 if alignment == 8 else 4
    note = 0  # offset of the note; ``descriptor`` is that of its descriptor
    while note + 12 <= len(notes):
        name_size, size, note_type = struct.unpack_from(byte_order + "III", notes, note)
        descriptor = note + 12 + name_size
        descriptor = -(-descriptor // padding) * padding
        if descriptor + size > len(notes):
            return b""
        is_gnu = notes[note + 12 : note + 12 + name_size] == b"GNU\0"
        if is_gnu and note_type == _NT_GNU_BUILD_ID and 0 < size <= _MAX_BUILD_ID_SIZE:
            return notes[descriptor : descriptor + size]
        note = -(-(descriptor + size) // padding) * padding
    return b""


def unpadded(build_id: bytes) -> bytes:
    """Return a recorded build id without the zeros with which perf pads it to 20 bytes (util/build-id.c).

    Only build ids of 8 and 16 bytes are recognized.
    """
    for size in (8, 16):
        if len(build_id) == 20 and build_id[:size].strip(b"\0") and not build_id[size:].strip(b"\0"):
            return build_id[:size]
    return build_id


def same_build_id(recorded: bytes, found: bytes) -> bool:
    """Return whether the build id that was found in a file is the recorded one; False if none was found.

    Trailing zeros are ignored (util/dso.c dso__build_id_equal).
    """
    return bool(found) and recorded.rstrip(b"\0") == found.rstrip(b"\0")
