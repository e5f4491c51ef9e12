"""A record that lies across the end of what is read at once gives what it gives in the middle, wherever it is cut."""

import gzip
import lzma
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf2x.model.recording.events import Shard
from perf2x.reader import first_walk, sideband_decoder
from perf2x.reader.containers import input_file
from tests import forge
from tests.forge import kernel as k
from tests.forge.session import zstd
from tests.forge.simpleperf import EVENT_ID, KERNEL_SYMBOL, Wide, split, with_size
from tests.support.reading import facts

KIND = k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.PERIOD | k.CALLCHAIN | k.RAW
EVENT = forge.Event(sample_type=KIND, ids=(5,))
OTHER = replace(EVENT, name="other", ids=(6, 7), config=1)
SESSION = forge.Session((EVENT, OTHER))
STAMP = forge.Stamp(pid=2, tid=3, time=900, cpu=1, id=5)
LOOKALIKES = struct.pack("<IHHQ", 9, 2, 16, 1) * 3
"""Data that is taken for records where it is read as such."""


def sample(number: int) -> forge.Sample:
    """A sample of one of two events; those of the first six words differ in size."""
    chain = (k.CONTEXT_USER, *range(number % 5))
    own = {"event": number % 2, "id": 5 + number % 2}
    return forge.Sample(**own, ip=number, pid=2, tid=2 + number % 3, time=1000 + number, chain=chain, raw=bytes(4))


def packed(record: forge.Record, legacy: bool) -> forge.Record:
    """A record in a compressed one."""
    compressor = zstd().ZstdCompressor()
    piece = compressor.compress(record.encode(SESSION.events, "<"), compressor.FLUSH_BLOCK)
    return forge.Compressed(piece=piece, legacy=legacy)


CHAIN = forge.CallchainDeferred(stamp=STAMP, cookie=77, ips=(k.CONTEXT_USER, 1, 2))
KINDS: dict[str, forge.Record] = {
    "mmap": forge.Mmap(stamp=STAMP, pid=2, tid=2, addr=0x1000, len=0x1000, filename="/bin/x"),
    "mmap2": forge.Mmap2(stamp=STAMP, pid=2, tid=2, addr=0x1000, len=0x1000, build_id=bytes(range(20))),
    "comm": forge.Comm(stamp=STAMP, pid=2, tid=3, comm="worker"),
    "fork": forge.Fork(stamp=STAMP, pid=9, ppid=2, tid=9, ptid=2, time=901),
    "exit": forge.Exit(stamp=STAMP, pid=9, ppid=2, tid=9, ptid=2, time=902),
    "sample": sample(99),
    "lost": forge.Lost(stamp=STAMP, id=6, lost=41),
    "lost samples": forge.LostSamples(stamp=STAMP, lost=42),
    "throttle": forge.Throttle(stamp=STAMP, time=903, id=5),
    "switch": forge.SwitchCpuWide(stamp=STAMP, is_out=True, next_prev_pid=8, next_prev_tid=9),
    "ksymbol": forge.Ksymbol(stamp=STAMP, addr=1 << 63, len=16),
    "cgroup": forge.Cgroup(stamp=STAMP, id=3, path="/a"),
    "namespaces": forge.Namespaces(stamp=STAMP, pid=2, tid=2, links=((1, 2), (3, 4))),
    "aux": forge.Aux(stamp=STAMP, offset=1, aux_size=2, flags=1),
    "deferred chain": CHAIN,
    "round": forge.FinishedRound(),
    "build id": forge.BuildId(build_id=bytes(range(20)), filename="/bin/y"),
    "rename": forge.EventUpdate(kind=2, id=5, value="renamed"),
    "threads": forge.ThreadMap(threads=((2, "two"),)),
    "clock": forge.TimeConv(shift=3, mult=5, zero=7),
    "trace kind": forge.AuxtraceInfo(),
    "trace": forge.Auxtrace(data=LOOKALIKES, offset=64, idx=2, tid=3, cpu=1),
    "no trace": forge.Auxtrace(),
    "tracing data": forge.TracingData(blob=LOOKALIKES),
    "compressed": packed(sample(98), legacy=True),
    "compressed2": packed(sample(98), legacy=False),
    "compressed chain": packed(CHAIN, legacy=False),
    "event": forge.Raw(type=64, body=replace(OTHER, name="late", ids=(8,)).encode("<") + struct.pack("<Q", 8)),
    "event's id": forge.Raw(type=EVENT_ID, body=struct.pack("<3Q", 1, 1, 8)),
    "unknown": forge.Raw(type=4000, body=bytes(24)),
    "odd size": forge.Raw(type=4000, body=bytes(5)),
    "damaged": forge.Raw(type=3),
}
CHANGE_WHAT_FOLLOWS = {"trace", "tracing data", "compressed", "compressed2", "compressed chain", "event", "odd size"}
"""Kinds that are cut at every fifth byte, others at every thirteenth; both are prime to the words that records have."""
LATE = {"event", "event's id"}
"""Samples have an id that no other record tells of."""


def recording_with(kind: str, order: str = "<") -> tuple[bytes, int, int]:
    """A recording with a record among others, and where it begins and ends, counted from the first record."""
    events = SESSION.events
    behind = [
        replace(sample(number), id=8) if kind in LATE and number % 4 == 1 else sample(number) for number in range(9)
    ]
    before = [*behind[:4], forge.Comm(stamp=STAMP, pid=2, tid=2, comm="main"), sample(6)]
    start = sum(len(record.encode(events, order)) for record in before)
    size = len(KINDS[kind].encode(events, order))
    session = replace(SESSION, order=order)
    return forge.write_file(session, [*before, KINDS[kind], *behind]), start, start + size


