"""Converts recordings in the tests' own process, and reads the outputs back."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from perf2x.emitters.pprof import profile_pb2
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.registry import load_emitter
from perf2x.model.format_features import CodeSettings, SingleSampleSettings
from perf2x.model.profile.profile import Profile
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.recordings import Case


@lru_cache(maxsize=2)
def symbols_of(case: Case) -> SymbolOptions:
    """Symbols from the corpus alone, named as perf names them: no build-id cache, no network."""
    return SymbolOptions(
        symfs=case.symfs,
        kallsyms=case.kallsyms,
        buildid_dir=Path("/nonexistent"),
        perf_map_dir=case.data.parent,
        inline=False,
        names="full",
    )


def profile_of(
    paths: Path | Sequence[Path], *, timeline: bool = False, symbols: SymbolOptions | None = None
) -> Profile:
    given = [paths] if isinstance(paths, Path) else list(paths)
    return load([str(path) for path in given], LoadOptions(timeline=timeline, symbols=symbols)).profile


def emitted(profile: Profile, name: str, **options: object) -> bytes:
    out = io.BytesIO()
    load_emitter(name)(**options).emit(profile, out)
    return out.getvalue()


def is_timeline(name: str) -> bool:
    return bool(load_emitter(name)().needs.timeline)


def is_on_demand(name: str) -> bool:
    """Whether a format is made of what profiles have on demand: counts of one object's code, samples as recorded."""
    needs = load_emitter(name)().needs
    return needs.of(CodeSettings).code is not None or needs.of(SingleSampleSettings).as_recorded


def read_collapsed(raw: bytes) -> Counter[tuple[str, ...]]:
    """Stack (root first) → number."""
    found: Counter[tuple[str, ...]] = Counter()
    for line in raw.decode().splitlines():
        stack, _, number = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(number)
    return found


def read_pprof(raw: bytes) -> profile_pb2.Profile:
    found = profile_pb2.Profile()
    found.ParseFromString(gzip.decompress(raw))
    return found


def pprof_sums(found: profile_pb2.Profile) -> dict[str, int]:
    """Name of each sample type → sum of its values."""
    names = [found.string_table[kind.type] for kind in found.sample_type]
    columns = zip(*(sample.value for sample in found.sample), strict=True)
    return {name: sum(column) for name, column in zip(names, columns, strict=True)}


def speedscope_sum(raw: bytes) -> int:
    return sum(sum(profile["weights"]) for profile in json.loads(raw)["profiles"])
