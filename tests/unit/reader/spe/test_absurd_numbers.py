"""Whatever a record says of hardware trace, its samples are read, counted as damaged, or refused in a sentence."""

from pathlib import Path

import pytest

from perf2x.base.errors import Perf2xError
from perf2x.reader import open_recording
from tests.fuzz.mutations import AUXTRACE, AUXTRACE_INFO, EXTREMES, TIME_CONV, records_of
from tests.support.reading import EVERYTHING
from tests.support.spe_traces import recording


def of_kind(data: bytes, kind: int) -> list[tuple[int, int]]:
    return [(at, size) for at, size in records_of(data) if int.from_bytes(data[at : at + 4], "little") == kind]


@pytest.mark.parametrize("kind", [AUXTRACE, AUXTRACE_INFO, TIME_CONV])
def test_every_word_lies(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    whole, found = next((data, of_kind(data, kind)) for data in map(recording, range(9)) if of_kind(data, kind))
    at, size = found[0]
    for place in range(at + 8, at + size - 3, 4):
        for width in (4, 8):
            for lie in {number % 2 ** (8 * width) for number in EXTREMES}:
                path.write_bytes(whole[:place] + lie.to_bytes(width, "little") + whole[place + width :])
                try:
                    opened = open_recording(str(path))
                except Perf2xError:
                    continue
                read = sum(len(batch) for batch in opened.samples(EVERYTHING))
                assert read <= opened.sample_count, (place - at, lie)


def test_the_alignment_of_packets_is_that_of_the_buffer_wherever_it_ends(tmp_path: Path) -> None:
    """A buffer's offset counts on without end: its last bits tell where packets are moved to."""
    whole, path, counts = recording(0), tmp_path / "perf.data", []
    at, _ = of_kind(whole, AUXTRACE)[0]
    for offset in (0, 2**40, 2**63, 2**64 - 4096):
        path.write_bytes(whole[: at + 16] + offset.to_bytes(8, "little") + whole[at + 24 :])
        counts.append(open_recording(str(path)).sample_count)
    assert counts == [counts[0]] * 4 and counts[0]
