"""Present a jitdump to the unwinder as an ELF file in memory: its code in place, followed by the runtime's .eh_frame.

``perf inject --jit`` writes one ELF file per piece of code for that (tools/perf/util/genelf.c jit_write_elf); one
image of the whole dump serves as well, with file offsets as addresses. Runtimes that keep frame pointers are unwound by
them; their call frame information is for the instructions before a frame is set up and after it is removed.
"""

import struct
from collections.abc import Sequence

from perf2x.binary.elf.file import ElfObject, open_elf
from perf2x.symbolize.sources.jitdump import JitCode
from perf2x.tables.errors import ObjectError

PCREL_SDATA4 = 0x1B
"""DW_EH_PE_pcrel | DW_EH_PE_sdata4, the usual encoding of addresses in an FDE."""
_CIE = b"\x01zR\0"
_PROGBITS, _STRTAB, _ALLOC, _CODE = 1, 3, 2, 6
_NAMES = b"\0.text\0.eh_frame\0.shstrtab\0"


def unwinding_image(data: bytes, machine: int, codes: Sequence[JitCode], name: str) -> ElfObject | None:
    """Make the image of a dump (``data``, ELF ``machine`` number); None without call frame information."""
    at = -(-len(data) // 16) * 16
    frames = b""
    for code in {code.offset: code for code in codes if code.unwinding}.values():
        frames += _frame_entry(code, at + len(frames))
    if not frames:
        return None
    body = data[64:].ljust(at - 64, b"\0") + frames + b"\0\0\0\0"
    names_at = 64 + len(body)
    tables = names_at + len(_NAMES)
    tables += -tables % 8
    body = (body + _NAMES).ljust(tables - 64, b"\0")
    program = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, tables, tables, 4096)
    sections = bytes(64) + _section_header(1, _PROGBITS, _CODE, 0, at)
    sections += _section_header(7, _PROGBITS, _ALLOC, at, len(frames) + 4) + _section_header(
        17, _STRTAB, 0, names_at, len(_NAMES)
    )
    # the ELF header replaces the headers of the dump and of the first record, where there is no code
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine & 0xFFFF, 1, 0, tables, tables + 56, 0, 64, 56, 1, 64, 4, 3)
    try:
        return open_elf(header + body + program + sections, name)
    except ObjectError:
        return None


def _section_header(name: int, kind: int, flags: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, offset if flags else 0, offset, size, 0, 0, 8, 0)


def _frame_entry(code: JitCode, at: int) -> bytes:
    """CIE and FDE of one piece of code, relocated to offset ``at``; b"" if they are encoded in an unusual way.

    The first FDE is the code's. Its start is written anew, as the dump does not state the address it was meant for.
    """
    blob = code.unwinding
    first = int.from_bytes(blob[:4], "little") + 4
    second = int.from_bytes(blob[first : first + 4], "little") + 4
    cie, fde = blob[:first], blob[first : first + second]
    usual = cie[4:12] == b"\0\0\0\0" + _CIE and len(fde) == second >= 17 and first % 4 == second % 4 == 0
    if not usual or cie[12:17].find(bytes([1, PCREL_SDATA4])) < 0:
        return b""
    start = code.offset - (at + first + 8)
    if not (start >= -(2**31) and code.size < 2**32):
        return b""
    return cie + fde[:4] + struct.pack("<IiI", first + 4, start, code.size) + fde[16:]
