"""Damaged recordings: whatever is cut off or flipped, opening soon ends in a result or in one Perf2xError."""

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from perf2x.errors import FormatError, Perf2xError
from perf2x.model.recording.events import Want
from perf2x.reader import PerfRecording, open_recording
from tests import forge
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.support.reading import opened

WIDE = forge.Event(
    sample_type=2**25 - 1 & ~k.WEIGHT & ~k.AUX, read_format=k.READ_ID | k.READ_GROUP | k.READ_LOST, ids=(7, 8),
    branch_sample_type=k.BRANCH_HW_INDEX, sample_regs_user=7, sample_regs_intr=3, sample_stack_user=64,
)  # fmt: skip
NARROW = forge.Event(name="narrow", sample_type=k.IDENTIFIER | k.IP | k.CALLCHAIN, ids=(9,))
FEATURES = Features(
    hostname="host", command_line=("perf", "record"), build_ids=(("/bin/x", bytes(20)),), pmus=((1, "software"),),
    groups=(("g", 0, 2),), clock=(1, 2, 3), compressed=(1, 1, 1, 1, 528384), extra={13: bytes(64), 25: bytes(40)},
)  # fmt: skip


def _records() -> Iterator[forge.Record]:
    yield forge.Mmap2(pid=1, tid=1, addr=4096, len=4096, build_id=bytes(20))
    yield forge.Comm(pid=1, tid=1, comm="comm")
    yield forge.Namespaces(pid=1, tid=1, links=((1, 2),) * 3)
    yield forge.IdIndex(entries=((7, 0, 0, 0),))
    yield forge.EventUpdate(kind=2, id=9, value="renamed")
    yield forge.BuildId(build_id=bytes(20), filename="/bin/y")
    for time in range(4):
        read = forge.GroupRead((forge.ReadValue(time, 7), forge.ReadValue(2 * time, 8)))
        yield forge.Sample(
            time=time, id=7, chain=(1, 2, 3), read=read, raw=b"raw!", branches=(forge.Branch(1, 2),),
            regs_user=forge.Registers(2, (1, 2, 3)), stack=bytes(64), regs_intr=forge.Registers(1, (4, 5)),
        )  # fmt: skip
        yield forge.Sample(event=1, id=9, chain=(5,))
        yield forge.CallchainDeferred(cookie=time, ips=(1, 2))
    yield forge.TracingData(blob=b"\x17\x08\x44tracing0.6\0" + bytes(50))
    yield forge.Lost(lost=3)


WAYS = {
    "file": forge.Session(events=(WIDE, NARROW), features=FEATURES),
    "big-endian file": forge.Session(events=(WIDE, NARROW), features=FEATURES, order=">"),
    "pipe": forge.Session(events=(WIDE, NARROW), features=FEATURES, pipe=True),
    "zstd file": forge.Session(events=(WIDE, NARROW), features=FEATURES, zstd=600),
    "zstd pipe": forge.Session(events=(WIDE, NARROW), features=FEATURES, zstd=300, pipe=True, legacy_zstd=True),
    "unfinished": forge.Session(events=(WIDE, NARROW), unfinished=True),
}
EACH = pytest.mark.parametrize("session", WAYS.values(), ids=WAYS.keys())


def _ends_well(folder: Path, data: bytes) -> PerfRecording | None:
    try:
        recording = opened(folder, data)
        assert sum(map(len, recording.samples(~Want.REREAD))) <= recording.sample_count
    except Perf2xError:
        return None
    return recording


@EACH
def test_an_undamaged_recording_is_read(tmp_path: Path, session: forge.Session) -> None:
    recording = _ends_well(tmp_path, forge.write_file(session, _records()))
    assert recording is not None and recording.sample_count == 10


