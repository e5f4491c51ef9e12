"""Parses /proc/kallsyms, or a copy of it, into columns.

Source of truth: kernel/kallsyms.c s_show for the format; tools/perf/util/symbol.c kallsyms__parse,
map__process_kallsym_symbol and symbols__fixup_end for the choice of symbols and their ends.
"""

from pathlib import Path

import numpy as np

from perf2x.base.binaries.elf.decompress import inflate_file
from perf2x.base.binaries.elf.symtab import STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_OBJECT
from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    Bools,
    Frozen,
    arange,
    argsort,
    as_int64,
    begins_run,
    cumsum,
    flatnonzero,
    minus_ones,
    of_next,
    searchsorted,
)
from perf2x.base.columnar.text_columns import differs_from_previous, hex_numbers
from perf2x.base.files.read_file import read_object_file
from perf2x.base.files.temporary import shown_name
from perf2x.errors import ObjectError
from perf2x.symbolizer.symbols_by_address import PAGE, SymbolColumns, SymbolIndex

_NEWLINE, _SPACE, _TAB = 0x0A, 0x20, 0x09
_IS_SYMBOL = np.array([letter in b"TWDBtwdb" for letter in range(256)], np.bool_)
"""(256,) symbol_type__filter: True for the letters of code and data."""
_LIVEPATCH = b".klp.sym."
"""Names by which a livepatch refers to functions of other objects; the addresses are those functions'."""
_MAX_SIZE = 1 << 28
"""Size limit of a file; a kernel with all modules loaded needs a tenth of it."""


class Kallsyms(Frozen):
    """All symbols that perf would consider, in file order."""

    start: U64
    letter: U8
    """Type as nm prints it, upper or lower case."""
    name_start: I64
    name_end: I64
    module: I64
    """Index into ``modules``, −1 for the kernel itself."""
    modules: list[str]
    text: bytes

    def name(self, row: int) -> str:
        """Return the symbol's name without its module."""
        return self.text[int(self.name_start[row]) : int(self.name_end[row])].decode(errors="surrogateescape")

    def address_of(self, name: str) -> int | None:
        """Return the address of a symbol of the kernel itself; None if there is no such symbol."""
        encoded = name.encode(errors="surrogateescape")
        same = (self.name_end - self.name_start == len(encoded)) & (self.module < 0)
        for row in flatnonzero(same):
            at = int(self.name_start[row])
            if self.text[at : at + len(encoded)] == encoded:
                return int(self.start[row])
        return None

    def index(self) -> SymbolIndex:
        """The index of the symbols, with the same rows."""
        upper = (self.letter >= ord("A")) & (self.letter <= ord("Z"))
        binding = np.where(self.letter == ord("W"), STB_WEAK, np.where(upper, STB_GLOBAL, STB_LOCAL))
        kind = np.where(np.isin(self.letter & 0xDF, (ord("T"), ord("W"))), STT_FUNC, STT_OBJECT)
        columns = self.start, self._ends(), kind.astype(np.uint8), binding.astype(np.uint8), self.name
        return SymbolIndex(SymbolColumns(*columns))

    def _ends(self) -> U64:
        """Return the ends of symbols: before a module border, the end of the next page; elsewhere unknown."""
        order = argsort(self.start)
        module = self.module[order]
        end = self.start.copy()
        rows = order[of_next(begins_run(module), False)]
        page = np.uint64(PAGE)
        end[rows] = (self.start[rows] + page + page - np.uint64(1)) // page * page
        return end


def read_kallsyms(path: Path) -> Kallsyms:
    """Parse a kallsyms file, plain or compressed. Raises ObjectError if it is not one or its addresses are hidden."""
    return parse_kallsyms(inflate_file(read_object_file(path, _MAX_SIZE)), shown_name(path))


def parse_kallsyms(text: bytes, name: str) -> Kallsyms:
    """Parse lines ``ffffffff81000000 T _stext`` or, tab-separated, ``… t func\\t[module]``; skip other lines."""
    raw = np.frombuffer(text, np.uint8)
    ends = flatnonzero(raw == _NEWLINE)
    if not len(raw) or raw[-1] != _NEWLINE:
        ends = np.append(ends, len(raw))
    starts = np.append(0, ends[:-1] + 1)
    width = text.find(b" ")
    if not 1 <= width <= 16:
        raise ObjectError(f"{name}: not a kallsyms file: its first line is {text[:40]!r}")
    starts, ends = _regular(raw, starts, ends, width)
    address, valid = hex_numbers(text, starts, width)
    letter = raw[starts + width + 1]
    code = flatnonzero(valid & _IS_SYMBOL[letter] & (raw[starts + width + 3] != ord("$")))
    code = code[~_begin_with(text, starts[code] + width + 3, _LIVEPATCH)]
    starts, ends, address, letter = starts[code], ends[code], address[code], letter[code]
    if len(address) == 0:
        raise ObjectError(f"{name}: it has no symbols")
    if not address.any():
        raise ObjectError(f"{name}: all addresses are 0, because they were hidden (kernel.kptr_restrict)")
    name_end, module, modules = _modules(raw, text, starts, ends)
    return Kallsyms(address, letter, starts + width + 3, name_end, module, modules, text)


def _begin_with(text: bytes, starts: I64, prefix: bytes) -> Bools:
    """Return (n,) whether the text at each position begins with a prefix, whose first byte is rare."""
    found: Bools = np.frombuffer(text, np.uint8)[starts] == prefix[0]
    rows = flatnonzero(found)
    found[rows] = [text.startswith(prefix, at) for at in starts[rows].tolist()]
    return found


def _regular(raw: U8, starts: I64, ends: I64, width: int) -> tuple[I64, I64]:
    """Keep lines that have a name and have spaces at the same positions as the first line."""
    fits = ends - starts > width + 3
    if not fits.all():
        starts, ends = starts[fits], ends[fits]
    right: Bools = (raw[starts + width] == _SPACE) & (raw[starts + width + 2] == _SPACE)
    return (starts, ends) if right.all() else (starts[right], ends[right])


def _modules(raw: U8, text: bytes, starts: I64, ends: I64) -> tuple[I64, I64, list[str]]:
    """Return the end of each name, the module of each symbol or −1, and the module names."""
    module, names = minus_ones(len(starts)), dict[bytes, int]()
    first = text.find(b"\t")
    if first < 0:
        return ends, module, []
    tabs = np.append(flatnonzero(raw[first:] == _TAB) + first, len(raw))
    rows = arange(int(np.searchsorted(ends, first)), len(ends))  # modules follow the kernel itself
    tab = tabs[searchsorted(tabs, starts[rows])]
    rows, tab = rows[tab < ends[rows]], tab[tab < ends[rows]]
    is_new = differs_from_previous(text, tab + 1, ends[rows])  # a module's symbols are adjacent
    words = [
        text[begin:end] for begin, end in zip((tab[is_new] + 1).tolist(), ends[rows[is_new]].tolist(), strict=True)
    ]
    numbers = [names.setdefault(word.strip().strip(b"[]"), len(names)) for word in words]
    module[rows] = as_int64(numbers)[cumsum(is_new) - 1]
    name_end = ends.copy()
    name_end[rows] = tab
    return name_end, module, [word.decode(errors="surrogateescape") for word in names]
