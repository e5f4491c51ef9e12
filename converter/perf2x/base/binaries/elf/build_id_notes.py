"""Reads and compares build ids: those in the notes of ELF files, in /sys/kernel/notes, in a vmcore or kcore.

Source of truth: the System V ABI, "Note Section"; include/linux/buildid.h and lib/buildid.c, by which the kernel reads
them.
"""

import struct

_NT_GNU_BUILD_ID = 3
_MAX_BUILD_ID_SIZE = 64


def gnu_build_id(notes: bytes, byte_order: str, alignment: int = 4) -> bytes:
    """Return the first GNU build id in a sequence of notes; b"" if there is none before the end or a damaged note.

    ``alignment``: of the section or segment with the notes. A note has these fields; the last two are padded to a
    multiple of 4 bytes, or of 8 if ``alignment`` is 8::

        namesz, descsz, type, name, descriptor
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
