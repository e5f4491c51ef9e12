"""The scalar reference agrees with an independent parser's counts of every recording of the larger set."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.reference.decode import read
from tests.reference.deferred import Joiner, cookie_of
from tests.support.recordings import DEFERRED, deferred_cases

COUNTS = sorted(DEFERRED.glob("*/counts*.json"))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.skipif(not deferred_cases(), reason="the larger set of recordings is not here")
@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in COUNTS])
def test_the_reference_counts_as_the_independent_parser(path: Path) -> None:
    wanted = json.loads(path.read_text())
    recording = read(DEFERRED / wanted["file"])
    joiner = Joiner(recording.records)
    waiting = [sample for sample in recording.of("SAMPLE") if cookie_of(sample) is not None]
    joined = [(sample, record) for sample in waiting if (record := joiner.record_for(sample))]
    chains = recording.of("CALLCHAIN_DEFERRED")
    asked = {cookie_of(sample) for sample in waiting}
    found = {
        "samples": len(recording.of("SAMPLE")),
        "deferred": len(chains),
        "samples_with_cookie": len(waiting),
        "samples_never_completed": len(waiting) - len(joined),
        "deferred_without_sample": sum(chain.cookie not in asked for chain in chains),
        "cookies_with_several_deferred_records": sum(n > 1 for n in Counter(c.cookie for c in chains).values()),
        "tid_mismatch": sum(record.stamp_tid != sample.tid for sample, record in joined),
        "completed_samples_whose_record_is_earlier_in_time": sum(
            (record.time or 0) < (sample.time or 0) for sample, record in joined
        ),
    }
    assert found == {name: wanted[name] for name in found}
