"""Kernel symbols from /proc/kallsyms or a copy of it, parsed as columns.

Source of truth: kernel/kallsyms.c s_show for the format; tools/perf/util/symbol.c kallsyms__parse,
map__process_kallsym_symbol and symbols__fixup_end for which symbols count and where they end.
"""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U64, Bools
from perf2x.model.errors import ObjectError
from perf2x.objects.inflate import inflate_file
from perf2x.objects.symtab import STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_OBJECT
from perf2x.symbolize.lookup import PAGE, SymbolColumns, SymbolIndex

NEWLINE, SPACE, TAB = 0x0A, 0x20, 0x09
LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Kallsyms:
    """Every symbol that perf would consider, in the file's order."""

    start: U64
    letter: U8
    """The type as nm prints it, upper or lower case."""
    name_start: I64
    name_end: I64
    module: I64
    """Index into ``modules``, −1 for the kernel itself."""
    modules: list[str]
    text: bytes

    def name(self, row: int) -> str:
        """The symbol's name without its module."""
        return self.text[int(self.name_start[row]) : int(self.name_end[row])].decode(errors="surrogateescape")

    def address_of(self, name: str) -> int | None:
        """Where a symbol of the kernel itself stands; None when there is no such symbol."""
        wanted = name.encode(errors="surrogateescape")
        same = (self.name_end - self.name_start == len(wanted)) & (self.module < 0)
        for row in np.flatnonzero(same):
            at = int(self.name_start[row])
            if self.text[at : at + len(wanted)] == wanted:
                return int(self.start[row])
        return None

    def index(self) -> SymbolIndex:
        """The symbols ready to be asked, rows as here."""
        upper = (self.letter >= ord("A")) & (self.letter <= ord("Z"))
        binding = np.where(self.letter == ord("W"), STB_WEAK, np.where(upper, STB_GLOBAL, STB_LOCAL))
        kind = np.where(np.isin(self.letter & 0xDF, (ord("T"), ord("W"))), STT_FUNC, STT_OBJECT)
        columns = self.start, self._ends(), kind.astype(np.uint8), binding.astype(np.uint8), self.name
        return SymbolIndex(SymbolColumns(*columns))

    def _ends(self) -> U64:
        """Before a module begins or ends, a symbol reaches to the end of the next page; others are left open."""
        order = np.argsort(self.start, kind="stable")
        module = self.module[order]
        border = np.append(module[1:] != module[:-1], False) if len(order) else np.zeros(0, np.bool_)
        end = self.start.copy()
        rows = order[border]
        page = np.uint64(PAGE)
        end[rows] = (self.start[rows] + page + page - np.uint64(1)) // page * page
        return end


def read_kallsyms(path: Path) -> Kallsyms:
    """Parse a kallsyms file, plain or compressed; ObjectError when it is none, or its addresses are hidden."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ObjectError(f"{path}: {error.strerror or error}") from None
    return parse_kallsyms(inflate_file(data), str(path))


def parse_kallsyms(text: bytes, name: str) -> Kallsyms:
    """Lines ``ffffffff81000000 T _stext`` or, tab-separated, ``… t func\\t[module]``; other lines are passed over."""
    raw = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(raw == NEWLINE).astype(np.int64)
    if not len(raw) or raw[-1] != NEWLINE:
        ends = np.append(ends, len(raw))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    width = text.find(b" ")
    if not 1 <= width <= 16:
        raise ObjectError(f"{name}: no kallsyms file, its first line is {text[:40]!r}")
    starts, ends = _regular(raw, starts, ends, width)
    address, valid = _hex_column(raw, starts, width)
    letter = raw[starts + width + 1]
    wanted = valid & np.isin(letter & 0xDF, np.frombuffer(b"TWDB", np.uint8)) & (raw[starts + width + 3] != ord("$"))
    starts, ends, address, letter = starts[wanted], ends[wanted], address[wanted], letter[wanted]
    if len(address) == 0:
        raise ObjectError(f"{name}: no symbols in it")
    if not address.any():
        raise ObjectError(f"{name}: every address is 0, they were hidden (kernel.kptr_restrict)")
    name_end, module, modules = _modules(raw, text, starts, ends)
    return Kallsyms(address, letter, starts + width + 3, name_end, module, modules, text)


def _regular(raw: U8, starts: I64, ends: I64, width: int) -> tuple[I64, I64]:
    """The lines that have their spaces where the first line has them, and a name behind."""
    fits = ends - starts > width + 3
    starts, ends = starts[fits], ends[fits]
    right: Bools = (raw[starts + width] == SPACE) & (raw[starts + width + 2] == SPACE)
    return starts[right], ends[right]


def _hex_column(raw: U8, starts: I64, width: int) -> tuple[U64, Bools]:
    """``width`` hexadecimal digits from each start, and which of them are all digits."""
    digits = np.full(256, 255, np.uint8)
    for value, letter in enumerate("0123456789abcdef"):
        digits[ord(letter)] = digits[ord(letter.upper())] = value
    digit = np.zeros((len(starts), 16), np.uint8)
    digit[:, 16 - width :] = digits[sliding_window_view(raw, width)[starts]]
    address = (digit[:, ::2] << 4 | digit[:, 1::2] & 15).view(">u8").astype(np.uint64)
    valid: Bools = np.all(digit < 16, axis=1)
    return address.reshape(-1), valid


def _modules(raw: U8, text: bytes, starts: I64, ends: I64) -> tuple[I64, I64, list[str]]:
    """Where names end, which module each symbol belongs to (−1: none), and the modules' names."""
    tabs = np.flatnonzero(raw == TAB)
    following = np.searchsorted(tabs, starts)
    tab = np.append(tabs, len(raw))[following]
    has_module = tab < ends
    module, names = np.full(len(starts), -1, np.int64), dict[bytes, int]()
    for row in np.flatnonzero(has_module):
        word = text[int(tab[row]) + 1 : int(ends[row])].strip().strip(b"[]")
        module[row] = names.setdefault(word, len(names))
    return np.where(has_module, tab, ends), module, [word.decode(errors="surrogateescape") for word in names]
