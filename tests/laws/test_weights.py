"""Every process draws new hash weights, and no byte of any output depends on them."""

import subprocess
import sys
from pathlib import Path

import pytest

from perf2x.base.columnar import hashing
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS
from tests import forge
from tests.support import outputs
from tests.support.collisions import chains_alike, other_weights
from tests.support.recordings import Case, corpus_cases

FORMATS = sorted(entry_points_by_name(EMITTERS))
FEW = [case for case in corpus_cases() if case.name in {"events", "family", "switch_output", "unwind"}]


def all_formats(path: Path) -> dict[str, bytes]:
    found = {}
    for timeline in (False, True):
        profile = outputs.profile_of(path, timeline=timeline)
        names = [name for name in FORMATS if outputs.is_timeline(name) == timeline]
        found |= {name: outputs.emitted(profile, name) for name in names}
    return found


def test_weights_differ_from_process_to_process() -> None:
    ask = "from perf2x.base.columnar.hashing import weights; print(weights())"
    told = {subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(told) == 2
    assert all(text.startswith("Weights(") for text in told)


@pytest.mark.parametrize("case", FEW, ids=str)
def test_outputs_do_not_depend_on_the_weights(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = all_formats(case.data)
    for seed in (1, 2):
        monkeypatch.setattr(hashing, "_weights", other_weights(seed))
        assert all_formats(case.data) == expected


def test_colliding_stacks_give_the_bytes_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chains = chains_alike(500)
    samples = [forge.Sample(ip=chain[0], chain=tuple(chain), time=at) for at, chain in enumerate(chains.tolist())]
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(), samples))
    colliding = all_formats(path)
    monkeypatch.setattr(hashing, "_weights", other_weights(1))
    assert all_formats(path) == colliding
