"""Every (object, address, symbol) that perf 7.2 printed for the deferred recordings gets the same name here.

perf looks at the address itself, so the address is asked for as it is, without the minus one of return addresses.
"""

import pytest

from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Session
from perf2x.reader.recording import open_recording
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.perf_script import read_blocks
from tests.support.profile_builder import make_profile, name_of
from tests.support.recordings import deferred_cases

FOUND = [case for case in deferred_cases() if case.script and case.data.is_file()]
CASES = [
    pytest.param(case, id=str(case), marks=[pytest.mark.slow] if row % 8 else []) for row, case in enumerate(FOUND)
]


def distinct_frames(case) -> set[tuple]:
    """{(address, object): name as perf prints it} of a recording's text; inlined frames left out."""
    found = {}
    for block in read_blocks(case.script):
        for frame in block.frames:
            if not frame.inlined and frame.dso != "[unknown]" and frame.symbol != "(cookie)":
                found[frame.address, frame.dso] = frame.symbol
    return found


def profile_of(case, frames) -> tuple[Profile, list, Session]:
    """A profile with one location per frame, its mapping taken from the recording."""
    recording = open_recording(str(case.data))
    maps = recording.sideband.mmaps
    rows = []
    for row in range(len(maps)):
        build_id = maps.build_id[row] or recording.session.build_ids.get(maps.filename[row], b"")
        start, length = int(maps.start[row]), int(maps.length[row])
        rows.append(
            (start, start + length, int(maps.pgoff[row]), maps.filename[row], build_id.hex(), int(maps.pid[row]))
        )
    chosen, asked = [], []
    for address, dso in frames:
        name = dso.removesuffix(" (deleted)")
        held = [
            i
            for i, m in enumerate(rows)
            if m[0] <= address < m[1] and m[3].split("]_")[0].rstrip("]") == name.rstrip("]")
        ]
        if held:
            chosen.append((held[-1], address))
            asked.append((address, dso))
    return make_profile(rows, chosen), asked, recording.session


@pytest.mark.shared
@pytest.mark.skipif(not CASES, reason="the larger set of recordings is not here")
@pytest.mark.parametrize("case", CASES)
def test_names_agree_with_perf(case) -> None:
    frames = distinct_frames(case)
    if not frames:
        pytest.skip("perf cannot read this one")
    profile, asked, session = profile_of(case, frames)
    options = SymbolOptions(symfs=case.symfs, kallsyms=case.kallsyms, names="full", inline=False)
    result, _ = symbolize(profile, session, options, Diagnostics(), load_symbol_sources())
    result.check()
    differing = []
    for row, key in enumerate(asked):
        perfs, ours = frames[key], name_of(result, row)
        if perfs != (ours or "[unknown]"):
            differing.append((f"{key[0]:x}", key[1], perfs, ours))
    assert not [d for d in differing if d[2] != "[unknown]"], differing[:20]
