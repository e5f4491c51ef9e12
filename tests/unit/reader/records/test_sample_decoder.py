"""Samples with every combination of fields, in both byte orders, file and pipe, are read as they were forged."""

import struct
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.model.recording.events import Samples, Want
from tests.forge import Branch, Event, GroupRead, Raw, ReadValue, Record, Registers, Sample, Session
from tests.forge import kernel as k
from tests.forge.strategies import wide
from tests.support.examples import examples
from tests.support.reading import EVERYTHING, one_batch, reopened

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
REGS = 0b1011
ALL_FIELDS = 2**25 - 1
READS = k.READ_ENABLED | k.READ_RUNNING | k.READ_LOST
"""Without READ_ID samples are not split."""


@st.composite
def branches(draw: st.DrawFn) -> Branch:
    return Branch(
        draw(U64), draw(U64), *(draw(st.integers(0, 2**width - 1)) for width in (1, 1, 1, 1, 16, 4, 2, 4, 3)),
        counters=draw(U64),
    )  # fmt: skip


def registers() -> st.SearchStrategy[Registers]:
    values = st.tuples(U64, U64, U64)
    general = st.builds(Registers, st.sampled_from([1, 2]), values)
    return st.just(Registers()) | general | st.builds(Registers, st.sampled_from([5, 6]), values, wide(8), wide(1))


def samples() -> st.SearchStrategy[Sample]:
    return st.builds(
        Sample,
        mode=st.integers(0, 5), ip=U64, pid=st.integers(0, 2**31 - 1), tid=st.integers(0, 2**31 - 1),
        time=st.integers(0, 2**63 - 1), addr=U64, id=st.just(7), stream_id=U64, cpu=st.integers(0, 2**31 - 1),
        period=st.integers(0, 2**48),
        read=st.builds(GroupRead, st.just((ReadValue(1, 7, 3),)), U64, U64),
        chain=st.lists(U64, max_size=5).map(tuple), raw=st.binary(max_size=20),
        branches=st.lists(branches(), max_size=3).map(tuple), hw_index=U64, regs_user=registers(),
        stack=st.binary(max_size=3).map(lambda raw: raw * 8), weight=U64, data_src=U64, transaction=U64,
        regs_intr=registers(), phys_addr=U64, cgroup=U64, data_page_size=U64, code_page_size=U64,
        aux=st.binary(max_size=20),
    )  # fmt: skip


def events() -> st.SearchStrategy[Event]:
    return st.builds(
        Event,
        sample_type=st.integers(0, ALL_FIELDS), read_format=st.sampled_from([0, READS, READS | k.READ_GROUP]),
        branch_sample_type=st.sampled_from([0, k.BRANCH_HW_INDEX, k.BRANCH_COUNTERS | k.BRANCH_HW_INDEX]),
        sample_regs_user=st.just(REGS), sample_regs_intr=st.just(REGS), sample_stack_user=st.just(24),
        ids=st.just((7,)), size=st.just(144), period=st.integers(1, 2**48),
    )  # fmt: skip


@given(
    event=events(), forged=st.lists(samples(), min_size=1, max_size=4), order=st.sampled_from("<>"), pipe=st.booleans()
)
@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_samples_are_read_as_forged(tmp_path: Path, event: Event, forged: list[Sample], order: str, pipe: bool) -> None:
    recording = reopened(tmp_path, Session(events=(event,), order=order, pipe=pipe), forged)
    assert recording.sample_count == len(forged)
    batch = one_batch(recording)
    assert len(batch) == len(forged) and not recording.diagnostics.counts
    for row, sample in enumerate(forged):
        assert _read_back(batch, row, event) == _expected(sample, event, order)