@EACH
def test_a_recording_cut_anywhere_ends_well(tmp_path: Path, session: forge.Session) -> None:
    data = forge.write_file(session, _records())
    counts = []
    for end in range(0, len(data), 136):
        recording = _ends_well(tmp_path, data[:end])
        counts.append(recording.sample_count if recording else 0)
    assert counts == sorted(counts), "a longer piece gives fewer samples"
    assert len(set(counts)) > 4 or session.zstd


@EACH
def test_flipped_bits_end_well(tmp_path: Path, session: forge.Session) -> None:
    whole = forge.write_file(session, _records())
    chance = random.Random(2)
    for _ in range(20):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        _ends_well(tmp_path, bytes(data))


def test_files_that_are_no_recording_are_refused(tmp_path: Path) -> None:
    for data in (
        b"",
        b"PERFILE2",
        b"\x7fELF" + bytes(200),
        bytes(104),
        b"PERFFILE" + bytes(200),
        b"\x1f\x8b" + bytes(9),
    ):
        with pytest.raises(FormatError, match=r"perf\.data"):
            opened(tmp_path, data)
    with pytest.raises(FormatError, match="not a recording"):
        open_recording(str(tmp_path.parent))
    with pytest.raises(FormatError, match="No such file"):
        open_recording(str(tmp_path / "absent"))


def test_the_message_says_where_and_what(tmp_path: Path) -> None:
    data = bytearray(forge.write_file(forge.Session(), [forge.Sample()]))
    struct.pack_into("<Q", data, 24, 2**60)
    with pytest.raises(FormatError, match=r"byte 0x10: .*at 0x1000000000000000 in a file of \d+"):
        opened(tmp_path, bytes(data))


@pytest.mark.parametrize("size", [0, 7])
def test_an_impossible_size_ends_the_stream(tmp_path: Path, size: int) -> None:
    good, bad = forge.Sample(ip=1), struct.pack("<IHH", 9, 0, size) + bytes(24)
    session = forge.Session(features=Features(event_names=False))
    plain = forge.write_file(session, [good, good])
    at = int.from_bytes(plain[40:48], "little")
    one = (len(plain) - at) // 2
    recording = opened(tmp_path, plain[: at + one] + bad + plain[at + one :])
    assert recording.sample_count == 1
    assert recording.diagnostics["bytes_after_last_record"] == one


def test_a_chain_longer_than_its_record_is_one_lost_sample(tmp_path: Path) -> None:
    records = [forge.Sample(ip=1, chain=(9,)), forge.Sample(ip=2, nr=2**61), forge.Sample(ip=3, chain=(8,))]
    recording = opened(tmp_path, forge.write_file(forge.Session(), records))
    (batch,) = recording.samples(Want.CHAIN)
    assert batch.ip.tolist() == [1, 3] and recording.diagnostics["samples_malformed"] == 1
    list(recording.samples(Want.CHAIN | Want.REREAD))
    assert recording.diagnostics["samples_malformed"] == 1, "what is read again is not counted again"


def test_samples_with_undeclared_ids_are_counted(tmp_path: Path) -> None:
    events = (
        forge.Event(ids=(1,), sample_type=k.IDENTIFIER | k.IP),
        forge.Event(ids=(2,), sample_type=k.IDENTIFIER | k.IP),
    )
    records = [forge.Sample(id=1), forge.Sample(id=77), forge.Sample(id=2), forge.Sample(id=0)]
    recording = opened(tmp_path, forge.write_file(forge.Session(events=events), records))
    (batch,) = recording.samples(Want(0))
    assert batch.event.tolist() == [0, 1, 0] and recording.sample_count == 3
    assert recording.diagnostics["samples_of_unknown_event"] == 1


def test_a_string_without_a_nul_ends_with_its_record(tmp_path: Path) -> None:
    body = struct.pack("<II", 1, 1) + b"notended"
    plain = forge.Event(flags=frozenset())
    recording = opened(tmp_path, forge.write_file(forge.Session(events=(plain,)), [forge.Raw(type=3, body=body)]))
    assert list(recording.sideband.comms.comm) == ["notended"]
