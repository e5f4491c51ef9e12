"""Known places are sorted anew when twice as many are known, not whenever there are some more; calls are remembered."""

import numpy as np

from perf2x.base.binaries.cfi.unwind_rules import RuleTable
from perf2x.base.binaries.elf.call_sites import CallSites
from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.columnar.direct_mapped_cache import DirectMappedCache
from perf2x.stitcher.unwind.code_map import CodeMap
from perf2x.stitcher.unwind.unwound_chains import UserMappings
from perf2x.stitcher.unwind.x86_64 import X86_64
from tests.support.frame_writer import TEXT, FrameFile
from tests.support.simulated_program import LOAD_BIAS


class Asked:
    """Stands for the rules of an object: the rule of a place is its number modulo 1000; counts what it is asked."""

    def __init__(self) -> None:
        self.elf, self.problems, self.count = self, [], 0

    def svma(self, offset) -> tuple[np.ndarray, np.ndarray]:
        return offset, np.ones(len(offset), np.bool_)

    def find(self, svma) -> np.ndarray:
        self.count += len(svma)
        return (svma % np.uint64(1000)).astype(np.int32)


def test_keys_are_looked_up_once_and_sorted_rarely(monkeypatch) -> None:
    none = np.zeros(0, np.uint64)
    code = CodeMap(
        UserMappings(none, none, [], [], np.zeros(0, np.bool_), np.zeros(0, np.bool_)), None, X86_64, RuleTable(17)
    )
    code.objects += [Asked(), Asked()]
    sort, moved = np.argsort, []
    monkeypatch.setattr(np, "argsort", lambda values, **how: moved.append(len(values)) or sort(values, **how))
    assert not len(code._search(none))  # addresses in no object that can be read
    random, steps, step = np.random.default_rng(5), 1024, 8
    offsets = random.permutation(steps * step).astype(np.uint64)
    place = offsets | (offsets % np.uint64(2)) << np.uint64(48)
    for start in range(0, len(place), step):
        upto = place[: start + step]
        some = np.concatenate([upto[start:], random.choice(upto, 5)])
        assert code._search(some).tolist() == ((some & np.uint64(2**48 - 1)) % np.uint64(1000)).tolist()
    assert code._search(place).tolist() == (offsets % np.uint64(1000)).tolist()
    assert sum(one.count for one in code.objects) == len(place)
    assert sum(moved) <= len(place) * (steps.bit_length() + 1), "places sorted in all"


def test_calls_in_front_of_addresses_are_told_as_one_by_one() -> None:
    """The mapping of a program, and one of a file that is not there; few places to remember answers in."""
    random = np.random.default_rng(7)
    text = bytes(random.choice(np.array([0xE8, 0xFF, 0xD0, 0x90, 0x15], np.uint8), 0x4000))
    elf = open_elf(FrameFile([], text=text).bytes())
    load = next(segment for segment in elf.segments if segment.address == TEXT)
    start = np.array([LOAD_BIAS + TEXT, LOAD_BIAS + 0x100000], np.uint64)
    yes, no = np.array([True, True]), np.array([False, False])
    maps = UserMappings(start, np.array([load.offset, 0], np.uint64), ["/bin/program", "/bin/lost"], [b""] * 2, yes, no)
    code = CodeMap(maps, lambda name, build_id: (elf if name == "/bin/program" else None, None), X86_64, RuleTable(17))
    code._answers = DirectMappedCache(bits=4)
    sites, told = CallSites(elf), []
    for _ in range(20):
        mapping, offset = random.integers(0, 2, 100).astype(np.int32), random.integers(1, 0x4000, 100).astype(np.uint64)
        found = code.may_return_to(mapping, start[mapping] + offset)
        wanted = [m == 1 or sites.may_return_to(TEXT + at) for m, at in zip(mapping, offset.tolist(), strict=True)]
        assert found.tolist() == wanted
        told += wanted
    assert 0.6 < sum(told) / len(told) < 0.95