def _expected(sample: Sample, event: Event, order: str) -> dict[str, Any]:
    has = lambda bit: bool(event.sample_type & bit)  # noqa: E731
    weight = sample.weight & 0xFFFFFFFF if has(k.WEIGHT_STRUCT) else sample.weight
    wanted = event.branch_sample_type
    return {
        "mode": sample.mode,
        "ip": sample.ip if has(k.IP) else 0,
        "task": (sample.pid, sample.tid) if has(k.TID) else (-1, -1),
        "time": sample.time if has(k.TIME) else None,
        "cpu": sample.cpu if has(k.CPU) else None,
        "addr": sample.addr if has(k.ADDR) else None,
        "period": sample.period if has(k.PERIOD) else event.period,
        "chain": list(sample.chain) if has(k.CALLCHAIN) else [],
        "raw": _padded(sample.raw, 4) if has(k.RAW) else None,
        "branches": [_branch(branch) for branch in sample.branches] if has(k.BRANCH_STACK) else None,
        "hw_index": sample.hw_index if has(k.BRANCH_STACK) and wanted & k.BRANCH_HW_INDEX else None,
        "counters": [branch.counters for branch in sample.branches]
        if has(k.BRANCH_STACK) and wanted & k.BRANCH_COUNTERS
        else None,
        "regs": _regs(sample.regs_user) if has(k.REGS_USER) else None,
        "stack": _words(sample.stack, order) if has(k.STACK_USER) else None,
        "weight": weight if has(k.WEIGHT | k.WEIGHT_STRUCT) else None,
        "data_src": sample.data_src if has(k.DATA_SRC) else None,
        "transaction": sample.transaction if has(k.TRANSACTION) else None,
        "regs_intr": _regs(sample.regs_intr) if has(k.REGS_INTR) else None,
        "phys_addr": sample.phys_addr if has(k.PHYS_ADDR) else None,
        "cgroup": sample.cgroup if has(k.CGROUP) else None,
        "pages": (
            sample.data_page_size if has(k.DATA_PAGE_SIZE) else None,
            sample.code_page_size if has(k.CODE_PAGE_SIZE) else None,
        ),
        "aux": _padded(sample.aux, 0) if has(k.AUX) else None,
        "stream_id": sample.stream_id if has(k.STREAM_ID) else None,
        "read": (1, 3) if has(k.READ) and event.read_format else (1, None) if has(k.READ) else None,
    }


def _read_back(batch: Samples, row: int, event: Event) -> dict[str, Any]:
    extra = batch.extra
    cell = lambda column: None if column is None else int(column[row])  # noqa: E731
    cells = lambda table: None if table is None else table.row(row).tolist()  # noqa: E731
    stacks, branched, read = batch.user_stacks, batch.branches, extra.get("read")
    return {
        "mode": cell(batch.cpumode),
        "ip": cell(batch.ip),
        "task": (cell(batch.pid), cell(batch.tid)),
        "time": cell(batch.time),
        "cpu": cell(batch.cpu),
        "addr": cell(batch.addr),
        "period": cell(batch.period),
        "chain": cells(batch.chain),
        "raw": None if batch.raw is None else batch.raw.row(row).tobytes(),
        "branches": None if branched is None else _rows(branched, row),
        "hw_index": None if branched is None else cell(branched.hw_index),
        "counters": cells(extra.get("branch_counters")),
        "regs": _regs_back(stacks.abi, stacks.regs, row) if stacks and event.sample_type & k.REGS_USER else None,
        "stack": stacks.words[stacks.start[row] :][: stacks.size[row] // 8].tolist()
        if stacks and event.sample_type & k.STACK_USER
        else None,
        "weight": cell(batch.weight),
        "data_src": cell(batch.data_src),
        "transaction": cell(extra.get("transaction")),
        "regs_intr": _regs_back(extra["regs_intr_abi"], extra["regs_intr"], row) if "regs_intr" in extra else None,
        "phys_addr": cell(extra.get("phys_addr")),
        "cgroup": cell(batch.cgroup),
        "pages": (cell(extra.get("data_page_size")), cell(extra.get("code_page_size"))),
        "aux": None if "aux" not in extra else extra["aux"].row(row).tobytes(),
        "stream_id": cell(extra.get("stream_id")),
        "read": None if read is None else (int(read.value[row]), cell(read.lost)),
    }


def _padded(raw: bytes, header: int) -> bytes:
    return raw + bytes(-(len(raw) + header) % 8)


def _branch(branch: Branch) -> tuple[int, int, int]:
    return branch.from_ip, branch.to_ip, int.from_bytes(branch.encode("<")[16:], "little")


def _rows(branched: Any, row: int) -> list[tuple[int, int, int]]:
    part = slice(branched.offsets[row], branched.offsets[row + 1])
    columns = (branched.from_ip[part].tolist(), branched.to_ip[part].tolist(), branched.flags[part].tolist())
    return list(zip(*columns, strict=True))


def _regs(regs: Registers) -> tuple[int, list[int]]:
    return regs.abi & 3, list(regs.values) if regs.abi else [0] * REGS.bit_count()


def _regs_back(abi: Any, regs: Any, row: int) -> tuple[int, list[int]]:
    return int(abi[row]), regs[row].tolist()


def _words(stack: bytes, order: str) -> list[int]:
    whole = {"<": "little", ">": "big"}[order]
    return [int.from_bytes(stack[at : at + 8], whole) for at in range(0, len(stack), 8)]  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["<", ">"])
