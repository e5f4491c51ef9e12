"""Record counts of the shared recordings, as an independent parser counted them."""

import json
import os
from pathlib import Path

import pytest

from perf2x.model.events import Want
from perf2x.read import open_recording

SHARED = Path(os.environ.get("PERF2X_SHARED", Path(__file__).resolve().parents[4] / "shared"))
RENAMED = {"ATTR": "HEADER_ATTR", "BUILD_ID": "HEADER_BUILD_ID"}


def _cases() -> list[tuple[Path, dict[str, int]]]:
    cases = []
    for listing in sorted(SHARED.glob("recordings/deferred/*/counts.json")):
        counted = json.loads(listing.read_text())
        for entry in counted if isinstance(counted, list) else [counted]:
            cases.append((listing.parent / Path(entry["file"]).name, entry["records"]))
    return cases


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not here")
@pytest.mark.parametrize(
    ("path", "records"), _cases(), ids=lambda value: getattr(value, "parent", None) and value.parent.name
)
def test_record_counts(path: Path, records: dict[str, int]) -> None:
    recording = open_recording(str(path))
    expected = {RENAMED.get(name, name): count for name, count in records.items()}
    assert dict(recording.sideband.record_counts) == expected
    batches = list(recording.samples(Want.CHAIN))
    assert sum(map(len, batches)) == recording.sample_count == records["SAMPLE"]
