"""Records of Android's simpleperf: wide sizes, parts of records, ids, and maps in front of the others."""

import struct
from pathlib import Path

import pytest

from perf2x.errors import FormatError
from perf2x.reader import PerfRecording, first_walk
from tests import forge
from tests.forge import kernel as k
from tests.forge import simpleperf as phone
from tests.forge.simpleperf import EVENT_ID, INIT_MAP, KERNEL_SYMBOL, TRACING_DATA, Wide, split, with_size
from tests.support.reading import one_batch, reopened
from tests.support.rich_recording import tracing_data

KALLSYMS = b"".join(b"%016x T function_%d\n" % (0xFFFF000008080000 + 64 * row, row) for row in range(3000))
SAMPLES = [forge.Sample(time=time, ip=0x1000) for time in (10, 20, 30)]


def read(tmp_path: Path, *records: forge.Record | Wide, **features: bytes) -> PerfRecording:
    extra = {int(number[1:]): data for number, data in features.items()}
    session = forge.Session(features=forge.Features(event_names=False, extra=extra))
    return reopened(tmp_path, session, records)


@pytest.mark.parametrize("size", [len(KALLSYMS), 0x10000 - 12, 0x10000 - 20, 0x20000 - 12, 100])
def test_records_may_have_more_than_64_kib(tmp_path: Path, size: int) -> None:
    """Their lower half of the size may be anything: 0, 4, or that of a record which ends inside."""
    wide = Wide(number=KERNEL_SYMBOL, body=with_size(KALLSYMS[:size], 1))
    recording = read(tmp_path, SAMPLES[0], wide, *SAMPLES[1:])
    assert recording.session.kallsyms == KALLSYMS[:size]
    assert one_batch(recording).times.tolist() == [10, 20, 30]
    assert recording.sideband.record_counts["SIMPLEPERF_KERNEL_SYMBOL"] == 1
    assert not recording.diagnostics.counts


def test_parts_of_a_record_are_joined(tmp_path: Path) -> None:
    parts = split(Wide(number=KERNEL_SYMBOL, body=with_size(KALLSYMS)), 60_000)
    earlier = split(Wide(number=KERNEL_SYMBOL, body=with_size(b"earlier")), 10)
    recording = read(tmp_path, *earlier, *parts, *SAMPLES)
    assert recording.session.kallsyms == KALLSYMS
    assert recording.sample_count == 3
    assert not recording.diagnostics.counts


@pytest.mark.parametrize("length", [0, 4, 8, 12])
def test_parts_that_are_no_record_are_passed_over(tmp_path: Path, length: int) -> None:
    parts = split(Wide(number=KERNEL_SYMBOL, body=with_size(KALLSYMS)), 60_000)
    cut = Wide(number=phone.SPLIT, body=parts[0].body[:length])
    assert read(tmp_path, cut, parts[-1], *SAMPLES).sample_count == 3


@pytest.mark.parametrize("lost", [1, 4000])
def test_a_wide_record_that_is_cut_is_counted(tmp_path: Path, lost: int) -> None:
    whole = Wide(number=KERNEL_SYMBOL, body=with_size(KALLSYMS))
    size = len(whole.body) + 8
    header = struct.pack("<IHH", KERNEL_SYMBOL, size >> 16, size & 0xFFFF)
    path = tmp_path / "perf.data"
    session = forge.Session(features=forge.Features(event_names=False))
    path.write_bytes(forge.write_file(session, [*SAMPLES, _Raw(header + whole.body[:-lost])]))
    recording = _open(path)
    assert recording.sample_count == 3
    assert recording.diagnostics["bytes_after_last_record"] == size - lost


def test_an_impossible_size_ends_the_records(tmp_path: Path) -> None:
    broken = _Raw(struct.pack("<IHH", TRACING_DATA, 0, 4))
    recording = read(tmp_path, *SAMPLES, broken)
    assert recording.sample_count == 3
    assert recording.diagnostics["bytes_after_last_record"] == 8


@pytest.mark.parametrize("inside", [True, False])
def test_tracing_data_in_a_record(tmp_path: Path, inside: bool) -> None:
    """simpleperf once wrote perf's record with the data inside, padded to 64; later a record of its own."""
    data = tracing_data()
    body = with_size(data, 64)
    record = _Raw(struct.pack("<IHH", 66, 0, len(body) + 8) + body) if inside else Wide(number=TRACING_DATA, body=body)
    recording = read(tmp_path, record, *SAMPLES)
    assert recording.session.features["tracing_data"]["formats"]  # type: ignore[index]
    assert recording.sample_count == 3
    assert not recording.diagnostics.counts


def test_ids_may_be_records(tmp_path: Path) -> None:
    kind = k.IDENTIFIER | k.IP | k.TIME
    events = (forge.Event(sample_type=kind), forge.Event(sample_type=kind, config=1))
    ids = Wide(number=EVENT_ID, body=struct.pack("<7Q", 3, 0, 71, 1, 72, 9, 73))
    records = [ids, forge.Sample(id=72, time=1), forge.Sample(id=71, time=2)]
    recording = reopened(tmp_path, forge.Session(events=events), records)
    assert one_batch(recording).event.tolist() == [1, 0]
    assert not recording.diagnostics.counts


def test_a_cut_record_of_ids_is_counted(tmp_path: Path) -> None:
    recording = read(tmp_path, Wide(number=EVENT_ID, body=struct.pack("<2Q", 1000, 0)), *SAMPLES)
    assert recording.diagnostics["records_malformed"] == 1


def test_maps_in_a_section_come_first(tmp_path: Path) -> None:
    events = (forge.Event(),)
    maps = [forge.Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, filename="/system/lib64/libc.so")]
    section = b"".join(one.encode(events, "<") for one in maps)
    recording = read(tmp_path, *SAMPLES, **{f"f{INIT_MAP}": section})
    assert list(recording.sideband.mmaps.filename) == ["/system/lib64/libc.so"]
    assert recording.sideband.mmaps.position[0] < one_batch(recording).position[0]
    assert recording.session.features["simpleperf_init_map"] == {"size": len(section)}
    assert recording.fingerprint is not None


def test_sections_have_names(tmp_path: Path) -> None:
    sections = {f"f{phone.DEBUG_UNWIND_FILE}": b"\x7fELF", f"f{phone.ETM_BRANCH_LIST}": b"\x0a\x00"}
    recording = read(tmp_path, *SAMPLES, **sections)
    assert recording.session.features == {
        "simpleperf_debug_unwind_file": {"size": 4},
        "simpleperf_etm_branch_list": {"size": 2},
    }
    assert not recording.diagnostics.counts


class _Raw(Wide):
    """Bytes as they are."""

    def __init__(self, data: bytes) -> None:
        super().__init__(number=0, body=data)

    def encode(self, events: object, order: str) -> bytes:
        return self.body


def _open(path: Path) -> PerfRecording:
    from perf2x.reader import open_recording

    return open_recording(str(path))


def test_no_bomb_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is remembered, so that they count as records do."""
    monkeypatch.setattr(first_walk, "record_limit", lambda size: 10)
    assert read(tmp_path, *SAMPLES, *[Wide(number=phone.SPLIT, body=b"")] * 7).sample_count == 3
    with pytest.raises(FormatError, match="more than 10 records"):
        read(tmp_path, *SAMPLES, *[Wide(number=phone.SPLIT, body=b"")] * 8)
