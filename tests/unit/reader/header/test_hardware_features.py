"""Header sections about the machine."""

import struct

import pytest

from perf2x.reader.header.feature_sections import cpu_topology
from perf2x.reader.header.section_reader import SectionReader
from tests.forge.features import text


def strings(*values: str) -> bytes:
    return struct.pack("<I", len(values)) + b"".join(text(value, "<") for value in values)


def pairs(cpus: list[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<II", *cpu) for cpu in cpus)


SIBLINGS = strings("0-3") + strings("0,2", "1,3")


@pytest.mark.parametrize(
    "cpus",
    [
        [(0, 0)],
        [(0, 0), (1, 0), (0, 1), (1, 1)],
        [(core, 0) for core in range(200)],  # core ids that may be counts of strings, sockets that may be empty ones
        [(0xFFFFFFFF, 0xFFFFFFFF)] * 3,
    ],
)
@pytest.mark.parametrize("dies", [(), ("0-3",), ("0,1", "2,3")])
def test_the_number_of_cpus_is_taken_from_the_sizes(cpus: list[tuple[int, int]], dies: tuple[str, ...]) -> None:
    behind = strings(*dies) + struct.pack(f"<{len(cpus)}I", *range(len(cpus))) if dies else b""
    found = cpu_topology(SectionReader(SIBLINGS + pairs(cpus) + behind, "<"))
    assert found["core_siblings"] == ["0-3"] and found["thread_siblings"] == ["0,2", "1,3"]
    assert found["cpus"] == [{"core": core, "socket": socket} for core, socket in cpus]
    assert found.get("die_siblings", []) == list(dies)
    assert found.get("dies", []) == (list(range(len(cpus))) if dies else [])


def test_dies_are_left_out_where_no_number_of_cpus_fits() -> None:
    found = cpu_topology(SectionReader(SIBLINGS + pairs([(0, 0)] * 3) + strings("0-3") + bytes(4), "<"))
    assert "dies" not in found and "die_siblings" not in found


def test_a_section_of_an_odd_size_has_no_cpus() -> None:
    assert cpu_topology(SectionReader(SIBLINGS + pairs([(0, 0)]) + b"\0", "<"))["cpus"] == []
