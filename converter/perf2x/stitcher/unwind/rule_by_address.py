"""Maps addresses of processes to rule numbers, through mappings and objects.

`CodeMap` remembers the rule of each address in an object. `RuleCache` remembers rules by process image and address, so
that most steps need no mapping lookup. It holds only rules in mappings that stay until the end of their image; such a
rule is valid for all samples since the mapping was made.
"""

from collections.abc import Callable, Iterator

import numpy as np

from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.call_sites import CallSites
from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.go.find_pclntab import go_functions, has_go_table
from perf2x.base.binaries.go.pclntab import GoFunctions
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    DirectMappedCache,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    rows_by,
    take,
    trues,
    unique,
    unique_inverse,
)
from perf2x.base.mapping_names import is_vdso
from perf2x.errors import ObjectError
from perf2x.stitcher.unwind.architecture import Architecture
from perf2x.stitcher.unwind.go_ends import go_ends, is_call_after_switch, may_have_switched
from perf2x.stitcher.unwind.object_rules import ObjectRules
from perf2x.stitcher.unwind.simple_rule_steps import SimpleRuleTable
from perf2x.stitcher.unwind.unwound_chains import MappingFinder, UserMappings

_RULE_BITS = 31
_RULE_MASK = (1 << _RULE_BITS) - 1
_NOT_OPENED = -2  # in place of an object number


class RuleCache:
    """Caches rule numbers by process image and address, in a fixed amount of memory."""

    def __init__(self) -> None:
        self._cache = DirectMappedCache(columns=2, bits=18)
        """Values for (address, image): sequence number of the mapping << 31 | rule number.

        2¹⁸ entries suffice: the stacks of a large compiler have 60,000 addresses.
        """

    def cached(self, image: I64, sequence: I64, address: U64) -> tuple[I64, Bools]:
        """Return the rule at each address as of a sequence number, and whether it is cached; all shapes (n,).

        Rules that are not cached are meaningless.
        """
        answer, is_cached = self._cache.cached(address.view(np.int64), image)
        is_cached &= answer >> _RULE_BITS <= sequence
        return answer & _RULE_MASK, is_cached

    def learn(self, finder: MappingFinder, rows: I64, address: U64, mapping: I32, rule: I32) -> None:
        """Cache rules, except NO_RULE, in mappings that stay until the end of their image; all shapes (n,)."""
        with_rule = flatnonzero(rule != NO_RULE)
        answer = take(finder.made_at, mapping[with_rule]) << _RULE_BITS | rule[with_rule]
        self._cache.learn(answer, address[with_rule].view(np.int64), take(finder.image, rows[with_rule]))


# Maps (recorded file name, build id) to the object with the code and its separate debug file; each may be None.
FindObject = Callable[[str, bytes], tuple[ElfObject | None, ElfObject | None]]


