"""Parses /proc/kallsyms, or a copy of it, into columns.

All addresses have the same number of digits, so the fields begin at the same distance from the start of each line.

Source of truth: kernel/kallsyms.c s_show; tools/perf/util/symbol.c kallsyms__parse, map__process_kallsym_symbol and
symbols__fixup_end.
"""

from pathlib import Path

import numpy as np

from perf2x.base.binaries.elf.decompress import decompress_file
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
# (256,) True for the type letters that perf keeps (symbol_type__filter): code, data, bss and weak symbols.
_IS_SYMBOL = np.array([letter in b"TWDBtwdb" for letter in range(256)], np.bool_)
_LIVEPATCH = b".klp.sym."
"""Prefix of a livepatch module's names for functions of other objects, at these functions' addresses."""
# Size limit of a file in bytes; a kernel with all modules loaded needs a tenth of it.
_MAX_SIZE = 1 << 28


class Kallsyms(Frozen):
    """All symbols that perf would consider, in file order; the columns are (symbols,).

    ``data`` is the whole file; a symbol's name is ``data[name_start:name_end]``.
    """

    start: U64
    letter: U8
    """Types as nm prints them; upper case for global symbols."""
    name_start: I64
    name_end: I64
    module: I64
    """Index into ``modules``, −1 for the kernel itself."""
    modules: list[str]
    data: bytes

    def name(self, row: int) -> str:
        """Return the symbol's name without its module."""
        return self.data[int(self.name_start[row]) : int(self.name_end[row])].decode(errors="surrogateescape")

    def address_of(self, name: str) -> int | None:
        """Return the address of a symbol of the kernel itself; None if there is no such symbol."""
        encoded = name.encode(errors="surrogateescape")
        has_length = (self.name_end - self.name_start == len(encoded)) & (self.module < 0)
        for row in flatnonzero(has_length):
            name_start = int(self.name_start[row])
            if self.data[name_start : name_start + len(encoded)] == encoded:
                return int(self.start[row])
        return None

    def index(self) -> SymbolIndex:
        """Return an index of the symbols by address; it finds rows of this table."""
        is_upper = (self.letter >= ord("A")) & (self.letter <= ord("Z"))
        binding = np.where(self.letter == ord("W"), STB_WEAK, np.where(is_upper, STB_GLOBAL, STB_LOCAL))
        upper_letter = self.letter & 0xDF
        kind = np.where(np.isin(upper_letter, (ord("T"), ord("W"))), STT_FUNC, STT_OBJECT)
        columns = self.start, self._ends(), kind.astype(np.uint8), binding.astype(np.uint8), self.name
        return SymbolIndex(SymbolColumns(*columns))

    def _ends(self) -> U64:
        """Return (symbols,) the end of each symbol, as symbols__fixup_end computes it for kallsyms.

        The format has no sizes. A symbol ends at the next one, which its start marks (see `SymbolColumns`). If the next
        symbol is of another module, it ends one page after its start, rounded up to a page.
        """
        order = argsort(self.start)
        module = self.module[order]
        end = self.start.copy()
        last_of_module = order[of_next(begins_run(module), False)]
        page = np.uint64(PAGE)
        end[last_of_module] = (self.start[last_of_module] + page + page - np.uint64(1)) // page * page
        return end


def read_kallsyms(path: Path) -> Kallsyms:
    """Parse a kallsyms file. Raises ObjectError if it is not one or its addresses are hidden."""
    return parse_kallsyms(decompress_file(read_object_file(path, _MAX_SIZE)), shown_name(path))


def parse_kallsyms(data: bytes, name: str) -> Kallsyms:
    """Parse lines ``ffffffff81000000 T _stext`` or, in modules, ``ffffffffc0000000 t func\\t[module]``; skip others."""
    characters = np.frombuffer(data, np.uint8)
    ends = flatnonzero(characters == _NEWLINE)
    if not len(characters) or characters[-1] != _NEWLINE:
        ends = np.append(ends, len(characters))
    starts = np.append(0, ends[:-1] + 1)
    digits = data.find(b" ")
    if not 1 <= digits <= 16:
        raise ObjectError(f"{name}: not a kallsyms file: its first line is {data[:40]!r}")
    # a line has its letter at digits + 1, and its name at digits + 3
    starts, ends = _regular_lines(characters, starts, ends, digits)
    address, is_hex = hex_numbers(data, starts, digits)
    letter = characters[starts + digits + 1]
    # names that begin with $ are mapping symbols, which mark code and data on Arm and RISC-V
    kept_rows = flatnonzero(is_hex & _IS_SYMBOL[letter] & (characters[starts + digits + 3] != ord("$")))
    kept_rows = kept_rows[~_begin_with(data, starts[kept_rows] + digits + 3, _LIVEPATCH)]
    starts, ends, address, letter = starts[kept_rows], ends[kept_rows], address[kept_rows], letter[kept_rows]
    if len(address) == 0:
        raise ObjectError(f"{name}: it has no symbols")
    if not address.any():
        raise ObjectError(f"{name}: all addresses are 0, because they were hidden (kernel.kptr_restrict)")
    name_end, module, modules = _modules(characters, data, starts, ends)
    return Kallsyms(address, letter, starts + digits + 3, name_end, module, modules, data)


def _begin_with(data: bytes, starts: I64, prefix: bytes) -> Bools:
    """Return (n,) whether ``prefix`` is at each of the positions ``starts`` (n,).

    The first byte of the prefix should be rare, because positions with it are compared one by one.
    """
    has_prefix: Bools = np.frombuffer(data, np.uint8)[starts] == prefix[0]
    rows = flatnonzero(has_prefix)
    has_prefix[rows] = [data.startswith(prefix, start) for start in starts[rows].tolist()]
    return has_prefix


def _regular_lines(characters: U8, starts: I64, ends: I64, digits: int) -> tuple[I64, I64]:
    is_long = ends - starts > digits + 3
    if not is_long.all():
        starts, ends = starts[is_long], ends[is_long]
    is_regular: Bools = (characters[starts + digits] == _SPACE) & (characters[starts + digits + 2] == _SPACE)
    return (starts, ends) if is_regular.all() else (starts[is_regular], ends[is_regular])


def _modules(characters: U8, data: bytes, starts: I64, ends: I64) -> tuple[I64, I64, list[str]]:
    """Return (lines,) ends of names, (lines,) indices of modules or −1, and the modules' names.

    A line of a module ends with a tab and ``[module]``.
    """
    module, module_numbers = minus_ones(len(starts)), dict[bytes, int]()
    first_tab = data.find(b"\t")
    if first_tab < 0:
        return ends, module, []
    tabs = np.append(flatnonzero(characters[first_tab:] == _TAB) + first_tab, len(characters))
    # modules follow the kernel itself
    rows = arange(int(np.searchsorted(ends, first_tab)), len(ends))
    tab = tabs[searchsorted(tabs, starts[rows])]  # first tab after each start, perhaps in a later line
    rows, tab = rows[tab < ends[rows]], tab[tab < ends[rows]]
    is_new = differs_from_previous(data, tab + 1, ends[rows])
    words = [
        data[begin:end] for begin, end in zip((tab[is_new] + 1).tolist(), ends[rows[is_new]].tolist(), strict=True)
    ]
    numbers = [module_numbers.setdefault(word.strip().strip(b"[]"), len(module_numbers)) for word in words]
    module[rows] = as_int64(numbers)[cumsum(is_new) - 1]
    name_end = ends.copy()
    name_end[rows] = tab
    return name_end, module, [word.decode(errors="surrogateescape") for word in module_numbers]
