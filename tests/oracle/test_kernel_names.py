"""Kernel frames have the names that perf 7.2 printed, stack by stack, behind interrupts too.

perf looks a kernel address up as recorded. One byte earlier is right for what was called and wrong for what was
interrupted, so equal names show that the product tells them apart.
"""

from collections import Counter

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import stack_locations
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.perf_script import Block, read_blocks
from tests.support.profile_builder import name_of
from tests.support.recordings import Case, corpus_cases, deferred_cases, quick_first

Stack = tuple[tuple[int, str], ...]
"""(address, name) of a sample's kernel frames, outermost first."""
CASES = quick_first(case for case in corpus_cases() if case.script and case.kallsyms)
CASES += [
    pytest.param(case, id=f"shared-{case}", marks=[pytest.mark.shared, *([pytest.mark.slow] if row % 16 else [])])
    for row, case in enumerate(case for case in deferred_cases() if case.script and case.data.is_file())
]


def our_stacks(profile: Profile) -> Counter[Stack]:
    locations, found = profile.locations, Counter[Stack]()
    rows = stack_locations(profile, profile.samples.stack.astype("i8"))
    names = {row: name_of(profile, row) or "[unknown]" for row in set(rows.values.tolist())}
    for at, count in enumerate(profile.samples.count.tolist()):
        row = rows.values[rows.offsets[at] : rows.offsets[at + 1]].tolist()
        found[tuple((int(locations.address[n]), names[n]) for n in row if locations.mode[n] == CpuMode.KERNEL)] += count
    return found


def perfs_stack(block: Block) -> Stack:
    frames = reversed(block.frames)
    return tuple((f.address, f.symbol) for f in frames if f.dso == "[kernel.kallsyms]" and not f.inlined)


@pytest.mark.parametrize("case", CASES)
def test_kernel_frames_are_named_as_perf_names_them(case: Case) -> None:
    perfs = Counter(perfs_stack(block) for block in read_blocks(case.script))
    if not any(perfs):
        pytest.skip("perf cannot read this one, or it has no kernel frames")
    symbols = SymbolOptions(kallsyms=case.kallsyms, symfs=case.symfs, inline=False)
    ours = our_stacks(load(str(case.data), LoadOptions(symbols=symbols)).profile)
    assert ours - perfs == Counter() and perfs - ours == Counter()
