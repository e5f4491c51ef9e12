"""Containers of a recording: pipe, directory, zstd, legacy headers, .gz/.xz/.zst, attrs of every size."""

import bz2
import gzip
import io
import lzma
import struct
from pathlib import Path

import pytest

from perf2x.base.abi.struct_layouts import ATTR_REVISIONS
from perf2x.errors import FormatError
from perf2x.model.recording.events import Samples, Want
from perf2x.reader import PerfRecording, open_recording
from tests import forge
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.forge.session import container, zstd
from tests.support.reading import opened, reopened

EVENTS = (
    forge.Event(ids=(1, 2), sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CALLCHAIN),
    forge.Event(name="page-faults", config=2, ids=(3,), sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME),
)
RECORDS = [
    forge.Mmap2(pid=1, tid=1, addr=4096, len=4096, build_id=bytes(range(20))),
    *(forge.Sample(ip=ip, id=1 + ip % 3, event=ip % 3 // 2, time=ip, chain=(ip, 7)) for ip in range(40)),
    forge.Comm(pid=1, tid=1, comm="late"),
]  # fmt: skip
BOTH = pytest.mark.parametrize("order", ["<", ">"])


def _facts(recording: PerfRecording) -> object:
    batches: list[Samples] = list(recording.samples(~Want.REREAD))
    rows = [
        (int(batch.event[row]), int(batch.ip[row]), batch.chain.row(row).tolist())
        for batch in batches
        for row in range(len(batch))
    ]
    mmaps, comms = recording.sideband.mmaps, recording.sideband.comms
    return rows, list(mmaps.filename), list(mmaps.build_id), list(comms.comm)


@pytest.fixture
def expected(tmp_path: Path) -> object:
    recording = reopened(tmp_path, forge.Session(events=EVENTS), RECORDS)
    assert recording.sample_count == 40 and not recording.diagnostics.counts
    return _facts(recording)


@BOTH
@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("packed", [0, 97, 700])
@pytest.mark.parametrize("legacy", [False, True])
def test_every_container_reads_the_same(
    tmp_path: Path, expected: object, order: str, pipe: bool, packed: int, legacy: bool
) -> None:
    session = forge.Session(events=EVENTS, order=order, pipe=pipe, zstd=packed, legacy_zstd=legacy)
    recording = reopened(tmp_path, session, RECORDS)
    assert _facts(recording) == expected == _facts(recording) and not recording.diagnostics.counts
    assert recording.session.is_pipe == pipe and recording.session.byte_order == order
    names = [event.name for event in recording.session.events]
    assert names == ["cpu-clock", "page-faults"] and recording.session.events[0].ids == (1, 2)


@pytest.mark.parametrize("data_size", [0, 2**40])
def test_a_broken_data_size_is_tolerated(tmp_path: Path, expected: object, data_size: int) -> None:
    """perf 6.16 forgot data_size and padding in all but the first record of a batch."""
    plain = container(forge.Session(events=EVENTS, zstd=300, legacy_zstd=True), RECORDS)
    records = []
    for record in plain.records:
        packed = struct.unpack_from("<I", record)[0] == 81
        records.append(struct.pack("<IHHQ", 83, 0, len(record) + 8, data_size) + record[8:] if packed else record)
    whole = forge.Container(plain.order, plain.attrs, tuple(records), plain.features).to_file()
    assert _facts(opened(tmp_path, whole)) == expected


def test_a_decompression_bomb_in_a_record_is_refused(tmp_path: Path) -> None:
    """100 MB of records in a few kB: more than the recording's own ring buffers hold."""
    packed = zstd().compress(bytes(100 << 20))
    bomb = forge.Raw(type=81, body=packed[:60000])
    features = Features(compressed=(1, 1, 1, 1, 528384))
    recording = reopened(tmp_path, forge.Session(events=EVENTS, features=features), [*RECORDS, bomb])
    assert recording.sample_count == 40 and recording.diagnostics["compressed_records_broken"] == 1


def test_nested_compression_is_not_followed(tmp_path: Path) -> None:
    inner = forge.Raw(type=81, body=zstd().compress(b"\x44\0\0\0\0\0\x08\0"))
    recording = reopened(tmp_path, forge.Session(events=EVENTS, zstd=500), [inner, *RECORDS])
    assert recording.sample_count == 40 and "FINISHED_ROUND" not in recording.sideband.record_counts


@pytest.mark.parametrize("wrap", [gzip.compress, lzma.compress, lambda raw: zstd().compress(raw)])
@pytest.mark.parametrize("pipe", [False, True])
def test_compressed_files_read_the_same(tmp_path: Path, expected: object, wrap, pipe: bool) -> None:  # type: ignore[no-untyped-def]
    data = wrap(forge.write_file(forge.Session(events=EVENTS, pipe=pipe), RECORDS))
    assert _facts(opened(tmp_path, data)) == expected
    long = [forge.Sample(ip=ip * 2**20, id=1, time=ip, chain=(ip**3, ip**4)) for ip in range(2500)]
    data = wrap(forge.write_file(forge.Session(events=EVENTS, pipe=pipe), long))
    cut = opened(tmp_path, data[: len(data) - 12])
    assert cut.diagnostics["wrapper_damaged"] == 1 and 1000 < cut.sample_count <= 2500


def test_bzip2_reads_the_same_and_gives_nothing_of_a_cut_block(tmp_path: Path, expected: object) -> None:
    data = bz2.compress(forge.write_file(forge.Session(events=EVENTS), RECORDS))
    assert _facts(opened(tmp_path, data)) == expected
    with pytest.raises(FormatError, match="nothing can be unpacked"):
        opened(tmp_path, data[:-12])


def test_standard_input_reads_the_same(tmp_path: Path, expected: object, monkeypatch: pytest.MonkeyPatch) -> None:
    data = forge.write_file(forge.Session(events=EVENTS, pipe=True), RECORDS)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    recording = open_recording("-")
    assert _facts(recording) == expected and recording.session.source == "standard input"


@BOTH
def test_legacy_headers_read_the_same(tmp_path: Path, expected: object, order: str) -> None:
    """PERFFILE does not tell the byte order; the size of the attributes does."""
    sized = [forge.Event(**{**vars(event), "size": 104}) for event in EVENTS]
    data = forge.write_file(forge.Session(events=tuple(sized), order=order), RECORDS)
    assert _facts(opened(tmp_path, b"PERFFILE" + data[8:])) == expected


@BOTH
@pytest.mark.parametrize("size", [*(size for size, _ in ATTR_REVISIONS), 160, 4096])
@pytest.mark.parametrize("pipe", [False, True])
def test_attrs_of_every_size_are_read(tmp_path: Path, order: str, size: int, pipe: bool) -> None:
    event = forge.Event(
        size=size, precise_ip=2, config=9, config1=5, config2=6, sample_regs_user=7, sample_stack_user=8, clockid=3,
        sample_regs_intr=9, branch_sample_type=10, flags=frozenset({"sample_id_all", "use_clockid", "defer_output"}),
    )  # fmt: skip
    found = reopened(tmp_path, forge.Session(events=(event,), order=order, pipe=pipe), []).session.events[0]
    since = {72: "config2", 80: "branch_sample_type", 96: "sample_regs_user", 104: "sample_regs_intr"}
    for smallest, name in since.items():
        assert getattr(found, name) == (getattr(event, name) if size >= smallest else 0)
    assert (found.precise_ip, found.config1, found.flags, found.attr_size) == (2, 5, event.flags, size)
    assert found.clockid == (3 if size >= 96 else 0)


@BOTH
def test_a_directory_reads_the_same(tmp_path: Path, order: str, expected: object) -> None:
    """perf record --threads: data.N hold the rest of the records, in order of number, not of name."""
    folder = tmp_path / "folder.data"
    folder.mkdir()
    session = forge.Session(events=EVENTS, order=order)
    whole = container(session, RECORDS)
    parts = whole.records
    (folder / "data").write_bytes(forge.Container(order, whole.attrs, parts[:5], whole.features).to_file())
    (folder / "data.2").write_bytes(b"".join(parts[5:20]))
    (folder / "data.10").write_bytes(b"".join(parts[20:]))
    (folder / "data.3").write_bytes(b"")
    (folder / "data.x").write_bytes(b"not ours")
    recording = open_recording(str(folder))
    assert _facts(recording) == expected and recording.session.kcore_dir == ""
    (folder / "kcore_dir").mkdir()
    assert open_recording(str(folder)).session.kcore_dir == str(folder / "kcore_dir")


def test_each_file_of_a_directory_has_a_zstd_stream_of_its_own(tmp_path: Path, expected: object) -> None:
    folder = tmp_path / "folder.data"
    folder.mkdir()
    session = forge.Session(events=EVENTS, zstd=200)
    whole = container(session, RECORDS[:10])
    (folder / "data").write_bytes(whole.to_file())
    (folder / "data.0").write_bytes(b"".join(container(session, RECORDS[10:]).records))
    assert _facts(open_recording(str(folder))) == expected


def test_an_unfinished_file_is_read_to_its_end(tmp_path: Path, expected: object) -> None:
    recording = reopened(tmp_path, forge.Session(events=EVENTS, unfinished=True), RECORDS)
    assert _facts(recording) == expected and recording.diagnostics["unfinished_file"] == 1


def test_trace_data_between_records_is_skipped(tmp_path: Path, expected: object) -> None:
    """AUXTRACE gives the number of bytes behind it, which may look like records."""
    blob = b"".join(container(forge.Session(events=EVENTS), RECORDS[:3]).records)
    auxtrace = forge.Raw(type=71, body=struct.pack("<QQQIIII", len(blob), 0, 0, 0, 0, 0, 0))
    plain = container(forge.Session(events=EVENTS), [*RECORDS[:9], auxtrace, *RECORDS[9:]])
    records = [record + blob if record[:4] == b"\x47\0\0\0" else record for record in plain.records]
    data = forge.Container(plain.order, plain.attrs, tuple(records), plain.features).to_file()
    recording = opened(tmp_path, data)
    assert _facts(recording) == expected and recording.diagnostics["hardware_trace"] == 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (
            1,
            "Intel PT is not decoded; on the recorded machine, run: perf inject --itrace=i100usl -i perf.data",
        ),
        (3, "Arm CoreSight ETM is not decoded; on the recorded machine, run: perf inject --itrace=i1000il "),
        (6, "HiSilicon PTT is not decoded, and perf inject cannot make samples from it"),
        (99, "hardware trace is not decoded, and perf inject cannot make samples from it"),
    ],
)
def test_hardware_trace_is_named_with_the_command_that_helps(
    tmp_path: Path, number: int, advice: str, order: str
) -> None:
    session = forge.Session(events=EVENTS, order=order)
    info = forge.Raw(type=70, body=struct.pack(order + "IIQQ", number, 0, 0, 0))
    trace = forge.Raw(type=71, body=struct.pack(order + "QQQIIII", 0, 0, 0, 0, 0, 0, 0))
    found = opened(tmp_path, container(session, [info, trace, *RECORDS[:3]]).to_file()).diagnostics
    assert found.counts["hardware_trace"].advice.startswith(advice)


def test_an_info_of_hardware_trace_may_be_cut(tmp_path: Path) -> None:
    found = opened(tmp_path, container(forge.Session(events=EVENTS), [forge.Raw(type=70, body=b"")]).to_file())
    assert found.diagnostics["records_malformed"] == 1


def test_records_of_odd_sizes_are_read(tmp_path: Path, expected: object) -> None:
    """perf 6.1's inject -b writes build ids whose size is no multiple of 8; all that follows is unaligned."""
    odd = forge.Raw(type=67, body=struct.pack("<i20sBBH", -1, bytes(20), 20, 0, 0) + b"/bin/odd\0\0\0")
    recording = reopened(tmp_path, forge.Session(events=EVENTS), [*RECORDS[:7], odd, *RECORDS[7:]])
    assert _facts(recording) == expected and "/bin/odd" in recording.session.build_ids


def test_the_source_is_the_path_unless_another_name_is_given(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(), []))
    assert open_recording(str(path)).session.source == str(path)
    assert open_recording(str(path), source="a.tar:perf.data").session.source == "a.tar:perf.data"
