"""An opened recording: it does not change, and reading samples again counts no damage twice."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.model.recording.events import Session, Want
from tests import forge
from tests.forge import kernel
from tests.support.reading import reopened

EVENT = forge.Event(sample_type=kernel.IP | kernel.TID | kernel.TIME | kernel.CALLCHAIN | kernel.CPU, ids=(5,))
SAMPLE = forge.Sample(ip=1, pid=2, tid=2, time=9, chain=(7, 8))


def test_damage_is_counted_once_however_often_samples_are_read(tmp_path: Path) -> None:
    damaged = [replace(SAMPLE, nr=2**61), replace(SAMPLE, cpu=1 << 31), SAMPLE]
    recording = reopened(tmp_path, forge.Session((EVENT,)), damaged)
    for want in Want.CHAIN, Want.CHAIN | Want.REREAD:
        (batch,) = recording.samples(want)
        assert len(batch) == 2
        assert recording.diagnostics["samples_malformed"] == recording.diagnostics["implausible_cpu"] == 1


def test_an_opened_recording_is_immutable(tmp_path: Path) -> None:
    recording = reopened(tmp_path, forge.Session((EVENT,)), [SAMPLE])
    with pytest.raises(AttributeError):
        recording.session = Session("another", "<", ())  # type: ignore[misc]
