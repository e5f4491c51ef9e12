"""Finds the unwind rules of one ELF file by address; decodes a function when an address first falls into it.

Sources in order: .eh_frame, .debug_frame (as in elfutils' libdwfl), known code (a program's entry, signal trampolines,
starts of coroutines), the procedure linkage table.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from perf2x.base.binaries.cfi.section_rules import SectionRules, debug_frame_index, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, Rule, RuleTable
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.columnar import I32, U64, arange
from perf2x.errors import ObjectError
from perf2x.stitcher.unwind.architecture import Architecture

if TYPE_CHECKING:
    from perf2x.base.binaries.elf.x86_code import X86Code

# In place of a rule number: no rule is known, but the function returns to a caller.
_RETURNS = -2
# Assumed maximum size of a program's first function (_start) in bytes.
_START_SIZE = 64
_PLT_ENTRY = 16
"""Bytes of an entry of a lazy .plt on x86: an indirect jump of 6, a push of 5, and a jump of 5.

The first entry pushes (6 bytes), then jumps to the dynamic linker.
"""


class ObjectRules(Struct):
    """Rules of one object, from its file and its separate debug file.

    ``problems`` has a sentence for each damaged entry or section.
    """

    elf: ElfObject
    debug: ElfObject | None
    table: RuleTable
    architecture: Architecture
    problems: list[str] = field(default_factory=list)
    _read_sources: list[SectionRules] = field(default_factory=list)
    _unread_sources: Iterator[SectionRules] = iter(())
    """Each is read when the iterator reaches it, because .debug_frame may be large."""
    _code: "X86Code | None" = None
    _rules_from_code: dict[tuple[int, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._unread_sources = self._sources_in_order()

    def find(self, svma: U64) -> I32:
        """Return (n,) rule numbers; NO_RULE where no source has one."""
        result = np.full(len(svma), NO_RULE, np.int32)
        missing = arange(len(svma))
        for source in self._all_sources() if len(missing) else ():
            result[missing] = source.find(svma[missing])
            missing = missing[result[missing] == NO_RULE]
            if not len(missing):
                break
        for row in missing.tolist():
            result[row] = self._rule_without_frame_info(int(svma[row]))
        return result

    def rule_from_code(self, svma: int, *, is_exact: bool) -> int:
        """Return the number of a rule derived from the x86 code at ``svma`` and after it.

        ``is_exact``: ``svma`` is an instruction's address, not a return address. Without a rule, returns −2 (_RETURNS),
        or NO_RULE if the function may be the outermost one or the processor is not an x86. Derived rules are guesses:
        check that a call precedes the return address.
        """
        is_start = not is_exact and self._may_start_at_entry and 0 < svma - self.elf.entry <= _START_SIZE
        if is_start or self.elf.machine not in ("EM_X86_64", "EM_386"):
            return NO_RULE
        if (svma, is_exact) not in self._rules_from_code:
            from perf2x.base.binaries.cfi.x86_paths import leads_to_system_call
            from perf2x.base.binaries.cfi.x86_rules_from_code import rule_by_code  # few objects need it
            from perf2x.base.binaries.elf.x86_code import X86Code

            if self._code is None:
                self._code = X86Code(self.elf, self.debug)
            rule = rule_by_code(self._code, svma, self.table, is_exact=is_exact)
            number = NO_RULE if not is_exact and leads_to_system_call(self._code, svma) else _RETURNS
            self._rules_from_code[svma, is_exact] = number if rule is None else self.table.number(rule)
        return self._rules_from_code[svma, is_exact]

    def _all_sources(self) -> Iterator[SectionRules]:
        yield from self._read_sources
        for source in self._unread_sources:
            self._read_sources.append(source)
            yield source

    def _sources_in_order(self) -> Iterator[SectionRules]:
        files = [self.elf] if self.debug is None else [self.elf, self.debug]
        for read_index, file in [(eh_frame_index, self.elf), *((debug_frame_index, file) for file in files)]:
            try:
                index = read_index(file)
            except ObjectError as error:
                self.problems.append(str(error))
                continue
            if index is not None:
                yield SectionRules(index, self.table, self.problems)

    def _rule_without_frame_info(self, svma: int) -> int:
        rule = self._rule_of_known_code(svma) or self._plt_rule(svma)
        return NO_RULE if rule is None else self.table.number(rule)

    def _rule_of_known_code(self, svma: int) -> Rule | None:
        """Known code may begin one byte after ``svma``, because a return address is looked up one byte earlier."""
        if self.elf.machine != self.architecture.elf_machine:
            return None
        if svma and svma == self.elf.entry and self._may_start_at_entry:
            return self.architecture.outermost_rule
        for code in self.architecture.known_code:
            code_bytes = self._code_bytes(svma, code.size + 1)
            if code.pattern.match(code_bytes) or code.pattern.match(code_bytes, 1):
                return code.rule
        return None

    @property
    def _may_start_at_entry(self) -> bool:
        """JIT images have no PT_DYNAMIC, and execution does not start at their entry."""
        return self.elf.type == "ET_EXEC" or any(segment.type == "PT_DYNAMIC" for segment in self.elf.segments)

    def _code_bytes(self, svma: int, size: int) -> bytes:
        try:
            return self.elf.bytes_at(svma, size)
        except ObjectError:
            return b""

    def _plt_rule(self, svma: int) -> Rule | None:
        for name in (".plt", ".plt.sec", ".plt.got"):
            section = self.elf.section(name)
            if section is None or not section.address <= svma < section.address + section.size:
                continue
            if name != ".plt" or not self.architecture.lazy_plt_rules:
                return self.architecture.plt_jump_rule
            entry, offset = divmod(svma - section.address, _PLT_ENTRY)
            # Rules are numbered by the pushes before the address. An entry pushes once, up to byte 11. The first entry
            # is reached after that push, and pushes again, up to byte 6.
            return self.architecture.lazy_plt_rules[offset >= 11 if entry else 1 + (offset >= 6)]
        return None
