"""Names in real recordings of simpleperf (Android's own test data): as many as its rules give.

The figures are those of a second decoder; samply names fewer functions of each, or as many.
"""

import os
from pathlib import Path

import pytest

import perf2x

SHARED = (
    Path(os.environ.get("PERF2X_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "recordings" / "android"
)
EXPECTED = {
    "perf_with_trace_offcpu_v2": (304, 32_924, 32_910),
    "perf_with_jit_symbol": (151, 2_988, 2_865),
    "perf_display_bitmaps": (525, 27_219, 26_583),
    "perf_with_interpreter_frames": (4_032, 90_525, 78_019),
    "perf_with_kernel_symbols_available_true": (228, 5_533, 5_305),
    "perf_with_kernel_symbols_available_false": (205, 4_952, 4_055),
    "perf_with_symbols_for_nonzero_minvaddr_dso": (317, 317, 317),
    "perf_with_trace_offcpu": (2_369, 13_313, 11_932),
    "perf_with_tracepoint_event": (45, 45, 45),
    "perf_with_callchain_record": (21, 274, 274),
    "perf_with_generic_git_symbols": (60, 67, 8),
    "perf_sched_stat_runtime": (2_430, 2_430, 2_430),
    "wrong_ip_callchain_perf": (1_887, 26_775, 17_318),
}
"""Samples, frames, and frames with a name.

In perf_with_trace_offcpu an exec was recorded twice, once for each event: six frames in it belong to the program
before, which simpleperf does not forget, and which lies two images back here.
"""


@pytest.mark.shared
@pytest.mark.parametrize("name", EXPECTED)
def test_frames_have_the_names_that_the_phone_recorded(name: str) -> None:
    path = SHARED / f"{name}.data"
    if not path.exists():
        pytest.skip("Android's test data is not there")
    loaded = perf2x.read(str(path))
    assert loaded.symbols is not None
    assert (loaded.recording.sample_count, loaded.symbols.total, loaded.symbols.named) == EXPECTED[name]
