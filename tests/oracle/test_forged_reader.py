"""Whatever the forge writes, in either byte order, the columns are what the scalar decoder reads."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from perf2x.reader import open_recording
from tests import forge
from tests.forge import kernel as k
from tests.forge.strategies import recordings
from tests.reference.decode import read
from tests.support.examples import examples
from tests.support.reader_oracle import assert_recordings_alike, sample_rows

QUOTED = bytes.fromhex(
    "16000000 0200 4000 060000000b000000 0300000000000000 a77f33fe187f0000 0f0e33fe187f0000 481433fe187f0000"
    "0809000008090000 e67ae7351c000000"
)


@pytest.fixture(scope="module")
def forged_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged") / "perf.data"


@settings(max_examples=examples(40))
@given(recordings())
def test_columns_equal_the_scalar_decoder(forged_file: Path, forged: tuple[forge.Session, list[forge.Record]]) -> None:
    session, records = forged
    rows = []
    for order in "<>":
        raw = forge.write_file(replace(session, order=order), records)
        forged_file.write_bytes(raw)
        product = open_recording(str(forged_file))
        assert_recordings_alike(product, read(raw))
        rows.append([_as_bytes(row, order) for row in sorted(sample_rows(product), key=lambda row: row[0])])
    assert rows[0] == rows[1]


def _as_bytes(row: tuple[Any, ...], order: str) -> tuple[Any, ...]:
    """The row without its place; stack words as the bytes that were forged, the same in both byte orders."""
    if row[-1] is None:
        return row[1:]
    abi, registers, words = row[-1]
    return *row[1:-1], (abi, registers, struct.pack(f"{order}{len(words)}Q", *words))


def test_the_record_of_the_kernels_commit_message(forged_file: Path) -> None:
    event = forge.Event(sample_type=k.IP | k.TID | k.TIME | k.PERIOD)
    record = forge.Raw(type=22, misc=2, body=QUOTED[8:])
    forged_file.write_bytes(forge.write_file(forge.Session((event,)), [record]))
    deferred = open_recording(str(forged_file)).sideband.deferred
    assert deferred.cookie.tolist() == [0xB00000006]
    chain = deferred.chain.table.row(int(deferred.chain.indices[0]))
    assert chain.tolist() == [0x7F18FE337FA7, 0x7F18FE330E0F, 0x7F18FE331448]
    assert (deferred.pid.tolist(), deferred.tid.tolist(), deferred.time.tolist()) == ([2312], [2312], [121163447014])


@pytest.mark.parametrize("own", [0, 7])
def test_an_exit_record_has_its_own_time(forged_file: Path, own: int) -> None:
    """A record without sample_id_all stands where samples were; EXIT and FORK need not, even at time 0."""
    event = forge.Event(sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME, flags=frozenset(), ids=(1,))
    records = [forge.Sample(id=1, time=1303), forge.Exit(pid=1, ppid=1, tid=1, ptid=1, time=own)]
    raw = forge.write_file(forge.Session((event,)), records)
    forged_file.write_bytes(raw)
    product = open_recording(str(forged_file))
    assert product.sideband.exits.time.tolist() == [own]
    assert_recordings_alike(product, read(raw))
