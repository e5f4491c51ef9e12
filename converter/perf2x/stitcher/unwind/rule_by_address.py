"""Maps addresses of processes to rule numbers, through mappings and objects; looks up each address of an object once.

A place is an address in a process image (`MappingFinder`). Its cached rule (`PlaceRules`) serves all samples since the
mapping was made, if the mapping stays to the end. Rules of an object serve all processes that map it.
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
from perf2x.stitcher.unwind.go_ends import go_ends, is_on_any_stack, leaves_stack
from perf2x.stitcher.unwind.object_rules import ObjectRules
from perf2x.stitcher.unwind.simple_rule_steps import PlainRuleTable
from perf2x.stitcher.unwind.unwound_chains import MappingFinder, UserMappings


class PlaceRules:
    """Caches rules by place, in a fixed amount of memory."""

    def __init__(self) -> None:
        self._cache = DirectMappedCache(columns=2, bits=18)
        """By image and address: when the mapping was made, and the rule. A large compiler has 60,000 places."""

    def cached(self, image: I64, moment: I64, address: U64) -> tuple[I64, Bools]:
        """Return (n,) cached rules at addresses as of some moments, and which are cached; the others are undefined."""
        found, is_cached = self._cache.cached(address.view(np.int64), image)
        is_cached &= found >> _RULE_BITS <= moment
        return found & _RULE_MASK, is_cached

    def learn(self, finder: MappingFinder, rows: I64, address: U64, mapping: I32, rule: I32) -> None:
        """Cache the rules of places in mappings that stay."""
        some = flatnonzero(rule != NO_RULE)
        found = take(finder.made, mapping[some]) << _RULE_BITS | rule[some]
        self._cache.learn(found, address[some].view(np.int64), take(finder.image, rows[some]))


_RULE_BITS = 31
_RULE_MASK = (1 << _RULE_BITS) - 1
FindObject = Callable[[str, bytes], tuple[ElfObject | None, ElfObject | None]]
"""Maps (recorded file name, build id) to the object with the code and its separate debug file; each may be None."""


class CodeMap:
    """Rules of one architecture by address; opens an object when an address in it is first looked up."""

    def __init__(
        self, mappings: UserMappings, find_object: FindObject, architecture: Architecture, table: RuleTable
    ) -> None:
        self.mappings = mappings
        self.find_object = find_object
        self.architecture = architecture
        self.table = table
        self.plain, self.places = PlainRuleTable(table, architecture), PlaceRules()
        self.objects: list[ObjectRules] = []
        self._go: dict[int, GoFunctions | None] = {}
        """Tables of the Go programs among the objects, None until needed."""
        self._call_sites: list[CallSites] = []
        """By object number."""
        self._object_of: I32 = np.full(len(mappings), -2, np.int32)
        """(mappings,) object number, −1 if unusable, −2 if not opened yet"""
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._shift: U64 = mappings.pgoff - mappings.start
        """(mappings,) the number to add to an address to get its file offset"""
        self._known: dict[int, dict[int, int]] = {}
        """Rules by object number and svma."""

    def is_code(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings may hold code; −1 does not."""
        return np.append(self.mappings.is_code, False)[mapping]

    def is_jit(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings hold JIT-compiled code; −1 does not."""
        return np.append(self.mappings.is_jit, False)[mapping]

    def is_vdso(self, mapping: I32) -> Bools:
        """Return (n,) bool: whether mappings are a vDSO, which uses the frame pointer for other things; −1 is not."""
        rows, index = unique_inverse(mapping)
        names = [self.mappings.filename[row] if row >= 0 else "" for row in rows.tolist()]
        return np.array([is_vdso(name) for name in names], np.bool_)[index]

    def rules(self, mapping: I32, address: U64) -> I32:
        """Return (n,) rule numbers of addresses in their mappings (−1: none); NO_RULE without unwind information."""
        result = np.full(len(address), NO_RULE, np.int32)
        for number, rows, svma in self._in_objects(mapping, address):
            places, index = unique_inverse(svma)
            known = self._known.setdefault(number, {})
            new = as_uint64([place for place in places.tolist() if place not in known])
            if len(new):
                known.update(zip(new.tolist(), self._find_in_object(number, new).tolist(), strict=True))
            result[rows] = as_int32([known[place] for place in places.tolist()])[index]
        return result

    def rules_by_code(self, mapping: I32, address: U64, exact: Bools) -> I32:
        """Return (n,) rule numbers derived from code without call frame information; NO_RULE or RETURNS if unknown."""
        result = np.full(len(address), NO_RULE, np.int32)
        for number, rows, svma in self._in_objects(mapping, address - as_uint64(~exact)):
            places, index = unique_inverse(svma << np.uint64(1) | as_uint64(exact[rows]))
            by_code = self.objects[number].by_code
            answers = [by_code((each >> 1) + (~each & 1), is_exact=bool(each & 1)) for each in places.tolist()]
            result[rows] = as_int32(answers)[index]
        return result

    def may_return_to(self, mapping: I32, address: U64) -> Bools:
        """Return (n,) whether calls may end at addresses in these mappings; True without code to read."""
        result = trues(len(address))
        for number, rows, svma in self._in_objects(mapping, address):
            places, index = unique_inverse(svma)
            answers = map(self._call_sites[number].may_return_to, places.tolist())
            result[rows] = np.array(list(answers), np.bool_)[index]
        return result

    def _in_objects(self, mapping: I32, address: U64) -> Iterator[tuple[int, I64, U64]]:
        """Yield the objects that addresses lie in, the rows of these addresses, and their svma."""
        mapped = flatnonzero(mapping >= 0)
        number = self._objects(mapping[mapped])
        for one, part in rows_by(as_int64(number)):
            if one >= 0:
                rows = mapped[part]
                svma, inside = self.objects[one].elf.svma(address[rows] + self._shift[mapping[rows]])
                yield one, rows[inside], svma[inside]

    @property
    def has_go(self) -> bool:
        """Whether an object is a Go program."""
        return bool(self._go)

    def ends(self, mapping: I32, address: U64, end: U8) -> U8:
        """Return (n,) ends of chains whose outermost frames are at these addresses, refined by their functions."""
        end = end.copy()
        for number, rows, svma in self._in_objects(mapping, address):
            functions = self._go_functions(number) if number in self._go else None
            if functions is not None:
                end[rows] = go_ends(functions, svma, end[rows])
        return end

    def _go_functions(self, number: int) -> GoFunctions | None:
        """Return the table of one Go program; a damaged one is reported once."""
        if self._go[number] is None:
            rules = self.objects[number]
            try:
                self._go[number] = go_functions(rules.elf)
            except ObjectError as error:
                rules.problems.append(str(error))
                del self._go[number]
        return self._go.get(number)

    def _objects(self, mapping: I32) -> I32:
        number = take(self._object_of, mapping)
        if (number == -2).any():
            for new in unique(mapping[number == -2]).tolist():
                self._object_of[new] = self._open(self.mappings.filename[new], self.mappings.build_id[new])
            number = self._object_of[mapping]
        return number

    def _open(self, filename: str, build_id: bytes) -> int:
        identity = (filename, build_id)
        if identity not in self._numbers:
            elf, debug = self.find_object(filename, build_id)
            self._numbers[identity] = -1
            if elf is not None and elf.machine == self.architecture.machine:
                self._numbers[identity] = len(self.objects)
                if has_go_table(elf):
                    self._go[len(self.objects)] = None
                self._call_sites.append(CallSites(elf))
                self.objects.append(ObjectRules(elf, debug, self.table, self.architecture))
        return self._numbers[identity]

    def _find_in_object(self, number: int, svma: U64) -> I32:
        rules = self.objects[number]
        result = rules.find(svma)
        functions = self._go_functions(number) if number in self._go else None
        if functions is not None:
            places = list(zip(functions.find(svma).tolist(), svma.tolist(), strict=True))
            switched = [leaves_stack(functions, rules.elf, *place) for place in places]
            result[switched] = self.table.number(self.architecture.outermost)
            if self.architecture.framed is not None:
                framed = [is_on_any_stack(functions, rules.elf, *place) for place in places]
                result[framed] = self.table.number(self.architecture.framed)
        return result

    def problems(self) -> list[str]:
        """Damaged unwind information of all objects, in the order in which they were opened."""
        return [problem for rules in self.objects for problem in rules.problems]