def test_layouts_are_joined_in_file_order(tmp_path: Path, order: str) -> None:
    common = k.IDENTIFIER | k.IP | k.TID | k.TIME
    plain = Event(name="plain", ids=(1,), sample_type=common)
    all_kinds = common | k.CPU | k.CALLCHAIN | k.BRANCH_STACK | k.REGS_USER | k.STACK_USER | k.RAW
    rich = Event(name="rich", ids=(2,), sample_type=all_kinds, sample_regs_user=REGS)
    payload = {"regs_user": Registers(2, (5, 6, 7)), "stack": bytes(range(16)), "branches": (Branch(8, 9),)}
    forged = [
        Sample(event=0, time=1, ip=10),
        Sample(event=1, time=2, ip=20, cpu=3, chain=(1, 2), raw=b"abcd", **payload),
        Sample(event=0, time=3, ip=30),
        Sample(event=1, time=4, ip=40, cpu=4, chain=(3,), raw=b"", stack=b""),
    ]
    recording = reopened(tmp_path, Session(events=(plain, rich), order=order), forged)
    batch = one_batch(recording)
    assert batch.ip.tolist() == [10, 20, 30, 40] and batch.event.tolist() == [0, 1, 0, 1]
    assert batch.cpu is not None and batch.cpu.tolist() == [-1, 3, -1, 4]
    assert [row.tolist() for row in batch.chain.rows()] == [[], [1, 2], [], [3]]
    assert batch.branches is not None and batch.branches.offsets.tolist() == [0, 0, 1, 1, 1]
    assert batch.raw is not None and batch.raw.lengths.tolist() == [0, 4, 0, 4]
    stacks = batch.user_stacks
    assert stacks is not None and stacks.mask == REGS
    assert stacks.size.tolist() == [0, 16, 0, 0] and stacks.abi.tolist() == [0, 2, 0, 0]
    assert stacks.regs.tolist() == [[0, 0, 0], [5, 6, 7], [0, 0, 0], [0, 0, 0]]
    assert stacks.words[stacks.start[1]] == int.from_bytes(bytes(range(8)), "little" if order == "<" else "big")


def test_only_wanted_columns_are_decoded(tmp_path: Path) -> None:
    event = Event(sample_type=ALL_FIELDS & ~k.READ & ~k.WEIGHT, sample_regs_user=REGS, sample_regs_intr=REGS, ids=(7,))
    recording = reopened(tmp_path, Session(events=(event,)), [Sample(chain=(1, 2), addr=5, cgroup=6)])
    bare = one_batch(recording, Want(0))
    assert len(bare.chain) == 1 and bare.chain.lengths.tolist() == [0]
    optional = (bare.addr, bare.cgroup, bare.weight, bare.data_src, bare.user_stacks, bare.branches, bare.raw)
    assert all(column is None for column in optional) and not bare.extra
    assert one_batch(recording, Want.CGROUP).cgroup is not None
    assert one_batch(recording, Want.ADDR).addr is not None
    assert one_batch(recording, EVERYTHING).chain.lengths.tolist() == [2]


