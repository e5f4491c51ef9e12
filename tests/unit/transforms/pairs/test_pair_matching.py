"""Pairs, repeated beginnings and lanes, held against a stack a key and against the definition of a lane."""

from collections import defaultdict

import numpy as np
import pytest

from perf2x.transforms.pairs.pair_matching import lanes_of, matched, repeated
from perf2x.transforms.pairs.pair_spec import Rule


def one_by_one(key: list[int], is_end: list[bool], rule: Rule) -> set[tuple[int, int]]:
    """The scalar twin: open beginnings of each key, row by row."""
    opened: dict[int, list[int]] = defaultdict(list)
    pairs = set()
    for row, (number, ends) in enumerate(zip(key, is_end, strict=True)):
        if not ends:
            opened[number].append(row)
        elif opened[number]:
            pairs.add((opened[number][-1], row))
            opened[number] = opened[number][:-1] if rule is Rule.NESTED else []
    return pairs


@pytest.mark.parametrize("rule", [Rule.LAST, Rule.NESTED])
@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_those_of_a_stack_for_each_key(seed: int, rule: Rule) -> None:
    random = np.random.default_rng(seed)
    count, keys = int(random.integers(0, 400)), int(random.integers(1, 9))
    key, is_end = random.integers(-3, keys, count), random.random(count) < random.random()
    begins, ends = matched(key, is_end, rule)
    found = set(zip(begins.tolist(), ends.tolist(), strict=True))
    assert found == one_by_one(key.tolist(), is_end.tolist(), rule)
    assert len(found) == len(begins)


@pytest.mark.parametrize("seed", range(10))
def test_repeated_beginnings_are_those_whose_key_is_open(seed: int) -> None:
    random = np.random.default_rng(seed)
    key, is_end = random.integers(0, 5, 300), random.random(300) < 0.5
    state: set[int] = set()
    wanted = []
    for number, ends in zip(key.tolist(), is_end.tolist(), strict=True):
        wanted.append(not ends and number in state)
        state = state - {number} if ends else state | {number}
    assert repeated(key, is_end).tolist() == wanted


def test_of_repeated_beginnings_the_first_one_has_the_end() -> None:
    key, is_end = np.zeros(5, np.int64), np.array([False, False, True, True, False])
    kept = np.flatnonzero(~repeated(key, is_end))
    begins, ends = matched(key[kept], is_end[kept], Rule.LAST)
    assert (kept[begins].tolist(), kept[ends].tolist()) == ([0], [2])


@pytest.mark.parametrize("seed", range(40))
def test_spans_of_a_lane_do_not_overlap_and_no_lane_is_to_spare(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 200))
    since = random.integers(0, 300, count)
    key = random.integers(0, 4, count)
    order = np.lexsort((since, key))
    key, since = key[order], since[order]
    until = since + random.integers(0, 30, count)
    lanes = lanes_of(key, since, until)
    spans = list(zip(key.tolist(), since.tolist(), np.maximum(until, since + 1).tolist(), lanes.tolist(), strict=True))
    last: dict[int, tuple[int, int]] = {}
    for number, start, end, lane in spans:
        assert lane not in last or (last[lane][0] == number and last[lane][1] <= start)
        last[lane] = number, end
    for number in set(key.tolist()):
        own = [(start, end) for one, start, end, _ in spans if one == number]
        most = max(sum(start <= moment < end for start, end in own) for moment, _ in own)
        assert len({lane for one, _, _, lane in spans if one == number}) == most
    assert sorted(set(lanes.tolist())) == list(range(1, len(set(lanes.tolist())) + 1))
