"""Weights, mispredicted branches and data addresses of forged samples, held against loops over them."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perf2x.emitters.pprof import profile_pb2
from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.kernel.load_result import Loaded
from perf2x.model.value_limits import MOST_PERIOD
from tests.forge import Branch, Comm, Event, Mmap2, Sample, Session, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.recordings import CORPUS

USER, KERNEL = 0xFFFFFFFFFFFFFE00, 0xFFFFFFFF81000000
BASE = Event().sample_type | k.IDENTIFIER
LOADS = Event(name="loads", ids=(1,), sample_type=BASE | k.WEIGHT | k.DATA_SRC | k.ADDR)
PARTS = Event(name="parts", ids=(2,), sample_type=BASE | k.WEIGHT_STRUCT | k.ADDR)
PLAIN = Event(name="plain", ids=(7,), sample_type=BASE)
TAKEN = Event(name="taken", ids=(3,), sample_type=BASE | k.BRANCH_STACK, branch_sample_type=1 << 3)
EVENTS = (PLAIN, LOADS, PARTS, TAKEN)


def sample(number: int, at: int, **fields: object) -> Sample:
    """A sample of an event by its row, at 0x1000, called from 0x2000."""
    chain = (USER, 0x1000, 0x2001)
    return Sample(event=number, pid=7, tid=7, ip=0x1000, time=at, period=99, chain=chain, **fields)  # type: ignore[arg-type]


def recorded(folder: Path, samples: Sequence[Sample], events: Sequence[Event] = EVENTS, order: str = "<") -> Path:
    path = folder / "values.data"
    maps = [
        Comm(pid=7, tid=7, comm="app"),
        Mmap2(pid=7, tid=7, addr=0x1000, len=0x4000, filename="/app"),
        Mmap2(pid=7, tid=7, addr=0x50004000, len=0x1000, pgoff=0x3000, filename="/demo/calls"),
        Mmap2(pid=7, tid=7, addr=0x60000000, len=0x1000, filename="//anon"),
    ]
    path.write_bytes(write_file(Session(events=tuple(events), order=order), [*maps, *samples]))
    return path


def values(found: Loaded) -> dict[str, tuple[int, int]]:
    return {event.name: (event.samples, event.value) for event in found.events if event.samples}


@pytest.mark.parametrize("timeline", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
def test_weights_take_the_place_of_periods(tmp_path: Path, order: str, timeline: bool) -> None:
    """Of WEIGHT_STRUCT the lowest half counts; samples without a weight are left out, absurd ones are cut."""
    samples = [sample(0, 10), sample(1, 20, weight=30), sample(1, 30, weight=12), sample(1, 35, weight=2**64 - 1)]
    samples.append(sample(2, 40, weight=5 | 7 << 32 | 9 << 48))
    found = load(str(recorded(tmp_path, samples, order=order)), LoadOptions(value="weight", timeline=timeline))
    found.profile.check()
    assert values(found) == {"weight:loads": (3, 42 + MOST_PERIOD), "weight:parts": (1, 5)}
    assert [event.name for event in found.profile.events] == ["plain", "weight:loads", "weight:parts", "taken"]
    assert found.profile.events[1].unit == "count"
    assert np.all(found.profile.stacks.parent[found.profile.samples.stack] >= 0)  # callers are still there


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("seed", range(3))
def test_mispredicted_branches_are_counted_where_they_are(tmp_path: Path, seed: int, order: str) -> None:
    random = np.random.default_rng(seed)
    samples = [sample(0, 5)]
    for at in range(40):
        places = random.integers(0x1000, 0x5000, int(random.integers(0, 9))).tolist()
        branches = tuple(
            Branch(
                from_ip=place + KERNEL * (place % 2), to_ip=place + 8, mispred=place % 3 == 0, predicted=place % 3 > 0
            )
            for place in places
        )
        samples.append(sample(3, 10 + at, branches=branches))
    wanted = Counter(branch.from_ip for one in samples for branch in one.branches if branch.mispred)
    found = load(str(recorded(tmp_path, samples, order=order)), LoadOptions(value="mispredicts", timeline=True))
    found.profile.check()
    profile = found.profile
    assert values(found) == {"mispredicts:taken": (wanted.total(), wanted.total())}
    assert np.all(profile.stacks.parent[profile.samples.stack] == -1)
    place = profile.stacks.location[profile.samples.stack]
    user = profile.locations.mapping[place] >= 0
    counted = Counter(profile.locations.address[place[user]].tolist())
    assert counted == {address: count for address, count in wanted.items() if address < KERNEL}
    assert int((~user).sum()) == sum(count for address, count in wanted.items() if address >= KERNEL)


def test_data_objects_are_symbols_and_else_mappings(tmp_path: Path) -> None:
    """0x4070 lies in calls's ``buffer.0``, 0x4030 at ``__data_start``; the heap has no names."""
    places = {0x50004070: 3, 0x50004100: 2, 0x60000010: 4, 0x70000000: 1}
    samples = [sample(1, at, addr=addr, weight=10) for addr, count in places.items() for at in range(count)]
    path = recorded(tmp_path, [*samples, sample(0, 50)])
    words = ("--symfs", CORPUS / "common" / "symfs", "--json", "-q")
    ran = perf2x("top", path, "--by", "data-object", "--event", "loads", *words)
    rows = {row["name"]: row for row in json.loads(ran.out)["rows"]}
    assert {name: row["self"] for name, row in rows.items()} == {
        "buffer.0": 5 * 99, "[anon]": 4 * 99, "[unknown]": 99,
    }  # fmt: skip
    assert rows["buffer.0"]["object"] == "calls"
    weighed = perf2x("top", path, "--by", "data-object", "--value", "weight", *words)
    assert json.loads(weighed.out)["value"] == 100


