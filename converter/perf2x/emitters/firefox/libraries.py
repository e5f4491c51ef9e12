"""``libs`` of Firefox Profiler's format: mapped files with their build ids, by which symbol servers know them."""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import group_rows
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile.profile import Profile

_BIG_ENDIAN = frozenset({"s390", "s390x", "ppc", "ppc64", "sparc", "sparc64", "mips", "mips64", "m68k", "parisc"})
"""Machines as uname names them; those that run either way are little-endian nearly everywhere."""

_GUID_DIGITS = 32


class Libraries(Struct, frozen=True):
    """``libs``, and (mappings,) the row of each mapping's file in it, −1 for memory that is no file."""

    entries: list[dict[str, object]]
    of_mapping: I64


def libraries_of(profile: Profile) -> Libraries:
    """Return the files of all mappings: one entry for each path and build id."""
    mappings, text = profile.mappings, profile.strings
    first, place = group_rows([mappings.filename, mappings.build_id])
    names = [text[row] for row in mappings.filename[first].tolist()]
    build_ids = [text[row] for row in mappings.build_id[first].tolist()]
    arch = one_line(profile.meta.arch)
    entries: list[dict[str, object]] = []
    row = np.full(len(first), -1, np.int64)
    for at, (name, build_id) in enumerate(zip(names, build_ids, strict=True)):
        if build_id or (name.startswith("/") and not name.startswith(("//", "/memfd:"))):
            row[at] = len(entries)
            entries.append(_library(name, build_id, arch))
    return Libraries(entries, row[place])


def _library(filename: str, build_id: str, arch: str) -> dict[str, object]:
    name, path = one_line(base_name(filename)), one_line(filename)
    return {
        "arch": arch,
        "name": name,
        "path": path,
        "debugName": name,
        "debugPath": path,
        "breakpadId": _breakpad_id(build_id, arch),
        "codeId": build_id or None,
    }


def _breakpad_id(build_id: str, arch: str) -> str:
    """Return the id that Breakpad gives an ELF file: a GUID of the first 16 bytes, and the age 0; zeros for none.

    Its first three fields, of 4, 2 and 2 bytes, are numbers of the machine's byte order.
    """
    digits = build_id[:_GUID_DIGITS].ljust(_GUID_DIGITS, "0")
    if arch not in _BIG_ENDIAN:
        fields = (digits[:8], digits[8:12], digits[12:16])
        digits = "".join(bytes.fromhex(field)[::-1].hex() for field in fields) + digits[16:]
    return digits.upper() + "0"
