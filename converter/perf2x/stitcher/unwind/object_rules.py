"""Unwind rules of one ELF file by address; functions are decoded when an address first falls into them.

Sources are searched in this order: .eh_frame, .debug_frame, known code without call frame information (signal
trampolines, starts of coroutines, the procedure linkage table). Source of truth for the order of the first two:
elfutils, libdwfl.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from perf2x.base.binaries.cfi.section_rules import FrameSource, debug_frame_index, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, Rule, RuleTable
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.columnar import I32, U64, arange
from perf2x.errors import ObjectError
from perf2x.stitcher.unwind.architecture import Architecture

if TYPE_CHECKING:
    from perf2x.base.binaries.elf.x86_code import X86Code

_RETURNS = -2
"""Instead of a rule number: no rule is known, but the function returns to a caller."""
_START = 64
"""Bytes of a program's first function, which nothing called."""
_LAZY_ENTRY = 16
"""Bytes of a .plt entry: an indirect jump of 6, a push of 5, a jump to the first entry of 5."""


class ObjectRules(Struct):
    """Rules of one object and its separate debug file; ``problems`` has a sentence for each damaged entry."""

    elf: ElfObject
    debug: ElfObject | None
    table: RuleTable
    architecture: Architecture
    problems: list[str] = field(default_factory=list)
    _sources: list[FrameSource] = field(default_factory=list)
    _further: Iterator[FrameSource] = iter(())
    """Sources that were not needed so far."""
    _code: "X86Code | None" = None
    _by_code: dict[tuple[int, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._further = self._read_sources()

    def find(self, svma: U64) -> I32:
        """Return (n,) rule numbers of addresses; NO_RULE where no source covers them."""
        result = np.full(len(svma), NO_RULE, np.int32)
        missing = arange(len(svma))
        for source in self._all_sources() if len(missing) else ():
            result[missing] = source.find(svma[missing])
            missing = missing[result[missing] == NO_RULE]
            if not len(missing):
                break
        for row in missing.tolist():
            result[row] = self._known_code(int(svma[row]))
        return result

    def by_code(self, svma: int, *, is_exact: bool) -> int:
        """Return the rule number derived from the code itself, at an instruction or a return address.

        Returns NO_RULE if unknown, RETURNS if there must be a caller. Use it only as a last resort, and check that a
        call precedes the result.
        """
        is_start = not is_exact and self._is_started and 0 < svma - self.elf.entry <= _START
        if is_start or self.elf.machine not in ("EM_X86_64", "EM_386"):
            return NO_RULE
        if (svma, is_exact) not in self._by_code:
            from perf2x.base.binaries.cfi.x86_paths import exits
            from perf2x.base.binaries.cfi.x86_rules_from_code import rule_by_code  # few objects need it
            from perf2x.base.binaries.elf.x86_code import X86Code

            if self._code is None:
                self._code = X86Code(self.elf, self.debug)
            rule = rule_by_code(self._code, svma, self.table, is_exact=is_exact)
            number = NO_RULE if not is_exact and exits(self._code, svma) else _RETURNS
            self._by_code[svma, is_exact] = number if rule is None else self.table.number(rule)
        return self._by_code[svma, is_exact]

    def _all_sources(self) -> Iterator[FrameSource]:
        """Yield the sources in order; each is read only if earlier ones lack an address (.debug_frame may be large)."""
        yield from self._sources
        for source in self._further:
            self._sources.append(source)
            yield source

    def _read_sources(self) -> Iterator[FrameSource]:
        files = [self.elf] if self.debug is None else [self.elf, self.debug]
        for read, file in [(eh_frame_index, self.elf), *((debug_frame_index, file) for file in files)]:
            try:
                index = read(file)
            except ObjectError as error:
                self.problems.append(str(error))
                continue
            if index is not None:
                yield FrameSource(index, self.table, self.problems)

    def _known_code(self, svma: int) -> int:
        rule = self._started(svma) or self._linkage(svma)
        return NO_RULE if rule is None else self.table.number(rule)

    def _started(self, svma: int) -> Rule | None:
        """Return the rule at the first byte of known code, or one byte before (where a return address is looked up)."""
        if self.elf.machine != self.architecture.machine:
            return None
        if svma and svma == self.elf.entry and self._is_started:
            return self.architecture.outermost
        for code in self.architecture.known_code:
            found = self._bytes(svma, code.size + 1)
            if code.pattern.match(found) or code.pattern.match(found, 1):
                return code.rule
        return None

    @property
    def _is_started(self) -> bool:
        """Return whether the kernel starts the file at its entry: true of programs and loaders, not of JIT images."""
        return self.elf.type == "ET_EXEC" or any(one.type == "PT_DYNAMIC" for one in self.elf.segments)

    def _bytes(self, svma: int, size: int) -> bytes:
        try:
            return self.elf.code_at(svma, size)
        except ObjectError:
            return b""

    def _linkage(self, svma: int) -> Rule | None:
        for name in (".plt", ".plt.sec", ".plt.got"):
            section = self.elf.section(name)
            if section is None or not section.address <= svma < section.address + section.size:
                continue
            if name != ".plt" or not self.architecture.lazy_linkage:
                return self.architecture.linkage_rule
            entry, offset = divmod(svma - section.address, _LAZY_ENTRY)
            return self.architecture.lazy_linkage[offset >= 11 if entry else 1 + (offset >= 6)]
        return None