def test_a_sample_of_user_code_without_a_data_address_is_unknown(tmp_path: Path) -> None:
    user_only = Event(name="loads:u", sample_type=BASE | k.ADDR, flags=Event().flags | {"exclude_kernel"})
    path = recorded(tmp_path, [sample(0, 5)], (user_only,))
    ran = perf2x("top", path, "--by", "data-object", "--no-symbols", "--json", "-q")
    assert [row["name"] for row in json.loads(ran.out)["rows"]] == ["[unknown]"]


def test_memory_accesses_have_labels(tmp_path: Path) -> None:
    """Accesses of two levels are two samples of one stack; a sample that says nothing has no label."""
    loads = [0x668100142, 0x668100142, 0x1E05080021, 0]
    path = recorded(tmp_path, [sample(1, 9 - at, data_src=source) for at, source in enumerate(loads)])
    out = tmp_path / "out.pb.gz"
    ran = perf2x("convert", path, "--no-symbols", "--label", "mem_op,mem_level,snoop,tlb", "-q", "-o", out)
    assert ran.code == 0, ran.err
    profile = profile_pb2.Profile.FromString(gzip.decompress(out.read_bytes()))
    text = profile.string_table
    found = {tuple((text[label.key], text[label.str]) for label in one.label): sum(one.value) for one in profile.sample}
    assert len(found) == 3
    assert found[()] == 1 + 99
    assert found[("mem_op", "LOAD"), ("mem_level", "L3 hit"), ("snoop", "None"), ("tlb", "L1 or L2 hit")] == 2 + 2 * 99
    timeline = load(str(path), LoadOptions(timeline=True, keep=frozenset({"data_src"}))).profile
    timeline.check()
    assert timeline.samples.data_src is not None
    assert timeline.samples.data_src.tolist() == loads[::-1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"value": "weight"}, "value weight: the recording has no weights; record with: perf record -W"),
        ({"value": "mispredicts"}, "value mispredicts: the recording has no branches; record with: perf record -b"),
        ({"data_objects": True}, "data_objects: the recording has no data addresses; record with: perf record -d"),
    ],
)
def test_what_was_not_recorded_is_said(tmp_path: Path, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        load(str(recorded(tmp_path, [sample(0, 5)], (PLAIN,))), load_options(**options))  # type: ignore[arg-type]


def test_branches_access_no_data(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="mispredicted branches access no data"):
        load(str(recorded(tmp_path, [sample(0, 5)])), LoadOptions(value="mispredicts", data_objects=True))


def test_values_from_the_command_line(tmp_path: Path) -> None:
    path = recorded(tmp_path, [sample(1, 20, weight=30), sample(0, 30)])
    for command in (("top", path), ("diff", path, path)):
        ran = perf2x(*command, "--value", "weight", "--no-symbols", "-q")
        assert ran.code == 0, ran.err
        assert ran.out.startswith("weight:loads:")
    ran = perf2x("convert", path, "--value", "weight", "--no-symbols", "-t", "collapsed", "-o", "-", "-q")
    assert ran.out.endswith(" 30\n")
