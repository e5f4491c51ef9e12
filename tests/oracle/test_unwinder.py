"""Unwound stacks are what perf 7.2 (libdw) makes of the same recordings, sample by sample; differences are named.

Without unwind information, perf goes by the frame pointer alone, and skips the caller of a leaf.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.against_perf import Ours, compare, perf_object
from tests.support.perf_script import read_blocks
from tests.support.recordings import CORPUS, Case, corpus_cases

ELSEWHERE = {"unwind_jit", "unwind_ends"}
"""Recordings that modules of their own compare."""
CASES = [case for case in corpus_cases() if case.name.startswith("unwind") and case.name not in ELSEWHERE]
TRAMPOLINE = 0x400151
"""``restorer`` in programs/frames.c; no unwind information describes it, and libdw does not know its code: perf ends
there, or goes on by frame pointer into frames that are not the interrupted function's."""
IN_HANDLERS = {"unwind": 1, "unwind_debug_frame": 4, "unwind_frame_pointer": 1, "unwind_other_stack": 1}
PLACEHOLDERS = {
    "unwind": {},
    "unwind_debug_frame": {"[truncated stack]": 3},
    "unwind_frame_pointer": {"[truncated stack]": 1},
    "unwind_other_stack": {"[stack not copied]": 1},
    "unwind_short": {"[truncated stack]": 36},
    "unwind_vdso": {"[truncated stack]": 2},
}


def samples_of(path: Path) -> tuple[list[Ours], Counter[str]]:
    """Every sample in perf's terms, and how often each made-up frame stands below a stack."""
    common = CORPUS / "common"
    places = {"symfs": common / "symfs", "buildid_dir": common / "buildid", "perf_map_dir": path.parent}
    symbols = SymbolOptions(**places, inline=False)
    loaded = load(str(path), LoadOptions(timeline=True, symbols=symbols))
    profile = loaded.profile
    profile.check()
    frames = [frame_of(profile, row) for row in range(len(profile.locations))]
    stacks: list[list[tuple[int, str, int]]] = []
    for parent, location in zip(profile.stacks.parent.tolist(), profile.stacks.location.tolist(), strict=True):
        stacks.append([frames[location], *(stacks[parent] if parent >= 0 else [])])
    (event,) = (event.name for event in profile.events)
    columns = (profile.samples.thread, profile.samples.stack, profile.samples.value, profile.samples.time)
    ours, placeholders = [], Counter[str]()
    for thread, stack, value, time in zip(*(column.tolist() for column in columns), strict=True):
        whole = stacks[stack] if stack >= 0 else []
        real = [(address, dso) for address, dso, mode in whole if mode >= 0]
        placeholders.update(name for _, name, mode in whole if mode < 0)
        comm = profile.strings[int(profile.threads.comm[thread])]
        kernel = sum(mode == CpuMode.KERNEL for _, _, mode in whole)
        ours.append(Ours(int(profile.threads.tid[thread]), time, event, comm, value, real, kernel))
    return ours, placeholders


def frame_of(profile, row: int) -> tuple[int, str, int]:
    """Address as perf prints it: where it looks a frame up in user space, as recorded in the kernel."""
    locations = profile.locations
    if locations.synthetic[row]:
        function = int(locations.line_function[int(locations.line_offsets[row])])
        return 0, profile.strings[int(profile.functions.name[function])], -1
    mode, mapping = int(locations.mode[row]), int(locations.mapping[row])
    name = profile.strings[int(profile.mappings.filename[mapping])] if mapping >= 0 else None
    address = locations.address[row] if mode == CpuMode.KERNEL else locations.lookup[row]
    return int(address), perf_object(name), mode


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unwinds_like_perf(case: Case) -> None:
    assert case.script is not None
    ours, placeholders = samples_of(case.data)
    in_handlers = [sample for sample in ours if TRAMPOLINE in [address for address, _ in sample.frames]]
    assert len(in_handlers) == IN_HANDLERS.get(case.name, 0)
    if case.name == "unwind_frame_pointer":  # every sample is in a leaf, whose frame pointer is that of its caller
        ours = [replace(sample, frames=[sample.frames[0], *sample.frames[2:]]) for sample in ours]
    outcome = compare(ours, read_blocks(case.script))
    expected = Counter(equal=len(ours) - len(in_handlers), addresses=len(in_handlers))
    assert outcome.verdicts == +expected
    if in_handlers:
        different, _ = outcome.examples["addresses"]
        assert different.time_ns in [sample.time_ns for sample in in_handlers]
    assert placeholders == PLACEHOLDERS[case.name]


def test_the_recordings_exist() -> None:
    assert [case.name for case in CASES] == sorted(PLACEHOLDERS)
