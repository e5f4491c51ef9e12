"""Addresses of objects and calls in front of them, through the mappings of processes."""

import numpy as np

from perf2x.base.binaries.cfi.unwind_rules import NO_RULE, RuleTable
from perf2x.base.binaries.elf.call_sites import CallSites
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.rule_by_address import CodeMap
from perf2x.stitcher.unwind.unwound_chains import UserMappings
from perf2x.stitcher.unwind.x86_64 import X86_64
from tests.support.frame_writer import TEXT, FrameFile
from tests.support.simulated_program import LOAD_BIAS


class Asked:
    """Stands for the rules of an object: the rule of a place is its number modulo 1000; counts what it is asked."""

    def __init__(self) -> None:
        self.elf, self.problems, self.count = self, [], 0

    def offset_to_svma(self, offset) -> tuple[np.ndarray, np.ndarray]:
        return offset, np.ones(len(offset), np.bool_)

    def find(self, svma) -> np.ndarray:
        self.count += len(svma)
        return (svma % np.uint64(1000)).astype(np.int32)


def test_addresses_of_objects_are_looked_up_once_for_all_mappings() -> None:
    """Two mappings of one object, one of another, one of a file that cannot be read, and addresses in none."""
    start = np.array([0x1000, 0x900000, 0x500000, 0x700000], np.uint64)
    maps = UserMappings(start, np.zeros(4, np.uint64), ["/a", "/a", "/b", "/lost"], [b""] * 4, start > 0, start < 0)
    code = CodeMap(maps, None, X86_64, RuleTable(17))
    code.objects += [Asked(), Asked()]
    code._object_of_mapping = np.array([0, 0, 1, -1], np.int32)
    assert not len(code.rules(np.zeros(0, np.int32), start[:0]))
    random = np.random.default_rng(5)
    asked = set()
    for _ in range(50):
        mapping, offset = random.integers(-1, 4, 100).astype(np.int32), random.integers(0, 900, 100).astype(np.uint64)
        found = code.rules(mapping, start[mapping] + offset)
        is_read = (mapping >= 0) & (mapping < 3)
        assert found.tolist() == np.where(is_read, (offset % np.uint64(1000)).astype(np.int64), NO_RULE).tolist()
        asked |= set(zip(code._object_of_mapping[mapping[is_read]].tolist(), offset[is_read].tolist(), strict=True))
    assert sum(one.count for one in code.objects) == len(asked) > 1000


def test_calls_in_front_of_addresses_are_told_as_one_by_one() -> None:
    """The mapping of a program, and one of a file that is not there."""
    random = np.random.default_rng(7)
    text = bytes(random.choice(np.array([0xE8, 0xFF, 0xD0, 0x90, 0x15], np.uint8), 0x4000))
    elf = open_elf(FrameFile([], text=text).bytes())
    load = next(segment for segment in elf.segments if segment.address == TEXT)
    start = np.array([LOAD_BIAS + TEXT, LOAD_BIAS + 0x100000], np.uint64)
    yes, no = np.array([True, True]), np.array([False, False])
    maps = UserMappings(start, np.array([load.offset, 0], np.uint64), ["/bin/program", "/bin/lost"], [b""] * 2, yes, no)
    code = CodeMap(maps, lambda name, build_id: (elf if name == "/bin/program" else None, None), X86_64, RuleTable(17))
    sites, told = CallSites(elf), []
    for _ in range(20):
        mapping, offset = random.integers(0, 2, 100).astype(np.int32), random.integers(1, 0x4000, 100).astype(np.uint64)
        found = code.may_return_to(mapping, start[mapping] + offset)
        wanted = [m == 1 or sites.may_return_to(TEXT + at) for m, at in zip(mapping, offset.tolist(), strict=True)]
        assert found.tolist() == wanted
        told += wanted
    assert 0.6 < sum(told) / len(told) < 0.95
