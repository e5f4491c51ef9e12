"""Do pairs of recordings of one program pass the gate of ``diff`` as often as its confidence says?

Repetitions are resampled from a real recording: each row of samples is met a Poisson number of times. For more pairs:
``python -m tests.unit.tools.diff.test_gate_experiment PERF_DATA PAIRS`` prints a table.
"""

import sys
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.cli.diff.fail_above import GrowthGate
from perf2x.cli.options.diff_options import GrowthFlags, read_limit
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.tools.diff.changes import Comparison
from tests.support.recordings import CORPUS


def loaded(path: str) -> Profile:
    symbols = SymbolOptions(symfs=CORPUS / "common" / "symfs", kallsyms=CORPUS / "common" / "kallsyms.xz")
    return load(path, LoadOptions(symbols=symbols)).profile


def repeated(profile: Profile, random: np.random.Generator, growth: float = 0.0, times: int = 1) -> Profile:
    """One more recording, ``times`` as long, with ``growth`` of the total added where most samples were taken."""
    samples = profile.samples
    place = profile.stacks.location[samples.stack]
    hottest = place == np.bincount(place, samples.count).argmax()
    mean = samples.count * float(times)
    mean[hottest] *= 1 + growth * samples.count.sum() / samples.count[hottest].sum()
    count = random.poisson(mean)
    met = np.flatnonzero(count)
    columns = {
        name: column[met] for name in samples.__struct_fields__ if (column := getattr(samples, name)) is not None
    }
    columns |= {"count": count[met], "value": samples.value[met] // samples.count[met] * count[met]}
    return replace(profile, samples=replace(samples, **columns))


def failures(
    profile: Profile, gate: GrowthGate, pairs: int, *, normalize: bool = False, growth: float = 0, times: int = 1
) -> int:
    """Count the pairs that the gate does not let pass."""
    random, closed = np.random.default_rng(2026), 0
    for _ in range(pairs):
        pair = repeated(profile, random, times=times), repeated(profile, random, growth, times)
        closed += bool(gate.verdict("function", _compared(*pair, normalize)).failures)
    return closed


def _compared(before: Profile, after: Profile, normalize: bool) -> Callable[[str], Comparison]:
    return lambda kind: Comparison(totals(before, None, kind), totals(after, None, kind), normalize)


@pytest.mark.parametrize("bar", ["function=0.1", "1"])
@pytest.mark.parametrize("normalize", [False, True])
def test_repetitions_pass(bar: str, normalize: bool) -> None:
    profile = loaded(str(CORPUS / "zstd" / "perf.data"))
    asked = GrowthFlags((read_limit(bar),))
    assert failures(profile, GrowthGate(asked, "self"), 12, normalize=normalize) <= 2
    assert failures(profile, GrowthGate(replace(asked, any_change=True), "self"), 3, normalize=normalize) >= 2


def test_growth_is_caught() -> None:
    profile = loaded(str(CORPUS / "zstd" / "perf.data"))
    assert failures(profile, GrowthGate(GrowthFlags((read_limit("function=5"),)), "self"), 8, growth=0.15) >= 7


def main(path: str, pairs: int) -> None:
    """Print how often repetitions fail with either rule, and how often growth of a tenth of the total is caught."""
    profile = loaded(path)
    print(f"{path}: {profile.samples.count.sum():,} samples, {len(totals(profile).rows)} functions, {pairs} pairs")
    for bar in ("function=0.1", "function=1", "function=5", "total=1", "1"):
        for normalize in (False, True):
            for sort in ("self", "total"):
                asked = GrowthFlags((read_limit(bar),))
                gate, every = GrowthGate(asked, sort), GrowthGate(replace(asked, any_change=True), sort)
                said = [failures(profile, one, pairs, normalize=normalize) for one in (every, gate)]
                caught = [failures(profile, gate, pairs, normalize=normalize, growth=0.1, times=n) for n in (1, 4)]
                shown = "shares" if normalize else "values"
                print(f"{bar:13} {sort:6} {shown}: any {said[0]}, gate {said[1]}; +10 % {caught[0]}, x4 {caught[1]}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