class CodeMap:
    """Rules of one architecture by address; opens an object when an address in it is first looked up.

    ``mapping`` (n,) are rows of ``mappings``, −1 for none; ``address`` (n,) are addresses in the process.
    """

    def __init__(
        self, mappings: UserMappings, find_object: FindObject, architecture: Architecture, table: RuleTable
    ) -> None:
        self.mappings = mappings
        self.find_object = find_object
        self.architecture = architecture
        self.table = table
        self.simple_rules, self.rule_cache = SimpleRuleTable(table, architecture), RuleCache()
        self.objects: list[ObjectRules] = []
        self._go_tables: dict[int, GoFunctions | None] = {}
        """Function tables of Go programs by object number; None until needed."""
        self._call_sites: list[CallSites] = []
        self._object_of_mapping: I32 = np.full(len(mappings), _NOT_OPENED, np.int32)
        """(mappings,) object number, −1 without a usable file, _NOT_OPENED until it is needed."""
        self._object_numbers: dict[tuple[str, bytes], int] = {}
        """Object number by file name and build id; −1 without a usable file."""
        self._to_file_offset: U64 = mappings.pgoff - mappings.start
        """(mappings,) file offset minus address, modulo 2⁶⁴."""
        self._rules_by_svma: dict[int, dict[int, int]] = {}
        """Rule number by object number, then svma, of the addresses that were looked up so far."""

    def is_code(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings may hold code; −1 does not."""
        return np.append(self.mappings.is_code, False)[mapping]

    def is_jit(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings hold JIT-compiled code; −1 does not."""
        return np.append(self.mappings.is_jit, False)[mapping]

    def is_vdso(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings are a vDSO; −1 is not."""
        rows, index = unique_inverse(mapping)
        names = [self.mappings.filename[row] if row >= 0 else "" for row in rows.tolist()]
        return np.array([is_vdso(name) for name in names], np.bool_)[index]

    def rules(self, mapping: I32, address: U64) -> I32:
        """Return (n,) the rule number at each address; NO_RULE without unwind information or without a mapping."""
        result = np.full(len(address), NO_RULE, np.int32)
        for number, rows, svma in self._by_object(mapping, address):
            distinct, index = unique_inverse(svma)
            known_rules = self._rules_by_svma.setdefault(number, {})
            missing = as_uint64([each for each in distinct.tolist() if each not in known_rules])
            if len(missing):
                known_rules.update(zip(missing.tolist(), self._rules_in_object(number, missing).tolist(), strict=True))
            result[rows] = as_int32([known_rules[each] for each in distinct.tolist()])[index]
        return result

    def rules_from_code(self, mapping: I32, address: U64, is_exact: Bools) -> I32:
        """Return (n,) rule numbers derived from the code alone (see `ObjectRules.rule_from_code`)."""
        result = np.full(len(address), NO_RULE, np.int32)
        # a return address belongs to the object of the byte before it
        for number, rows, svma in self._by_object(mapping, address - as_uint64(~is_exact)):
            # A query is svma << 1 | is_exact. The svma of a return address is one byte too low here, which is undone
            # below, because ``rule_from_code`` takes the return address itself.
            queries, index = unique_inverse(svma << np.uint64(1) | as_uint64(is_exact[rows]))
            rule_from_code = self.objects[number].rule_from_code
            answers = [
                rule_from_code((query >> 1) + (~query & 1), is_exact=bool(query & 1)) for query in queries.tolist()
            ]
            result[rows] = as_int32(answers)[index]
        return result

    def may_return_to(self, mapping: I32, address: U64) -> Bools:
        """Return (n,) whether a call ends right before each address; True where there is no code to read."""
        result = trues(len(address))
        for number, rows, svma in self._by_object(mapping, address):
            distinct, index = unique_inverse(svma)
            answers = map(self._call_sites[number].may_return_to, distinct.tolist())
            result[rows] = np.array(list(answers), np.bool_)[index]
        return result

    def _by_object(self, mapping: I32, address: U64) -> Iterator[tuple[int, I64, U64]]:
        """Yield each object's number, the rows of the addresses in it, and their svmas."""
        mapped = flatnonzero(mapping >= 0)
        object_numbers = self._objects_of(mapping[mapped])
        for number, index in rows_by(as_int64(object_numbers)):
            if number >= 0:
                rows = mapped[index]
                offset = address[rows] + self._to_file_offset[mapping[rows]]
                svma, is_inside = self.objects[number].elf.offset_to_svma(offset)
                yield number, rows[is_inside], svma[is_inside]

    @property
    def has_go(self) -> bool:
        """Whether any object opened so far is a Go program with a usable function table."""
        return bool(self._go_tables)

    def corrected_ends(self, mapping: I32, address: U64, end: U8) -> U8:
        """Return (n,) why chains end, corrected by Go's functions; ``address`` (n,) are lookup addresses."""
        end = end.copy()
        for number, rows, svma in self._by_object(mapping, address):
            functions = self._go_functions(number) if number in self._go_tables else None
            if functions is not None:
                end[rows] = go_ends(functions, svma, end[rows])
        return end

    def _go_functions(self, number: int) -> GoFunctions | None:
        if self._go_tables[number] is None:
            rules = self.objects[number]
            try:
                self._go_tables[number] = go_functions(rules.elf)
            except ObjectError as error:
                rules.problems.append(str(error))
                del self._go_tables[number]
        return self._go_tables.get(number)

    def _objects_of(self, mapping: I32) -> I32:
        number = take(self._object_of_mapping, mapping)
        if (number == _NOT_OPENED).any():
            for new in unique(mapping[number == _NOT_OPENED]).tolist():
                self._object_of_mapping[new] = self._open(self.mappings.filename[new], self.mappings.build_id[new])
            number = self._object_of_mapping[mapping]
        return number

    def _open(self, filename: str, build_id: bytes) -> int:
        identity = (filename, build_id)
        if identity not in self._object_numbers:
            elf, debug = self.find_object(filename, build_id)
            self._object_numbers[identity] = -1
            if elf is not None and elf.machine == self.architecture.elf_machine:
                self._object_numbers[identity] = len(self.objects)
                if has_go_table(elf):
                    self._go_tables[len(self.objects)] = None
                self._call_sites.append(CallSites(elf))
                self.objects.append(ObjectRules(elf, debug, self.table, self.architecture))
        return self._object_numbers[identity]

    def _rules_in_object(self, number: int, svma: U64) -> I32:
        """Return (n,) rule numbers; Go's own are wrong where its runtime switches stacks, so they are replaced."""
        rules = self.objects[number]
        result = rules.find(svma)
        functions = self._go_functions(number) if number in self._go_tables else None
        if functions is not None:
            rows_and_svmas = list(zip(functions.find(svma).tolist(), svma.tolist(), strict=True))
            is_outermost = [is_call_after_switch(functions, rules.elf, *each) for each in rows_and_svmas]
            result[is_outermost] = self.table.number(self.architecture.outermost_rule)
            if self.architecture.frame_pointer_rule is not None:
                has_frame_pointer = [may_have_switched(functions, rules.elf, *each) for each in rows_and_svmas]
                result[has_frame_pointer] = self.table.number(self.architecture.frame_pointer_rule)
        return result

    def problems(self) -> list[str]:
        """Return a sentence for each damaged entry or section of all objects."""
        return [problem for rules in self.objects for problem in rules.problems]
