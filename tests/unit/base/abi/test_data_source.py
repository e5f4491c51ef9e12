"""Words for what memory accesses say, as ``perf script -F data_src`` of perf 7.2 prints them."""

import pytest

from perf2x.base.abi.data_source import level, operation, snoop, translation


def word(op: int = 2, lvl: int = 1, number: int = 0, snoop: int = 1, dtlb: int = 1, **far: int) -> int:
    """union perf_mem_data_src; ``far``: remote, snoopx, hops."""
    known = op | lvl << 5 | snoop << 19 | 1 << 24 | dtlb << 26 | number << 33
    return known | far.get("remote", 0) << 37 | far.get("snoopx", 0) << 38 | far.get("hops", 0) << 43


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (0x1E05080021, ("N/A", "N/A", "N/A", "N/A")),  # what the kernel writes where nothing is known
        (word(number=1, lvl=3, dtlb=0b11010, snoop=2), ("LOAD", "L1 hit", "None", "L1 or L2 hit")),
        (word(op=4, number=12, lvl=5), ("STORE", "LFB/MAB miss", "N/A", "N/A")),
        (word(op=8, number=13, lvl=3, remote=1, snoop=16), ("PFETCH", "Remote RAM hit", "HitM", "N/A")),
        (word(op=16, number=3, hops=1, remote=1), ("EXEC", "Remote core, same node L3", "N/A", "N/A")),
        (word(lvl=2 | 8, dtlb=0b100100), ("LOAD", "L1 hit", "N/A", "Walker miss")),
        (word(lvl=4 | 128 | 256, dtlb=64), ("LOAD", "Local RAM or Remote RAM (1 hop) miss", "N/A", "Fault")),
        (word(lvl=2, number=15, snoop=0, snoopx=3), ("LOAD", "N/A", "Fwd or Peer", "N/A")),
        (word(number=11, hops=4, snoop=4 | 8), ("LOAD", "board Any cache", "Hit or Miss", "N/A")),
        (word(number=8, hops=6), ("LOAD", "6 hops Uncached", "N/A", "N/A")),  # perf prints (null)
        (0, ("No", "N/A", "N/A", "N/A")),
        (-1 << 63 | 2, ("LOAD", "N/A", "N/A", "N/A")),
    ],
)
def test_words_are_those_of_perf(source: int, words: tuple[str, ...]) -> None:
    assert (operation(source), level(source), snoop(source), translation(source)) == words
