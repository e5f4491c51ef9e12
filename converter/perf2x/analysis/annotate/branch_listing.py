"""Instructions between the branches of samples, as ``brstackinsn`` of perf script lists them: bytes, no mnemonics.

Source of truth: tools/perf/builtin-script.c perf_sample__fprintf_brstackinsn, grab_bb, ip__fprintf_jump;
util/intel-pt-decoder/intel-pt-insn-decoder.c dump_insn.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perf2x.analysis.annotate.object_code import ObjectCode
from perf2x.base.abi.uapi import BranchSampleType
from perf2x.base.columnar.arrays import U64
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.x86_instructions import LONGEST, decode
from perf2x.model.printable_text import base_name, without_controls
from perf2x.model.profile.code_counts import KERNEL_HALF
from perf2x.model.profile.recorded_samples import NamedPlaces
from perf2x.model.recording.events import Event, Samples
from perf2x.symbolizer.demangle.demangle import full_name
from perf2x.symbolizer.mapped_objects import mapped_objects
from perf2x.symbolizer.object_resolver import ObjectResolver
from perf2x.symbolizer.sources.perf_map_source import PerfMapSource
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind, SymbolSource

_LARGEST = (1 << 14) - LONGEST
"""Distance between the ends of the largest block."""
_MISSING_JUMP = 128
"""Bytes that are searched for a branch where the sample lies in front of the last target."""
_LEAVING = frozenset((0x9A, 0xC2, 0xC3, *range(0xCA, 0xD0), 0xE8, 0xE9, 0xEA, 0xEB, 0x105, 0x107, 0x134, 0x135))
"""Opcodes of instructions that always branch, as in Instruction."""
_PREDICTED, _ABORTED = 2, 8
_WORDS = {_PREDICTED: " PRED", 1: " MISPRED", 4: " INTX", _ABORTED: " ABORT"}

Place = tuple[int, int]
"""(address, row of its location)."""


class _Instruction(NamedTuple):
    size: int
    """0 for what is none."""
    text: str
    leaves: bool = False


class BranchListing:
    """Lists the code of a recording's branch stacks."""

    def __init__(self, places: NamedPlaces, context: Context, sources: Sequence[type[SymbolSource]]) -> None:
        """``places`` are those of branches."""
        profile, self._locate = places.profile, places.locate
        resolver = ObjectResolver(profile, context, [source(context) for source in sources])
        objects = mapped_objects(profile, context.session, np.ones(len(profile.locations), np.bool_))
        codes = [ObjectCode(profile, context, resolver, mapped) for mapped in objects]
        self._codes = {
            location: (code, address)
            for code in codes
            for location, address in zip(code.mapped.locations.tolist(), code.address.tolist(), strict=True)
        }
        maps, self._profile = PerfMapSource(context), profile
        anonymous = [code for code in codes if code.mapped.key.kind is DsoKind.ANONYMOUS]
        self._maps = {code.mapped.pid: maps.file(code.mapped.pid, np.sort(code.address))[1] for code in anonymous}
        self.symbol = lru_cache(1 << 16)(self._symbol)
        self.line = lru_cache(1 << 16)(self._line)
        self._read = lru_cache(1 << 11)(self._decoded)

    def of(self, event: Event, samples: Samples, *, lengths: bool, lines: bool) -> Iterator[bytes]:
        """Yield the text of each sample; ``lengths``: instructions have theirs; ``lines``: branches tell theirs."""
        branches, place = samples.branches, self._locate(samples).tolist()
        assert branches is not None
        count, flags = len(branches.flags), branches.flags.tolist()
        source = list(zip(branches.from_ip.tolist(), place[:count], strict=True))
        target = list(zip(branches.to_ip.tolist(), place[count : 2 * count], strict=True))
        stops = event.branch_sample_type in (0, event.branch_sample_type | BranchSampleType.ANY)
        rows = zip(pairwise(branches.offsets.tolist()), samples.ip.tolist(), place[2 * count :], strict=True)
        for (start, end), *own in rows:
            here, listing = slice(start, end), _Listing(self, lengths, lines)
            if start < end:
                listing.add_branches(source[here], target[here], flags[here])
                if source[start][0] != own[0] and not flags[start] & _ABORTED:
                    listing.add_last(target[start], (own[0], own[1]), stops)
            yield "".join(listing.lines).encode()

    def block(self, start: Place, end: int) -> Sequence[_Instruction]:
        """Instructions from a place on to some bytes behind ``end``; none where there is no code."""
        size = end - start[0]
        if not start[0] or not end or crosses(start[0], end) or not 0 <= size <= _LARGEST:
            return ()
        return self._read(start[1], size + LONGEST)

    def address(self, location: int) -> int | None:
        """Address of a location in its object, None without one."""
        return self._codes[location][1] if location in self._codes else None

    def _symbol(self, location: int, address: int) -> tuple[int, int, str] | None:
        """Start, end and name of the symbol at an address of a location's object."""
        code, at = self._codes[location][0], np.array([address], np.uint64)
        (start,), (end,) = (bound.tolist() for bound in self._extents(code, at))
        rows, functions = code.functions_at(at)
        if start == end or not len(rows.values):
            return None
        return start, end, without_controls(full_name(functions[int(rows.values[-1, 0])][1]))

    def _extents(self, code: ObjectCode, address: U64) -> tuple[U64, U64]:
        """(1,) bounds of the symbol at an address; equal where there is none."""
        if code.mapped.key.kind is not DsoKind.ANONYMOUS:
            return code.extents(address)
        table = self._maps[code.mapped.pid]
        row = table.find(address) if table is not None else np.full(1, -1, np.int64)
        return (table.start[row], table.start[row] + table.size[row]) if table and row[0] >= 0 else (address, address)

    def _line(self, location: int, behind: int) -> str:
        """Source line of the byte ``behind`` a location, the object and offset where it is unknown; "" without one."""
        if location not in self._codes:
            return ""
        code, address = self._codes[location]
        rows, functions = code.functions_at(np.array([address + behind], np.uint64))
        if len(rows.values):
            function, number = rows.values[0].tolist()
            if functions[function][2] and number:
                return f"{without_controls(base_name(functions[function][2]))}:{number}"
        if code.mapped.key.kind is DsoKind.ANONYMOUS:
            pid = code.mapped.pid
            return f"{f'[JIT] tid {pid}' if self._maps[pid] else f'perf-{pid}.map'}[{address + behind:x}]"
        mappings, row = self._profile.mappings, int(self._profile.locations.mapping[location])
        name = self._profile.strings[int(mappings.filename[row])]
        shift = 0 if name.startswith("[") else int(mappings.start[row]) - int(mappings.offset[row])
        offset = int(self._profile.locations.address[location]) + behind - shift
        return f"{without_controls(base_name(name))}[{offset:x}]"

    def _decoded(self, location: int, size: int) -> Sequence[_Instruction]:
        if location not in self._codes:
            return ()
        code, address = self._codes[location]
        try:
            return tuple(_instructions(*code.read_on(address, size)))
        except ObjectError:
            return ()


