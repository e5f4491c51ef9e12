"""Thousands of events in thousands of samples: refused before the numbers of all fill the memory."""

from dataclasses import replace

import pytest

from perf2x.emitters.pprof import sample_types
from perf2x.errors import OptionError
from tests import forge
from tests.support import outputs
from tests.support.extremes import EVENT, SAMPLE

COUNT = 80


def test_events_times_samples_are_limited(tmp_path, monkeypatch) -> None:
    described = tuple(replace(EVENT, name=f"e{row}", ids=(row + 1,)) for row in range(COUNT))
    samples = [replace(SAMPLE, event=row, id=row + 1, pid=row + 1) for row in range(COUNT)]
    (tmp_path / "perf.data").write_bytes(forge.write_file(forge.Session(described), samples))
    profile = outputs.profile_of(tmp_path / "perf.data")
    monkeypatch.setattr(sample_types, "MOST_CELLS", COUNT * (COUNT + 1))
    assert len(outputs.read_pprof(outputs.emitted(profile, "pprof")).sample) == COUNT
    monkeypatch.setattr(sample_types, "MOST_CELLS", COUNT * (COUNT + 1) - 1)
    with pytest.raises(OptionError, match=r"81 sample types in each of 80 samples.*per_event"):
        outputs.emitted(profile, "pprof")
