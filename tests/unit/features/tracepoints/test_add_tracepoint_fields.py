"""Fields of tracepoints as columns, held against the reader's decoder of one sample, and joined with samples."""

import struct
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.columnar import hashing
from perf2x.base.columnar.list_array import ListArray, offsets_of
from perf2x.features.tracepoints.decode_fields import decode_columns
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions, load_options
from perf2x.model.filters.filter_options import Filters
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import keep_samples
from perf2x.model.profile.tracepoint_fields import TracepointFields
from perf2x.model.transforms.merge_profiles import merge_profiles
from perf2x.reader.records.tracepoint_decoder import decode_fields, parse_format
from tests.forge import Event, Features, Mmap2, Sample, Session, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.forge.switches import RAW, tracing_data
from tests.support.collisions import other_weights

FORMAT = """name: everything
ID: 316
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;
\tfield:pid_t pid;\toffset:16;\tsize:4;\tsigned:1;
\tfield:u8 flags;\toffset:20;\tsize:1;\tsigned:0;
\tfield:__data_loc char[] file;\toffset:24;\tsize:4;\tsigned:0;
\tfield:__rel_loc char[] other;\toffset:28;\tsize:4;\tsigned:0;
\tfield:unsigned int args[2];\toffset:32;\tsize:8;\tsigned:0;
\tfield:u64 large;\toffset:40;\tsize:8;\tsigned:0;
\tfield:unsigned char id[3];\toffset:48;\tsize:3;\tsigned:0;
"""


def record(order: str, comm: bytes, pid: int, file: bytes, large: int) -> bytes:
    head = struct.pack(f"{order}H6x8siB3xI", 316, comm, pid, 200, len(file) << 16 | 56)
    head += struct.pack(f"{order}I2IQ3s5x", 3 << 16 | 24 + len(file), 1, 2**32 - 1, large, b"\x01\xfe\x03")
    return head + file + b"zz\0"


def shown(table: TracepointFields, row: int) -> dict[str, object]:
    """Fields of one row, texts resolved."""
    values = {column.name: column.values[row].item() for column in table.columns}
    texts = {column.name: column.texts for column in table.columns if column.kind == "text"}
    return {name: texts[name][value] if name in texts else value for name, value in values.items()}


FIELDS = [field for field in parse_format(FORMAT)["fields"] if not field["name"].startswith("common_")]


@pytest.mark.parametrize("order", ["<", ">"])
def test_columns_are_what_the_decoder_of_one_sample_says(order: str) -> None:
    raws = [
        record(order, b"bash", 7, b"/bin/true\0", 5),
        record(order, b"with\0xyz", -1, b"", 2**60),
        record(order, b"eightlen", 2**31 - 1, b"caf\xc3\xa9 \xff\0", 2**53 - 1),
    ]
    raw = ListArray(offsets_of(np.array([len(one) for one in raws])), np.frombuffer(b"".join(raws), np.uint8))
    table = decode_columns(FIELDS, raw, order)
    for row, octets in enumerate(raws):
        wanted = decode_fields(FIELDS, octets, order)
        args = wanted.pop("args")
        wanted |= {"args[0]": args[0], "args[1]": args[1], "large": hex(wanted["large"])}
        assert shown(table, row) == wanted


@pytest.mark.parametrize("count", [3, 4, 8])
def test_arrays_of_bytes_are_hexadecimal_however_long(count: int) -> None:
    field = {"name": "mac", "type": f"u8[{count}]", "offset": 2, "size": count, "signed": False}
    assert decode_fields([field], bytes(range(2 + count)), "<") == {"mac": bytes(range(2, 2 + count)).hex()}


def test_bytes_beyond_the_end_of_a_record_are_zeros() -> None:
    cut = record("<", b"bash", 7, b"/bin/true\0", 5)[:18]
    table = decode_columns(FIELDS, ListArray(np.array([0, len(cut), len(cut)]), np.frombuffer(cut, np.uint8)), "<")
    assert shown(table, 0)["comm"] == "bash"
    assert shown(table, 0)["pid"] == 7
    assert shown(table, 1) == {"comm": "", "pid": 0, "flags": 0, "file": "", "other": "", "args[0]": 0, "args[1]": 0,
                               "large": 0, "id": ""}  # fmt: skip


