"""The CALLCHAIN_DEFERRED record quoted in the message of kernel commit f4e3381648be, in a recording made here."""

import struct
from pathlib import Path

from perf2x.model.recording.events import Want
from perf2x.reader import open_recording

# 0x38 … of the message: type 22, misc user, size 64, cookie, nr 3, ips; trailer pid, tid, time
QUOTED = bytes.fromhex(
    "1600000002004000" "060000000b000000" "0300000000000000"
    "a77f33fe187f0000" "0f0e33fe187f0000" "481433fe187f0000"
    "0809000008090000" "e67ae7351c000000"
)  # fmt: skip
IP_TID_TIME_CALLCHAIN = 0x1 | 0x2 | 0x4 | 0x20
SAMPLE_ID_ALL = 1 << 18


def _file(records: bytes) -> bytes:
    attr = struct.pack("<IIQQQQQ", 1, 144, 0, 1000, IP_TID_TIME_CALLCHAIN, 0, SAMPLE_ID_ALL).ljust(144, b"\0")
    attrs, data = 104, 104 + 160
    header = struct.pack("<8sQQ", b"PERFILE2", 104, 160) + struct.pack("<6Q", attrs, 160, data, len(records), 0, 0)
    return header.ljust(104, b"\0") + attr + struct.pack("<QQ", 0, 0) + records


def test_the_quoted_record_decodes_exactly(tmp_path: Path) -> None:
    chain = [2**64 - 640, 0xB00000006]
    body = struct.pack("<QIIQQ2Q", 0x7F18FE337FA7, 2312, 2312, 121163447000, 2, *chain)
    sample = struct.pack("<IHH", 9, 2, 8 + len(body)) + body
    (tmp_path / "perf.data").write_bytes(_file(sample + QUOTED))
    recording = open_recording(str(tmp_path / "perf.data"))
    deferred = recording.sideband.deferred
    assert deferred.cookie.tolist() == [0xB00000006]
    assert deferred.chain.table.row(0).tolist() == [0x7F18FE337FA7, 0x7F18FE330E0F, 0x7F18FE331448]
    assert (deferred.pid.tolist(), deferred.tid.tolist(), deferred.time.tolist()) == ([2312], [2312], [121163447014])
    (batch,) = recording.samples(Want.CHAIN)
    assert batch.chain.row(0).tolist() == chain
    assert batch.time is not None and batch.time.tolist() == [121163447000]
    assert batch.period.tolist() == [1000]
