"""Inputs that once broke the reader, kept as they were; ``python -m tests.crashes.test_crashes`` writes them anew.

A file here may be readable or not: what must hold is that opening it ends in a result or in a Perf2xError.
"""

import struct
from pathlib import Path

import pytest

from perf2x.errors import Perf2xError
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x

EVENT_DESC, HEADER_FEATURE = 12, 80
FOLDER = Path(__file__).parent
GROUP = forge.Event(
    sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.READ | k.CALLCHAIN,
    read_format=k.READ_ID | k.READ_GROUP,
    ids=(5,),
)


def _counter_sample_with_a_chain_that_lies() -> bytes:
    """Its counters are whole and were delivered, its chain says more entries than the record has room for."""
    samples = [
        forge.Sample(time=time, id=5, nr=nr, read=forge.GroupRead((forge.ReadValue(time, 5),)))
        for time, nr in ((1, None), (2, 2**63), (3, None), (4, 1))
    ]
    return forge.write_file(forge.Session(events=(GROUP,)), samples)


def _records_at_an_odd_offset() -> bytes:
    """The header says that records start 3 bytes later: numpy cannot lend out unaligned numbers as memoryview."""
    data = bytearray(forge.write_file(forge.Session(), [forge.Comm(pid=1, tid=1, comm="x"), forge.Sample()]))
    start = int.from_bytes(data[40:48], "little")
    data[40:48] = (start + 3).to_bytes(8, "little")
    return bytes(data)


def _event_descriptions_twice() -> bytes:
    """A pipe describes its events a second time, and that section is cut short."""
    session = forge.Session(pipe=True, features=forge.Features(event_names=True))
    section = session.features.sections(session.events, session.order)[EVENT_DESC]
    again = struct.pack("<IHHQ", HEADER_FEATURE, 0, 16 + 8, EVENT_DESC) + section[:8]
    return forge.write_file(session, [forge.Comm(pid=1, tid=1, comm="x"), forge.Sample()]) + again


def _a_mode_without_a_name() -> bytes:
    """Three bits say in which mode a sample was taken, and six of their values mean something."""
    samples = [forge.Sample(mode=mode, ip=0x1000 + mode, chain=(0x1000 + mode,)) for mode in range(8)]
    return forge.write_file(forge.Session(), samples)


MAKERS = {
    "a-mode-without-a-name.data": _a_mode_without_a_name,
    "counter-sample-with-a-chain-that-lies.data": _counter_sample_with_a_chain_that_lies,
    "records-at-an-odd-offset.data": _records_at_an_odd_offset,
    "event-descriptions-twice.data": _event_descriptions_twice,
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.data")), ids=lambda path: path.stem)
def test_it_ends_well(path: Path) -> None:
    try:
        recording = open_recording(str(path))
    except Perf2xError:
        return
    assert sum(map(len, recording.samples(~Want.REREAD))) <= recording.sample_count


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.data")), ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "name", ["pprof", "chrome", "collapsed", "html", "svg", "speedscope", "firefox", "perfetto", "otlp"]
)
def test_every_format_ends_well(path: Path, name: str, tmp_path: Path) -> None:
    ran = perf2x("convert", path, "--no-symbols", "--allow-empty", "--to", name, "-o", tmp_path / "out")
    assert ran.code in (0, 1)
    assert (tmp_path / "out").exists() == (ran.code == 0), ran.err


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.data")), ids=lambda path: path.stem)
@pytest.mark.parametrize("command", ["info", "top", "report", "dump"])
def test_every_command_ends_well(path: Path, command: str) -> None:
    ran = perf2x(command, path)
    assert ran.code in (0, 1) and (ran.code == 0 or ran.err)


def test_every_maker_has_its_file() -> None:
    assert {path.name for path in FOLDER.glob("*.data")} >= set(MAKERS)
    for name, make in MAKERS.items():
        assert (FOLDER / name).read_bytes() == make()


if __name__ == "__main__":
    for name, make in MAKERS.items():
        (FOLDER / name).write_bytes(make())
