"""Finds the sequences of a line program that cover given addresses, without running the program.

A line table has a sequence for each section of code, often thousands, of which a profile hits few. Matching
instructions with a regular expression takes a fifth of the time of running them; a program that does not match is run
as a whole. Source of truth: DWARF 5, section 6.2.5.
"""

import re
from functools import lru_cache
from itertools import compress

import numpy as np

from perf2x.base.binaries.dwarf.line_instructions import Machine
from perf2x.base.columnar import U64, as_uint64, searchsorted

_STANDARD = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
"""Operand counts of the opcodes, from opcode 1 on."""
_LONGEST = 24
"""Maximum bytes of an extended instruction; compilers write at most nine."""


def sequences_at(machine: Machine, program: bytes, address: U64) -> bytes:
    """Return the sequences that may contain the addresses: for each address, those with the highest start up to it.

    Returns b"" if they cannot be found: the program has other instructions, or a sequence sets its address twice.
    """
    base, size = machine.opcode_base, machine.address_size
    is_standard = base in (10, 13) and size in (4, 8) and machine.operands == _STANDARD[: base - 1]
    pattern = _pattern(base, size) if is_standard else None
    parts, starts, at = [], [], 0
    while pattern is not None and (found := pattern.match(program, at)):
        parts.append(found[0])
        starts.append(found[1])
        at = found.end()
    if at < len(program):
        return b""
    start = as_uint64(np.frombuffer(b"".join(starts), f"{machine.byte_order}u{size}"))
    sorted_starts = np.sort(start)
    row = searchsorted(sorted_starts, address, "right") - 1
    return b"".join(compress(parts, np.isin(start, sorted_starts[row[row >= 0]]).tolist()))


@lru_cache(maxsize=4)
def _pattern(base: int, size: int) -> re.Pattern[bytes]:
    """Compile a pattern for a sequence that sets its address once, before its first row; the group is that address."""
    number = rb"[\x80-\xff]*+[\x00-\x7f]"
    plain, numbered = (rb"\x06\x07", rb"\x03\x04\x05") if base == 10 else (rb"\x06\x07\x0a\x0b", rb"\x03\x04\x05\x0c")
    others = b"|".join(rb"\x%02x[^\x01\x02].{%d}" % (length, length - 1) for length in range(1, _LONGEST))
    quiet = rb"(?:[%b]++|[%b]%b)*+" % (plain, numbered, number)
    simple = rb"[\x01\x08%b\x%02x-\xff]*+" % (plain, base)
    others = rb"(?:%b(?:[\x02%b]%b|\x09..|\x00(?:%b)))*+%b" % (simple, numbered, number, others, simple)
    address = rb"\x00\x%02x\x02(.{%d})" % (size + 1, size)
    return re.compile(rb"%b%b%b\x00\x01\x01" % (quiet, address, others), re.DOTALL)
