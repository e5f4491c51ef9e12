"""Whatever happens to a few processes, the stacks are what the scalar stitcher makes of it."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests import forge
from tests.forge.histories import EVENT, histories
from tests.reference.decode import read
from tests.reference.stitch import stitch
from tests.support.against_perf import Ours
from tests.support.examples import examples
from tests.support.from_reference import ours_of
from tests.support.product import product_samples, stitched


@pytest.fixture(scope="module")
def forged_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged") / "perf.data"


def row(sample: Ours) -> tuple[object, ...]:
    return sample.time_ns, sample.tid, sample.comm, sample.period, sample.missing, tuple(sample.frames)


@settings(max_examples=examples(150))
@given(histories())
def test_stacks_equal_the_scalar_stitcher(forged_file: Path, records: list[forge.Record]) -> None:
    raw = forge.write_file(forge.Session((EVENT,)), records)
    forged_file.write_bytes(raw)
    recording, profile = stitched(forged_file)
    profile.check()
    ours = Counter(map(row, product_samples(recording, profile)))
    theirs = Counter(row(ours_of(stack)) for stack in stitch(read(raw)))
    assert ours == theirs


@settings(max_examples=examples(40))
@given(histories())
def test_big_endian_stitches_the_same(forged_file: Path, records: list[forge.Record]) -> None:
    profiles = []
    for order in "<>":
        forged_file.write_bytes(forge.write_file(forge.Session((EVENT,), order), records))
        profiles.append(Counter(map(row, product_samples(*stitched(forged_file)))))
    assert profiles[0] == profiles[1]
