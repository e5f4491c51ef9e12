"""Unwinders of one mapped object, for simulated programs and for stacks written by hand."""

from random import Random

import numpy as np

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import FindMapping, MappingFinder, UserChains, UserMappings
from tests.support.frame_writer import TEXT, FrameFile
from tests.support.simulated_program import (
    LOAD_BIAS,
    SITE,
    SIZE,
    Machine,
    stacks_of,
)

TEXT_END = 0x8000


def finder_of(lookup: FindMapping) -> MappingFinder:
    """Finds mappings by ``lookup`` at any time, of up to 1,000 samples."""
    none = np.zeros(1000, np.int64)
    return MappingFinder(none, none, np.array([0, -1]), lookup, lookup)


def unwinder_of(elf, arch, max_depth=1024, is_jit=False) -> tuple[Unwinder, MappingFinder]:
    """An unwinder of one mapped object, and its finder."""
    load = next(segment for segment in elf.segments if segment.type == "PT_LOAD" and segment.address == TEXT)
    start = np.array([LOAD_BIAS + TEXT], np.uint64)
    offset, yes, jit = np.array([load.offset], np.uint64), np.array([True]), np.array([is_jit])
    mappings = UserMappings(start, offset, ["/bin/program"], [b""], yes, jit)

    def lookup(rows, address) -> np.ndarray:
        inside = (address >= start[0]) & (address < np.uint64(LOAD_BIAS + TEXT_END))
        return np.where(inside, np.int32(0), np.int32(-1))

    return Unwinder(mappings, lambda name, build_id: (elf, None), arch, max_depth), finder_of(lookup)


def unwound(program, machines, requested=1 << 16, max_depth=1024, **more) -> UserChains:
    elf = open_elf(program.file(**more).bytes())
    unwinder, finder = unwinder_of(elf, program.arch, max_depth)
    return unwinder.unwind(stacks_of(machines, requested), finder)


def by_hand(frames, words, requested=None, place=0, frame_pointer=None, **more) -> UserChains:
    """A thread in one of ``frames`` whose stack holds ``words``, lowest first, is unwound.

    Its frame pointer leads to the word of that number.
    """
    machine = Machine("x86_64", Random(1))
    for word in reversed(words):
        machine.push(word)
    machine.registers[16] = LOAD_BIAS + TEXT + SIZE * place + SITE
    if frame_pointer is not None:
        machine.registers[6] = machine.registers[7] + 8 * frame_pointer
    unwinder, finder = unwinder_of(open_elf(FrameFile(frames, **more).bytes()), "x86_64")
    return unwinder.unwind(stacks_of([machine], 8 * len(words) if requested is None else requested), finder)
