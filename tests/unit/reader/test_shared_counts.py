"""Record counts of the shared recordings equal those of an independent parser."""

import json
import os
from pathlib import Path

import pytest

from perf2x.model.recording.events import Want
from perf2x.reader import open_recording

SHARED = Path(os.environ.get("PERF2X_SHARED", Path(__file__).resolve().parents[4] / "shared"))
SPLIT = {"37_group_read_defer": 966}
"""Group reads: number of samples that perf script prints, one for each member that grew."""
RENAMED = {"ATTR": "HEADER_ATTR", "BUILD_ID": "HEADER_BUILD_ID"}


def _cases() -> list[tuple[Path, dict[str, int]]]:
    cases: list[tuple[Path, dict[str, int]]] = []
    for listing in sorted(SHARED.glob("recordings/deferred/*/counts.json")):
        counted = json.loads(listing.read_text())
        entries = counted if isinstance(counted, list) else [counted]
        cases.extend((listing.parent / Path(entry["file"]).name, entry["records"]) for entry in entries)
    return cases


def _name(value: object) -> str:
    return f"{value.parent.name}-{value.name}" if isinstance(value, Path) else ""


@pytest.mark.shared
@pytest.mark.parametrize(("path", "records"), _cases(), ids=_name)
def test_record_counts_equal_the_independent_ones(path: Path, records: dict[str, int]) -> None:
    recording = open_recording(str(path))
    expected = {RENAMED.get(name, name): count for name, count in records.items()}
    assert dict(recording.sideband.record_counts) == expected
    batches = list(recording.samples(Want.CHAIN))
    assert sum(map(len, batches)) == recording.sample_count
    assert recording.sample_count == SPLIT.get(path.parent.name, records["SAMPLE"])
