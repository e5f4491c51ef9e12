"""A second reading of samples is paired with the first by positions in the file."""

from pathlib import Path

import numpy as np
import pytest

from perf2x.errors import FormatError
from perf2x.features.single_samples.reread_samples import _RowsByPosition
from perf2x.reader import first_walk
from perf2x.stitcher.stacks.sample_stacks import SampleSpools
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.recordings import CORPUS
from tests.unit.stitcher.stacks.test_sample_stacks import batch, numbers

RAW_EVENT = forge.Event(sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN | k.RAW | k.PERIOD)


def script(*words: object) -> tuple[str, str]:
    ran = perf2x("script", *words, "--no-symbols")
    assert ran.code == 0, ran.err
    return ran.out, ran.err


def sample(number: int) -> forge.Sample:
    return forge.Sample(pid=2, tid=2, time=1000 * number, ip=number, chain=(k.CONTEXT_USER, number), raw=bytes(12))


@pytest.mark.parametrize("damaged", [0, 7, 19])
def test_a_sample_whose_raw_data_lies_costs_itself_alone(damaged: int, tmp_path: Path) -> None:
    records: list[forge.Record] = [sample(number) for number in range(20)]
    raw = bytearray(records[damaged].encode((RAW_EVENT,), "<"))
    raw[-16:-12] = b"\xff\xff\xff\x7f"
    lying = [*records]
    lying[damaged] = forge.Raw(type=9, misc=k.USER, body=bytes(raw[8:]))
    paths = [tmp_path / name for name in ("whole", "without", "lying")]
    kept = records[:damaged] + records[damaged + 1 :]
    for path, some in zip(paths, (records, kept, lying), strict=True):
        path.write_bytes(forge.write_file(forge.Session((RAW_EVENT,)), some))
    whole, without, found = (script(path) for path in paths)
    assert found[0] == without[0] != whole[0]
    assert "1 damaged sample" in found[1]


def test_parts_of_a_session_in_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process reads a part of each file, so that rows are not in the order of the files."""
    monkeypatch.setattr(first_walk, "BLOCK_SIZE", 1 << 13)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 8)
    files = sorted((CORPUS / "switch_output").glob("perf.data.*"))
    assert len(files) > 1
    alone = script(*files, "--jobs", 1)
    assert all(script(*files, "--jobs", jobs) == alone for jobs in (2, 3))


def test_samples_that_change_meanwhile_are_told() -> None:
    spools = SampleSpools()
    for base in (100, 0):
        samples = batch(base + 1, base + 2, base + 3)
        samples.position = samples.position + base
        spools.add(samples, slice(None), numbers(base, 1, 2), numbers(3, 4, 5))
    rows = _RowsByPosition(spools.rows(), "perf.data")
    thread, stack, behind = rows.find(np.arange(3))
    assert (thread.tolist(), stack.tolist(), behind) == ([0, 1, 2], [3, 4, 5], 101)
    assert rows.find(np.arange(100, 103))[0].tolist() == [100, 1, 2]
    for other in ([0, 1], [0, 1, 3], [1, 2, 3], [0, 1, 2, 3], [100, 101, 102, 103], [200]):
        with pytest.raises(FormatError, match="changed while it was being read"):
            rows.find(np.array(other))
