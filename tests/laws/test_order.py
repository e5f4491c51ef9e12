"""The order of records in a file, and how many files they are in, changes nothing; a record lost harms only its own."""

from collections import Counter
from pathlib import Path

import pytest

from tests.forge import rewrite
from tests.reference.deferred import cookie_of
from tests.support import outputs
from tests.support.from_reference import opinion_of
from tests.support.product import product_samples, stitched
from tests.support.recordings import HALVES, Case, corpus_cases, quick_first

TIMED = [case for case in corpus_cases() if case.name != "per_thread"]
ONE_HALF, OTHER_HALF = (quick_first(TIMED, quick=half) for half in HALVES)
WITH_DEFERRED = {"compat32", "forker", "group_read", "pipe_zstd", "switch_output", "task_end", "user_only", "zstd"}
DEFERRED = quick_first(case for case in TIMED if case.name.partition("/")[0] in WITH_DEFERRED)


def formats_of(*paths: Path) -> tuple[bytes, bytes]:
    """Two outputs with everything in them that aggregated outputs have."""
    profile = outputs.profile_of(paths)
    profile.check()
    collapsed = outputs.emitted(profile, "collapsed", event="all", value="samples", with_tid=True)
    return collapsed, outputs.emitted(profile, "pprof", compress=False)


@pytest.mark.parametrize("case", OTHER_HALF)
def test_shuffled_records_give_the_same(case: Case, tmp_path: Path) -> None:
    pieces = rewrite.pieces_of(case.data)
    whole, mixed = tmp_path / "perf.data", tmp_path / "mixed"
    whole.write_bytes(pieces.to_file())
    mixed.write_bytes(rewrite.shuffled(pieces, opinion_of(case.data).recording, seed=1).to_file())
    assert whole.read_bytes() != mixed.read_bytes()
    assert formats_of(mixed) == formats_of(whole)


@pytest.mark.parametrize("case", [case for case in ONE_HALF if case.id != "group_read"])
def test_two_halves_give_the_whole(case: Case, tmp_path: Path) -> None:
    """All but counter readings, which begin anew in each file (perf knows no more of the file before either)."""
    pieces = rewrite.pieces_of(case.data)
    whole = tmp_path / "perf.data"
    whole.write_bytes(pieces.to_file())
    parts = [tmp_path / "perf.data.1", tmp_path / "perf.data.2"]
    for path, half in zip(parts, rewrite.halves(pieces), strict=True):
        path.write_bytes(half.to_file())
    assert formats_of(*parts) == formats_of(whole)
    assert formats_of(*reversed(parts)) == formats_of(whole)


@pytest.mark.parametrize("case", DEFERRED)
def test_a_lost_record_affects_only_its_own_samples(case: Case, tmp_path: Path) -> None:
    pieces, recording = rewrite.pieces_of(case.data), opinion_of(case.data).recording
    records = recording.of("CALLCHAIN_DEFERRED")
    record = records[len(records) // 2]
    whole, rest = tmp_path / "perf.data", tmp_path / "rest"
    whole.write_bytes(pieces.to_file())
    rest.write_bytes(rewrite.without(pieces, record.at).to_file())
    before, after = (Counter(map(repr, product_samples(*stitched(path)))) for path in (whole, rest))
    own = [sample for sample in recording.of("SAMPLE") if cookie_of(sample) == record.cookie]
    again = sum(other.cookie == record.cookie for other in records) > 1
    assert sum((before - after).values()) == (0 if again else len(own))
    assert all("missing=True" in line for line in after - before)