def crosses(start: int, end: int) -> bool:
    """Tell whether one address is the kernel's and the other is not."""
    return bool(start and end) and (start < KERNEL_HALF) != (end < KERNEL_HALF)


def _instructions(machine: str, code: bytes) -> Iterator[_Instruction]:
    """Yield instructions up to the first that is none; perf decodes those of x86 alone."""
    if machine not in ("EM_X86_64", "EM_386"):
        yield _Instruction(0, "?")
        return
    at = 0
    while at < len(code):
        found = decode(code, at, is_64=machine == "EM_X86_64")
        if found is None:
            yield _Instruction(0, "<bad>")
            return
        leaves = found.opcode in _LEAVING or (found.opcode == 0xFF and found.register & 7 in range(2, 6))
        yield _Instruction(found.size, f"insn: {code[at : at + found.size].hex(' ')} ", leaves)
        at += found.size


class _Listing:
    """Lines of one sample."""

    def __init__(self, code: BranchListing, lengths: bool, lines: bool) -> None:
        self._code, self._lengths, self._has_lines = code, lengths, lines
        self.lines: list[str] = []
        self._symbol, self._cycles = (0, 0, ""), 0

    def add_branches(self, source: Sequence[Place], target: Sequence[Place], flags: Sequence[int]) -> None:
        """Add blocks between branches, which come newest first; of the oldest branch only itself is known."""
        self.lines.append("\n")
        for instruction in self._code.block(source[-1], source[-1][0])[:1]:
            self._add_name(source[-1])
            self._add_jump(source[-1], 0, instruction, flags[-1], 0)
        rows = iter(range(len(flags) - 2, -1, -1))
        for row in rows:
            start = target[row + 1]
            left = next(rows, row) if crosses(start[0], source[row][0]) else row  # the way into the kernel is missing
            self._add_block(start, source[left][0], flags[left])

    def add_last(self, start: Place, own: Place, stops: bool) -> None:
        """Add what ran up to the sample; ``stops``: it ends where code branches, as all branches are recorded."""
        end = own[0] if own[0] >= start[0] else start[0] + _MISSING_JUMP
        block, at = self._code.block(start, end), start[0]
        self._add_name(start)
        for instruction in block:
            if at > end:
                return
            self._add_line(at, instruction)
            if stops and instruction.leaves and at != own[0]:
                self.lines.append("\t... not reaching sample ...\n")
                return
            at += instruction.size
        for instruction in self._code.block(own, own[0])[:1] if not block else ():
            self._add_line(own[0], instruction)

    def _add_block(self, start: Place, end: int, flags: int) -> None:
        at = start[0]
        block = self._code.block(start, end)
        for number, instruction in enumerate(block, 1):
            self._add_name(start, at - start[0])
            if at == end:
                self._add_jump(start, at - start[0], instruction, flags, number)
                return
            self._add_line(at, instruction)
            at += instruction.size
        if block:
            self.lines.append("\tmismatch of LBR data and executable\n")

    def _add_name(self, place: Place, behind: int = 0) -> None:
        """Add the name of a symbol that was not the last."""
        address = self._code.address(place[1])
        if address is None or self._symbol[0] <= address + behind < self._symbol[1]:
            return
        found = self._code.symbol(place[1], address + behind)
        if found is not None:
            self._symbol, offset = found, address + behind - found[0]
            line = "\t" + self._code.line(place[1], behind) if self._has_lines else ""
            self.lines.append(f"\t{found[2]}{f'+{offset}' * bool(offset)}:{line}\n")

    def _add_line(self, at: int, instruction: _Instruction) -> None:
        length = f"\tilen: {instruction.size}" * self._lengths
        self.lines.append(f"\t{at:016x}\t{instruction.text}{length}\n")

    def _add_jump(self, place: Place, behind: int, instruction: _Instruction, flags: int, count: int) -> None:
        line = f" srcline: {self._code.line(place[1], behind)}\t" if self._has_lines else ""
        length, cycles = f"ilen: {instruction.size}\t" * self._lengths, flags >> 4 & 0xFFFF
        words = "".join(word for bit, word in _WORDS.items() if flags & bit)
        if cycles:
            self._cycles += cycles
            words += f" {cycles} cycles [{self._cycles}]"
            if count:  # of single precision, as perf's
                words += f" {np.float32(count) / np.float32(cycles):.2f} IPC"
        self.lines.append(f"\t{place[0] + behind:016x}\t{instruction.text:<30}\t{length}{line}#{words}\n")