def loaded(folder: Path, order: str = "<", **options: object) -> Profile:
    """Five samples of a tracepoint, two of them of thread 7 at one time, and one of a clock."""
    event = Event(name="sys:everything", type=2, config=316, period=1, ids=(1,), sample_type=RAW | k.IDENTIFIER)
    clock = Event(ids=(2,), sample_type=RAW | k.IDENTIFIER)
    chain = (0xFFFFFFFFFFFFFE00, 0x1000)
    said = [(7, 50, b"a\0"), (7, 50, b"b\0"), (8, 50, b"c\0"), (8, 40, b"d\0"), (9, 60, b"e\0")]
    records = [
        Sample(id=1, pid=tid, tid=tid, time=time, chain=chain, raw=record(order, b"x", tid, name, 1))
        for tid, time, name in said
    ]
    records.append(Sample(id=2, pid=7, tid=7, time=50, chain=chain, raw=record(order, b"x", 1, b"never\0", 1)))
    path = folder / "traced.data"
    extra = {TRACING_DATA: tracing_data(order, FORMAT)}
    path.write_bytes(write_file(Session(events=(event, clock), order=order, features=Features(extra=extra)), records))
    return load(str(path), load_options(timeline=True, keep=frozenset({"fields"}), **options)).profile


def files_of(profile: Profile) -> list[tuple[int, int, object]]:
    """(tid, time, file name) of each sample that has fields."""
    samples = profile.samples
    if samples.fields is None or samples.time is None:
        return []
    rows = np.flatnonzero(samples.fields >= 0)
    tids = profile.threads.tid[samples.thread[rows]].tolist()
    table = [shown(entry, row)["file"] for entry in profile.fields for row in range(entry.count)]
    files = [table[row] for row in samples.fields[rows].tolist()]
    return sorted(zip(tids, samples.time[rows].tolist(), files, strict=True))


@pytest.mark.parametrize("order", ["<", ">"])
def test_samples_get_the_fields_of_their_own_record(tmp_path: Path, order: str) -> None:
    assert files_of(loaded(tmp_path, order)) == [(7, 50, "a"), (7, 50, "b"), (8, 40, "d"), (8, 50, "c"), (9, 60, "e")]


def test_filtered_samples_keep_their_fields(tmp_path: Path) -> None:
    assert files_of(loaded(tmp_path, filters=Filters(tids=(8,)))) == [(8, 40, "d"), (8, 50, "c")]


def test_anonymized_profiles_have_no_fields(tmp_path: Path) -> None:
    assert files_of(loaded(tmp_path, anonymize="salt")) == []


def test_merged_recordings_keep_the_fields_of_each(tmp_path: Path) -> None:
    profile = loaded(tmp_path)
    merged = merge_profiles([profile, profile])
    merged.check()
    assert files_of(merged) == sorted(2 * files_of(profile))


def test_twins_of_a_thread_and_a_time_keep_their_own_fields(tmp_path: Path) -> None:
    """A timeline orders them by their stacks, and a filter may leave one out."""
    kind = RAW | k.IDENTIFIER | k.CALLCHAIN
    event = Event(name="sys:everything", type=2, config=316, period=1, ids=(1,), sample_type=kind)
    code = Mmap2(pid=7, tid=7, addr=0, len=0x4000, filename="/bin/x", stamp=Stamp(time=1))
    records = [
        code,
        *(
            Sample(id=1, pid=7, tid=7, time=50, chain=(0xFFFFFFFFFFFFFE00, ip), raw=record("<", b"x", 7, name, 1))
            for ip, name in ((0x3000, b"c\0"), (0x1000, b"a\0"), (0x2000, b"b\0"))
        ),
    ]
    path = tmp_path / "twins.data"
    features = Features(extra={TRACING_DATA: tracing_data("<", FORMAT)})
    path.write_bytes(write_file(Session(events=(event,), features=features), records))
    options = LoadOptions(timeline=True, keep=frozenset({"fields"}))
    profile = load(str(path), options).profile
    assert profile.samples.position is None
    assert names_by_address(profile) == {0x1000: "a", 0x2000: "b", 0x3000: "c"}
    (leaf,) = np.flatnonzero(profile.locations.address[profile.stacks.location] == 0x1000).tolist()
    kept = keep_samples(profile, profile.samples.stack != leaf)
    assert names_by_address(kept) == {0x2000: "b", 0x3000: "c"}


def names_by_address(profile: Profile) -> dict[int, object]:
    """The file name in the fields of each sample by the sample's innermost address."""
    samples, (table,) = profile.samples, profile.fields
    assert samples.fields is not None
    address = profile.locations.address[profile.stacks.location[samples.stack]].tolist()
    return {at: shown(table, row)["file"] for at, row in zip(address, samples.fields.tolist(), strict=True)}


def test_texts_stand_in_order_of_appearance_whatever_the_weights_of_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"thread {number * 7 % 300}" for number in range(300)]
    raws = [record("<", name.encode()[-8:], 7, name.encode() + b"\0", 5) for name in (*names, *names)]
    for seed in range(3):
        monkeypatch.setattr(hashing, "_weights", other_weights(seed))
        rows = ListArray(
            offsets_of(np.array([len(raw) for raw in raws], np.int64)), np.frombuffer(b"".join(raws), np.uint8)
        )
        (column,) = [one for one in decode_columns(FIELDS, rows, "<").columns if one.name == "file"]
        assert column.texts == names
        assert column.values.tolist() == [*range(300), *range(300)]
