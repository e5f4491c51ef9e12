"""Every recording with deferred callchains: what was joined, what is missing and why, against counts.json.

``counts.json`` stands beside each of the project's large recordings and was made by an independent parser.
"""

import json
from pathlib import Path

import pytest

from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from perf2x.stitcher.deferred.deferred_join import DeferredReport, deferred_report
from perf2x.stitcher.history.process_history import build_process_history
from perf2x.stitcher.stitch import Stitcher, StitchOptions
from tests.support.recordings import DEFERRED

LISTINGS = sorted(DEFERRED.glob("*/counts*.json")) if DEFERRED.is_dir() else []
COLUMNS = ("samples", "records", "joined", "joined_early_record", "joined_across_exec", "missing", "refused", "orphans")


def report_of(path: Path) -> DeferredReport:
    diagnostics = Diagnostics()
    recording = open_recording(str(path), diagnostics=diagnostics)
    history = build_process_history(recording.session, recording.sideband, diagnostics)
    stitcher = Stitcher(history, StitchOptions())
    for batch in recording.samples(Want.CHAIN):
        stitcher.add(batch)
    return deferred_report(history, stitcher.result().deferred_tally)


def recording_of(listing: Path) -> Path:
    """``counts.json`` speaks of ``perf.data``, ``counts.NAME.json`` of ``NAME``."""
    return listing.with_name(listing.name.removeprefix("counts.").removesuffix("json").rstrip(".") or "perf.data")


def row(name: str, report: DeferredReport) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.missing_reasons.items())
    return f"{name:58}" + "".join(f"{getattr(report, column):>9,}" for column in COLUMNS) + f"  {reasons}"


@pytest.mark.shared
@pytest.mark.skipif(not LISTINGS, reason="the project's large recordings are not here")
def test_every_sample_with_a_record_is_joined(capsys: pytest.CaptureFixture[str]) -> None:
    found = {listing: report_of(recording_of(listing)) for listing in LISTINGS}
    with capsys.disabled():
        print(f"\n{'recording':58}" + "".join(f"{column.removeprefix('joined_')[:8]:>9}" for column in COLUMNS))
        for listing, report in found.items():
            print(row(f"{listing.parent.name}/{recording_of(listing).name}", report))
    for listing, report in found.items():
        counts = json.loads(listing.read_text())
        groups = counts["samples"] != _expanded(recording_of(listing))
        assert report.records == counts["deferred"], listing
        assert groups or report.samples == counts["samples_with_cookie"], listing
        assert groups or report.missing == counts["samples_never_completed"], listing
        assert report.joined_across_exec == counts["tid_mismatch"], listing
        assert report.orphans == counts["deferred_without_sample"], listing
        assert (report.joined + report.missing, report.refused) == (report.samples, 0), listing
        assert sum(report.missing_reasons.values()) == report.missing, listing
    timed = [report for listing, report in found.items() if "per_thread" not in listing.parent.name]
    assert sum(report.joined_early_record for report in timed) == 133
    assert sum(report.joined_across_exec for report in found.values()) == 47
    assert sum(report.missing for report in found.values()) == 1248


def _expanded(path: Path) -> int:
    """Samples after group reads were split into one per member."""
    return open_recording(str(path)).sample_count