def cut_into(patch: pytest.MonkeyPatch, span: int) -> None:
    """Read so many bytes at once, and make blocks and batches of hardly any records."""
    patch.setattr(first_walk, "BLOCK_SIZE", span)
    patch.setattr(first_walk, "FEW_RECORDS", 1)
    patch.setattr(sideband_decoder, "_MIN_BATCH", 2)


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        *((kind, "<") for kind in KINDS),
        *(
            pytest.param(kind, ">", marks=() if row % 3 == 0 else pytest.mark.slow)
            for row, kind in enumerate(kind for kind in KINDS if not kind.startswith("compressed") and kind not in LATE)
        ),
    ],
)
def test_a_record_across_the_end_of_what_is_read_at_once(
    kind: str, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, start, stop = recording_with(kind, order)
    path = tmp_path / "perf.data"
    path.write_bytes(data)
    whole = facts(path)
    assert whole["count"] == 14 + kind.startswith("compressed") - (kind == "compressed chain") + (kind == "sample")
    assert len(whole["traces"]) == (kind in {"trace", "no trace"})
    assert all(event >= 0 for event in whole["samples"]["event"])
    for span in range(start, stop + 9, 5 if kind in CHANGE_WHAT_FOLLOWS and order == "<" else 13):
        cut_into(monkeypatch, span)
        assert facts(path) == whole, span - start


@pytest.mark.parametrize(
    ("kind", "span"),
    [
        pytest.param(kind, span, marks=() if (row + each) % 3 == 0 else pytest.mark.slow)
        for row, kind in enumerate(KINDS)
        for each, span in enumerate((8, 100, 1024))
    ],
)
def test_everything_is_cut_small(kind: str, span: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is larger than that; any number of parts has all samples, each once."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording_with(kind)[0])
    whole = facts(path)
    cut_into(monkeypatch, span)
    for parts in (1, 3):
        assert facts(path, [Shard(number, parts) for number in range(parts)]) == whole


def test_records_without_times_are_cut_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of kernels before 2.6.38 have the time of the sample before them."""
    old = replace(EVENT, sample_type=k.IP | k.TID | k.TIME, flags=frozenset())
    records = [(forge.Sample(ip=1, tid=2, time=100 * at), forge.Comm(pid=2, tid=2, comm=f"n{at}")) for at in range(8)]
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session((old,)), [record for pair in records for record in pair]))
    whole = facts(path)
    assert whole["sideband"]["comms"]["time"] == [100 * at for at in range(8)]
    for span in range(8, 200, 11):
        cut_into(monkeypatch, span)
        assert facts(path) == whole, span


def in_pipe() -> bytes:
    """A pipe with all kinds of records, header sections among them."""
    features = forge.Features(hostname="host", os_release="6.1", command_line=("perf", "record"))
    records = [record for name, record in KINDS.items() if not name.startswith("compressed") and name not in LATE]
    session = replace(SESSION, pipe=True, features=features)
    return forge.write_file(session, [sample(0), *records, *map(sample, range(9))])


def test_a_pipe_is_cut_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(in_pipe())
    whole = facts(path)
    assert whole["count"] == 11 and whole["session"].hostname == "host"
    for span in range(8, 700, 29):
        cut_into(monkeypatch, span)
        assert facts(path) == whole, span


@pytest.mark.parametrize(
    "pack", [gzip.compress, lzma.compress, lambda data: zstd().compress(data)], ids=["gz", "xz", "zst"]
)
def test_packed_input_in_pieces(pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(in_pipe())
    whole = facts(path)
    path.write_bytes(pack(in_pipe()))
    for chunk in (8, 9, 100, 1024):
        monkeypatch.setattr(input_file, "CHUNK_SIZE", chunk)
        assert facts(path) == whole


@pytest.mark.parametrize("legacy", [False, True])
def test_records_inside_compressed_ones_are_cut_everywhere(
    legacy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """perf compresses the kernel's records, without regard to where they end."""
    kernels = [record for name, record in KINDS.items() if type(record).number < 64 and name not in LATE]
    records = [*map(sample, range(4)), *(record for record in kernels if not isinstance(record, forge.Raw))]
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(SESSION, records))
    whole = facts(path)
    for each in (*range(1, 120, 17), 1000):
        path.write_bytes(forge.write_file(replace(SESSION, zstd=each, legacy_zstd=legacy), records))
        for span in (each + 13, 1 << 22):
            cut_into(monkeypatch, span)
            found = facts(path)
            del found["sideband"]["record_counts"]["COMPRESSED" if legacy else "COMPRESSED2"]
            assert found == whole, (each, span)


def test_wide_records_of_phones_are_cut_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = b"ffffffff81000000 t here\n"
    inner = Wide(number=KERNEL_SYMBOL, body=with_size(symbols))
    path = tmp_path / "perf.data"
    for parts in ([inner], split(inner, 17)):
        records: list[Any] = [*map(sample, range(3)), *parts, *map(sample, range(3))]
        path.write_bytes(forge.write_file(SESSION, records))
        whole = facts(path)
        assert whole["session"].kallsyms == symbols and whole["count"] == 6
        for span in range(8, 400, 11):
            cut_into(monkeypatch, span)
            assert facts(path) == whole, span
        cut_into(monkeypatch, 1 << 22)