LIES = st.sampled_from([0, 1, 9, 4096, 2**31, 2**32 - 1, 2**32, 2**61, 2**63 - 1, 2**63, 2**64 - 1]) | U64


@given(
    event=events(), forged=st.lists(samples(), min_size=1, max_size=4), lies=st.lists(LIES, min_size=1, max_size=4),
    place=st.integers(0, 60), order=st.sampled_from("<>"),
)  # fmt: skip
@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_which_samples_are_whole_does_not_depend_on_what_is_wanted(
    tmp_path: Path, event: Event, forged: list[Sample], lies: list[int], place: int, order: str
) -> None:
    """A format that reads RAW, say, once more meets the samples that were counted without."""
    session = Session(events=(event,), order=order)
    records: list[Record] = []
    for sample, lie in zip_longest(forged, lies[: len(forged)]):
        body = bytearray(sample.encode(session.events, order)[8:])
        if lie is not None and body:
            struct.pack_into(order + "Q", body, min(place * 8, len(body) - 8), lie)
        records.append(Raw(type=9, misc=k.USER, body=bytes(body)))
    recording = reopened(tmp_path, session, records)
    found = []
    for want in (EVERYTHING, Want(0), *Want):
        recording.diagnostics.counts.clear()
        positions = [position for batch in recording.samples(want) for position in batch.position.tolist()]
        found.append((positions, recording.diagnostics.counts.get("samples_malformed")))
    assert [positions for positions, _ in found] == [found[0][0]] * len(found)
    assert [counted for _, counted in found[:-1]] == [found[0][1]] * (len(found) - 1), "the last one does not count"


@pytest.mark.parametrize("order", ["<", ">"])
def test_registers_of_an_unknown_layout_cost_the_rest_of_their_sample(tmp_path: Path, order: str) -> None:
    late = k.WEIGHT | k.DATA_SRC | k.REGS_INTR | k.TRANSACTION | k.CGROUP
    wanted = k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CALLCHAIN | k.REGS_USER | k.STACK_USER | late
    event = Event(ids=(1,), sample_type=wanted, sample_regs_user=REGS, sample_regs_intr=REGS, sample_stack_user=8)
    tail = {"stack": bytes(range(8)), "weight": 11, "data_src": 12, "transaction": 13, "cgroup": 14}
    known, unknown = Registers(2, (5, 6, 7)), Registers(2 | 8, (5, 6, 7))
    forged = [
        Sample(time=1, ip=10, chain=(1, 2), regs_user=known, **tail),
        Sample(time=2, ip=20, chain=(3,), regs_user=unknown, **tail),
        Sample(time=3, ip=30, chain=(4,), regs_user=known, regs_intr=unknown, **tail),
    ]
    recording = reopened(tmp_path, Session(events=(event,), order=order), forged)
    batch = one_batch(recording)
    assert batch.ip.tolist() == [10, 20, 30] and [row.tolist() for row in batch.chain.rows()] == [[1, 2], [3], [4]]
    stacks = batch.user_stacks
    assert stacks is not None and stacks.abi.tolist() == [2, 0, 2] and stacks.size.tolist() == [8, 0, 8]
    assert batch.weight is not None and batch.weight.tolist() == [11, 0, 11]
    assert batch.data_src is not None and batch.data_src.tolist() == [12, 0, 12]
    assert batch.extra["transaction"].tolist() == [13, 0, 13]
    assert batch.extra["regs_intr_abi"].tolist() == [0, 0, 0]
    assert batch.cgroup is not None and batch.cgroup.tolist() == [14, 0, 0]
    assert {name: count.count for name, count in recording.diagnostics.counts.items()} == {
        "registers_of_unknown_layout": 2
    }
    one_batch(recording, ~Want(0))
    assert recording.diagnostics["registers_of_unknown_layout"] == 2
