"""Every format, in pieces of a few rows: outputs do not depend on the size of the pieces."""

from typing import Any

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS
from tests.support import outputs
from tests.support.command import perf2x
from tests.support.perfetto_trace import read_trace
from tests.support.recordings import corpus_cases
from tests.support.small_parts import cut_small, small_parts

FORMATS = sorted(name for name in entry_points_by_name(EMITTERS) if not outputs.is_on_demand(name))
TELLING = ["perfetto", "pprof"]
"""With them a timeline, or the sums of samples, are told whole."""
CASES = {case.name: case for case in corpus_cases()}
CONVERT = ("convert", "--to", "pprof", "-o", "-", "--jobs", "3")


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("events", FORMATS),
        ("unwind_short", TELLING),
        ("task_end", TELLING),
        *(pytest.param(name, FORMATS, marks=pytest.mark.slow) for name in ("unwind_short", "task_end")),
        *(pytest.param(name, FORMATS, marks=pytest.mark.slow) for name in ("zstd", "group_read")),
    ],
)
def test_tiny_pieces_give_the_same_bytes(name: str, formats: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]

    def emitted() -> dict[str, Any]:
        profiles = {
            timeline: outputs.profile_of(case.data, timeline=timeline, symbols=outputs.symbols_of(case))
            for timeline in (False, True)
        }
        found = {name: outputs.emitted(profiles[outputs.is_timeline(name)], name) for name in formats}
        trace = read_trace(found["perfetto"])  # names stand in packets of as many as are made at once
        return found | {"perfetto": (trace.samples, trace.processes, trace.threads)}

    whole = emitted()
    cut_small(monkeypatch)
    assert [name for name, data in emitted().items() if data != whole[name]] == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *((("script", "--no-symbols"), name) for name in ("events", "task_end")),
        *((("dump",), name) for name in ("events", "unwind_short")),
        *(((*CONVERT, "--no-symbols"), name) for name in ("events", "unwind_short")),
        *(pytest.param(("dump",), name, marks=pytest.mark.slow) for name in ("task_end", "zstd", "group_read")),
        *(
            pytest.param((*CONVERT, "--no-symbols"), name, marks=pytest.mark.slow)
            for name in ("task_end", "zstd", "group_read")
        ),
        *(
            pytest.param(("script", "--no-symbols"), name, marks=pytest.mark.slow)
            for name in ("unwind_short", "zstd", "group_read")
        ),
    ],
    ids=str,
)
def test_tiny_pieces_of_samples_that_are_read_again(
    words: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = perf2x(*words, CASES[name].data)
    cut_small(monkeypatch)
    again = perf2x(*words, CASES[name].data)
    assert (again.code, again.out, again.err) == (whole.code, whole.out, whole.err) and whole.code == 0


def test_constants_are_found() -> None:
    names = {module for module, _ in small_parts()}
    assert len(small_parts()) > 40 and {"emitters.firefox.write_threads", "kernel.sample_pass"} <= names
