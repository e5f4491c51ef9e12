"""Clocks of Perfetto's traces: called what they are, for readers that open several traces together."""

import io
from pathlib import Path

import pytest

from perf2x.emitters.perfetto.perfetto import Perfetto
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.profile.profile import Meta
from perf2x.model.transforms.merge_profiles import merge_profiles
from perf2x.testing import ProfileBuilder
from tests.forge import Event, Features, Sample, Session, write_file
from tests.support import rich_recording
from tests.support.perfetto_trace import Trace, read_trace

REALTIME, MONOTONIC, RAW, BOOTTIME, PERF = 1, 3, 5, 6, 10
TODAY = 1_700_000_000_000_000_000


def snapshot_of(**meta: int) -> tuple[int, dict[int, int]]:
    """The clock of the trace, and what each clock read at its start."""
    builder = ProfileBuilder()
    builder.event()
    builder.sample([builder.function("main")], builder.thread(), time=meta["start_ns"])
    out = io.BytesIO()
    Perfetto().emit(builder.build(timeline=True, meta=Meta(**meta)), out)
    return clocks_of(read_trace(out.getvalue()))


def clocks_of(trace: Trace) -> tuple[int, dict[int, int]]:
    (packet,) = trace.of("clock_snapshot")
    return trace.clock, {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}


@pytest.mark.parametrize(
    ("clock_id", "clock"), [(-1, PERF), (1, MONOTONIC), (4, RAW), (7, BOOTTIME), (11, PERF), (99, PERF)]
)
def test_the_clock_of_the_recording_is_that_of_the_trace(clock_id: int, clock: int) -> None:
    assert snapshot_of(start_ns=70, clock_id=clock_id) == (clock, {clock: 70})
    dated = snapshot_of(start_ns=70, clock_id=clock_id, wall_start_ns=TODAY)
    assert dated == (clock, {clock: 70, REALTIME: TODAY})


def test_times_of_day_are_realtime_unless_the_user_says_another_time() -> None:
    assert snapshot_of(start_ns=TODAY, clock_id=0, wall_start_ns=TODAY) == (REALTIME, {REALTIME: TODAY})
    corrected = snapshot_of(start_ns=TODAY, clock_id=0, wall_start_ns=TODAY - 5)
    assert corrected == (PERF, {PERF: TODAY, REALTIME: TODAY - 5})


def trace_of(*inputs: Path, **options: object) -> Trace:
    out = io.BytesIO()
    Perfetto().emit(load([str(path) for path in inputs], load_options(timeline=True, **options)).profile, out)  # type: ignore[arg-type]
    return read_trace(out.getvalue())


def recorded(path: Path, clockid: int | None, **features: object) -> Path:
    flags = {"sample_id_all"} | ({"use_clockid"} if clockid is not None else set())
    session = Session(events=(Event(clockid=clockid or 0, flags=frozenset(flags)),), features=Features(**features))  # type: ignore[arg-type]
    path.write_bytes(write_file(session, [Sample(ip=0x10, time=TODAY, period=1, chain=(0x10,))]))
    return path


def test_the_event_says_which_clock_it_was(tmp_path: Path) -> None:
    own = recorded(tmp_path / "own", None)
    assert clocks_of(trace_of(own)) == (PERF, {PERF: TODAY})
    day = recorded(tmp_path / "day", 0, clock=(0, TODAY, TODAY + 3000))  # perf looked at the same clock twice
    assert clocks_of(trace_of(day)) == (REALTIME, {REALTIME: TODAY})
    boot = recorded(tmp_path / "boot", 7, clock=(7, TODAY, 1000))
    assert clocks_of(trace_of(boot)) == (BOOTTIME, {BOOTTIME: TODAY, REALTIME: TODAY + TODAY - 1000})


def test_all_kinds_of_packets_are_on_the_clock(tmp_path: Path) -> None:
    path = rich_recording.write(tmp_path)
    trace = trace_of(
        path, keep=frozenset({"cpu", "fields"}), off_cpu="beside"
    )  # the reader looks at the clock of each packet
    assert clocks_of(trace)[0] == MONOTONIC
    sequences = {packet.trusted_packet_sequence_id for packet in trace.of("track_event")}
    assert len(sequences) > 3 and trace.of("stack_sample") and trace.of("generic_kernel_task_state_event")


def test_a_dataset_keeps_the_clock(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from tests.support.datasets import add_recordings

    add_recordings(tmp_path / "dataset", [recorded(tmp_path / "boot", 7)], timeline=True)
    assert trace_of(tmp_path / "dataset").clock == BOOTTIME


@pytest.mark.parametrize(("clocks", "merged"), [((7, 7), 7), ((7, 4), -1)])
def test_recordings_of_one_clock_keep_it(clocks: tuple[int, int], merged: int) -> None:
    profiles = [ProfileBuilder().build(meta=Meta(clock_id=clock)) for clock in clocks]
    assert merge_profiles(profiles).meta.clock_id == merged
