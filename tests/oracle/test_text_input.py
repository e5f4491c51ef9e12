"""perf's own text of the corpus as an input: samples as a plain parser reads them, folds as of the recording itself."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile.synthetic_frames import ROOT_FRAME_NAMES
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support import outputs
from tests.support.command import folded, perf2x
from tests.support.perf_script import Block, read_blocks
from tests.support.recordings import HALVES, Case, corpus_cases, quick_first

CASES = quick_first(case for case in corpus_cases() if case.script)
ALIKE = {"calls", "events", "family", "group_read", "shapes", "unwind_jit", "user_only"}
"""Recordings of which perf says what perf2x says; test_collapsed.py and verdicts.py explain the others."""
MISSING = {"(cookie)": "[user stack missing]"}


def loaded(case: Case, *, timeline: bool = False) -> outputs.Profile:
    return load(str(case.script), LoadOptions(symbols=SymbolOptions(), timeline=timeline)).profile


def names_of(block: Block) -> tuple[str, ...]:
    """Root first, as perf2x calls frames."""
    return tuple(MISSING.get(frame.symbol, name_of(frame.symbol, frame.dso)) for frame in reversed(block.frames))


def name_of(symbol: str, dso: str) -> str:
    if symbol != "[unknown]":
        return symbol.replace(";", ":")
    return dso if dso.startswith("[") else f"[{dso.rpartition('/')[2]}]"


@pytest.mark.parametrize("case", CASES)
def test_samples_are_those_that_a_plain_parser_reads(case: Case) -> None:
    assert case.script is not None
    blocks = read_blocks(case.script)
    profile = loaded(case, timeline=True)
    profile.check()
    got = outputs.read_collapsed(outputs.emitted(profile, "collapsed", event="all", value="samples"))
    wanted = Counter((block.comm.strip().replace(" ", "_"), *(names_of(block) or ("[no stack]",))) for block in blocks)
    assert Counter(got) == wanted
    samples = profile.samples
    assert sorted(samples.value.tolist()) == sorted(block.period or 1 for block in blocks)
    assert sorted(profile.threads.tid[samples.thread].tolist()) == sorted(block.tid for block in blocks)
    if all(block.time is not None for block in blocks):
        assert np.array_equal(samples.times // 1000, sorted(block.time or 0 for block in blocks))


MADE_UP = frozenset(ROOT_FRAME_NAMES.values())
"""Frames of perf2x's own, which perf's text has no line for."""
MAPPED = {"perf_map", "unwind_jit"}
"""Recordings with code that the text calls by the name of its perf map, perf2x [anon]."""


@pytest.mark.parametrize(
    "case", quick_first((case for case in corpus_cases() if case.name not in MAPPED), quick=HALVES[1] | {"unwind"})
)
def test_printed_and_read_again_a_recording_has_the_same_folds(case: Case, tmp_path: Path) -> None:
    words = ["--names", "full", "--no-inline", "-q"]
    symbols = outputs.symbols_of(case)
    sources = [
        word for name in ("symfs", "kallsyms") if (path := getattr(symbols, name)) for word in (f"--{name}", path)
    ]
    printed, wanted = tmp_path / "printed", Counter[str]()
    assert perf2x("convert", case.data, "--to", "perf-script", "-o", printed, "-q", *sources).code == 0
    for stack, count in folded(case.data, "--event", "all", *words, *sources, symbols=True).items():
        root, *frames = stack.split(";")
        wanted[";".join([root, *([frame for frame in frames if frame not in MADE_UP] or ["[no stack]"])])] += count
    assert folded(printed, "--event", "all", *words, symbols=True) == wanted


@pytest.mark.parametrize("case", quick_first(case for case in corpus_cases() if case.name in ALIKE))
def test_folds_are_those_of_the_recording(case: Case) -> None:
    profile = outputs.profile_of(case.data, symbols=outputs.symbols_of(case))
    for event in profile.events:
        settings = {"event": event.name, "value": "period"}
        assert outputs.emitted(loaded(case), "collapsed", **settings) == outputs.emitted(
            profile, "collapsed", **settings
        )
