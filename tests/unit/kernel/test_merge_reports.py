"""Reports of several recordings: counts add up, sizes become their maximum."""

from perf2x.features.off_cpu.wait_report import WaitReport
from perf2x.kernel.merge_reports import sum_reports
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.unwind.unwound_chains import End


def test_the_requested_size_is_the_largest() -> None:
    reports = [UnwindReport({End.TRUNCATED: 2}, 5, requested=8192), UnwindReport({End.TRUNCATED: 1}, 3, requested=512)]
    whole = sum_reports(reports)
    assert (whole.ends, whole.frames, whole.requested) == ({End.TRUNCATED: 3}, 8, 8192)


def test_the_distance_of_waits_is_the_largest() -> None:
    assert sum_reports([WaitReport(1, 5, 0, 0, near_ns=7), WaitReport(2, 6, 0, 0, near_ns=9)]).near_ns == 9
