"""A part of a dataset as a file is its recordings as a file: sums, stacks, names and lines, read back from six formats.

Bytes may differ: addresses are those of one host, and comments name what was read.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import forge
from tests.forge import kernel as k
from tests.support.callgrind_file import read_callgrind
from tests.support.command import perf2x
from tests.support.extremes import SAMPLE, STAMP
from tests.support.fleets import ONE
from tests.support.otlp_profiles import read_profiles
from tests.support.outputs import read_collapsed, read_pprof
from tests.support.recordings import CORPUS, corpus_cases

pytest.importorskip("deltalake")
MANY = 40
QUIET = "-q"
QUICK = ("calls", "per_thread", "unwind", "zstd")


def forged(number: int) -> bytes:
    """A recording of one of five hosts, each of which has programs elsewhere, in an event that changes its name."""
    base = 0x10000 * (1 + number % 5)
    maps = [
        forge.Mmap(
            pid=10, tid=10, addr=base << place, len=0x4000, filename=f"/bin/{name}", stamp=replace(STAMP, time=1)
        )
        for place, name in enumerate(("x", "y"))
    ]
    samples = [
        replace(SAMPLE, time=9 + row, period=1 + row,
                chain=(k.CONTEXT_USER, (base << row % 2) + row % (3 + number), base + 0x80, base + 0x80 + number % 2))
        for row in range(30)
    ]  # fmt: skip
    event = replace(ONE.events[0], name=("cycles", "cpu-clock")[number % 7 == 0])
    session = replace(ONE, events=(event,), features=forge.Features(hostname=f"host{number % 5}", arch="x86_64"))
    return forge.write_file(session, [*maps, *samples])


@pytest.fixture(scope="module", params=[len(QUICK) + 2, pytest.param(MANY, marks=pytest.mark.slow)])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """Recordings, and a dataset of them whose places have names."""
    folder = tmp_path_factory.mktemp("parts")
    cases = [
        case.data for case in corpus_cases()
        if case.name in QUICK or (request.param == MANY and "/" not in case.name)  # not the parts of one recording
    ]  # fmt: skip
    for number in range(request.param - len(cases)):
        (folder / f"{number}.data").write_bytes(forged(number))
    names = [*map(str, cases), *map(str, sorted(folder.glob("*.data")))]
    assert len(names) == request.param
    data = str(folder / "profiles")
    for command in (("ingest", *names, "-o", data), ("symbolize", data)):
        ran = perf2x("fleet", *command, "--symfs", CORPUS / "common" / "symfs", QUIET)
        assert ran.code == 0, ran.err
    return names, data


def of_pprof(raw: bytes) -> Counter[Any]:
    found = read_pprof(raw)
    text, functions = found.string_table, {one.id: one for one in found.function}
    mappings = {one.id: (text[one.filename], text[one.build_id]) for one in found.mapping}
    frames = {
        one.id: (
            mappings.get(one.mapping_id),
            *(_line(text, functions[line.function_id], line.line) for line in one.line),
        )
        for one in found.location
    }
    kinds = [(text[kind.type], text[kind.unit]) for kind in found.sample_type]
    sums: Counter[Any] = Counter()
    for sample in found.sample:
        labels = sorted((text[one.key], text[one.str], one.num) for one in sample.label)
        stack = tuple(frames[one] for one in sample.location_id)
        sums.update({(kind, stack, *labels): value for kind, value in zip(kinds, sample.value, strict=True)})
    return +sums


def _line(text: Any, function: Any, line: int) -> tuple[Any, ...]:
    return text[function.name], text[function.system_name], text[function.filename], function.start_line, line


def of_speedscope(raw: bytes) -> Counter[Any]:
    found = json.loads(raw)
    frames = [tuple(sorted(frame.items())) for frame in found["shared"]["frames"]]
    sums: Counter[Any] = Counter()
    for profile in found["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            thread = profile["name"].rpartition(" (")[2]  # which of its names it has last, sums do not know
            sums[thread, profile["unit"], tuple(frames[row] for row in stack)] += weight
    return sums


def of_callgrind(raw: bytes) -> Any:
    found = read_callgrind(raw)
    return found.events, found.summary, found.own, found.calls


def of_otlp(raw: bytes) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for profile in read_profiles(raw):
        for sample in profile.samples:
            stack = tuple(replace(frame, address=0) for frame in sample.stack)
            sums[profile.sample_type, profile.period_type, sample.attributes, stack] += sum(sample.values)
    return sums


def of_svg(raw: bytes) -> Counter[str]:
    return Counter(re.findall("<title>(.*?)</title>", raw.decode()))


FORMATS: dict[str, Callable[[bytes], Any]] = {
    "collapsed": read_collapsed, "pprof": of_pprof, "speedscope": of_speedscope, "callgrind": of_callgrind,
    "otlp": of_otlp, "svg": of_svg,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_converted_part_is_its_recordings(both: tuple[list[str], str], name: str, tmp_path: Path) -> None:
    recordings, data = both
    found = []
    for number, inputs in enumerate((recordings, [data])):
        out = tmp_path / str(number)
        ran = perf2x("convert", *inputs, "--to", name, "-o", out, "--symfs", CORPUS / "common" / "symfs", QUIET)
        assert ran.code == 0, ran.err
        found.append(FORMATS[name](out.read_bytes()))
    assert found[0] and found[1] == found[0]
