"""One recording as perf annotate and pprof -list see it: line by line, instruction by instruction."""

import re
from collections.abc import Iterator

import pytest

from tests.unit.features.annotate.listed import DATA, SCRAMBLE, function, listed


def perf_annotate() -> dict[int, tuple[int, str]]:
    """Samples and mnemonic by address."""
    rows = re.findall(r"^ +(\d+) : +([0-9a-f]+): (\S+)", (DATA / "perf_annotate.txt").read_text(), re.MULTILINE)
    return {int(address, 16): (int(samples), mnemonic) for samples, address, mnemonic in rows}


def pprof_list() -> Iterator[tuple[str, int, int, dict[int, tuple[int, int]]]]:
    """Name, flat, cum, and both by line, of each routine."""
    for part in (DATA / "pprof_list.txt").read_text().split("ROUTINE ======================== ")[1:]:
        head, totals, *lines = part.splitlines()
        rows = [(int(number), numbers(line)) for line in lines for number in re.findall(r"(\d+):", line)[:1]]
        yield head.split()[0], *numbers(totals), {number: costs for number, costs in rows if costs != (0, 0)}


def numbers(line: str) -> tuple[int, int]:
    flat, cum = (0 if word == "." else int(word) for word in line.split()[:2])
    return flat, cum


def test_perf_annotate_instruction_by_instruction() -> None:
    pytest.importorskip("capstone")
    theirs = perf_annotate()
    profile = listed(function="walk", assembly=True, value="samples")
    (code,) = function(profile, "walk").code
    assert {row.address: row.self_costs[0] for row in code.rows} == {address: n for address, (n, _) in theirs.items()}
    assert sum(n for n, _ in theirs.values()) > 150
    # objdump writes no suffix where an operand tells the size
    assert all(row.text.startswith(theirs[row.address][1].removesuffix("w")[:3]) for row in code.rows)


def test_pprof_list_line_by_line() -> None:
    profile = listed(hottest=50, value="samples", source=True)
    # pprof shows functions without samples of their own, too; a name asks for them here
    for name, flat, cum, lines in pprof_list():
        name = SCRAMBLE.replace("scramble", name) if name in ("scramble", "twice") else name
        one = function(listed(function=name, value="samples"), name)
        assert (one.self_costs, one.total_costs) == ((flat,), (cum,))
        (source,) = one.sources
        assert source.path == "/demo/inlines.cpp"
        assert {line.number: (line.self_costs[0], line.total_costs[0]) for line in source.lines} == lines
    assert {one.name for one in profile.listings.functions} == {"walk", SCRAMBLE}
