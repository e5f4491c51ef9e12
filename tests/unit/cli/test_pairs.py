"""``--locks`` and ``--pair`` from the command line: tables, timelines, and what is said of what has no partner."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from perf2x.emitters.pprof import profile_pb2
from tests.forge import Comm, Features, Record, Sample, Session, write_file
from tests.forge.features import TRACING_DATA
from tests.support.command import Ran, perf2x
from tests.unit.transforms.pairs.test_pair_times import EVENTS, USER, begin, end, tracing_data

NAME = "contention_begin:contention_end"
LANES = 1 << 23
"""Below the thread numbers of lanes."""


def recorded(folder: Path, records: Iterable[Record]) -> Path:
    path = folder / "pairs.data"
    features = Features(extra={TRACING_DATA: tracing_data("<")})
    path.write_bytes(write_file(Session(events=EVENTS, features=features), [Comm(pid=7, tid=7, comm="app"), *records]))
    return path


@pytest.fixture
def contended(tmp_path: Path) -> Path:
    """Thread 7 runs all the time, and is in the way of two locks at once for 2 ms; a third one never ends."""
    ran = [
        Sample(id=9, pid=7, tid=7, ip=0x7000, time=at * 1_000_000, period=1_000_000, chain=(USER, 0x7000), raw=b"")
        for at in range(10, 20)
    ]
    ms = 1_000_000
    locks = [begin(7, 11 * ms), begin(7, 13 * ms, 1), end(7, 15 * ms), end(7, 18 * ms, 1), begin(7, 19 * ms, 2)]
    return recorded(tmp_path, [*ran, *locks])


def converted(path: Path, name: str, *words: str) -> Path:
    out = path.parent / f"out.{name}"
    ran = perf2x("convert", path, "--locks", "--no-symbols", "-q", "-t", name, "-o", out, *words)
    assert ran.code == 0, ran.err
    return out


def test_tables_show_the_pair_and_say_what_has_no_partner(contended: Path) -> None:
    ran = perf2x("top", contended, "--locks", "--no-symbols", "--json", "-v")
    facts = json.loads(ran.out)
    assert (facts["event"], facts["samples"], facts["value"]) == (NAME, 2, 9_000_000)
    assert f"{NAME}: 2 pairs of 0.009 s, 1 beginning without an end\n" in ran.err
    assert "left out: cpu-clock (--event NAME chooses)" in ran.err
    same = perf2x("top", contended, "--pair", NAME, "--no-symbols", "--json", "-q")
    assert json.loads(same.out) == facts


def test_differences_of_pairs(contended: Path, tmp_path: Path) -> None:
    (tmp_path / "after").mkdir()
    after = recorded(tmp_path / "after", [begin(7, 100), end(7, 4_000_100)])
    ran = perf2x("diff", contended, after, "--locks", "--no-symbols", "--json", "-q")
    rows = json.loads(ran.out)
    assert (rows["before"], rows["after"]) == (9_000_000, 4_000_000)


def test_profiles_show_the_pair_first(contended: Path) -> None:
    profile = profile_pb2.Profile.FromString(gzip.decompress(converted(contended, "pprof").read_bytes()))
    names = {profile.string_table[kind.type] for kind in profile.sample_type}
    assert NAME in names
    assert profile.string_table[profile.default_sample_type] == NAME
    assert (
        sum(int(line.rsplit(" ", 1)[1]) for line in converted(contended, "collapsed").read_text().splitlines())
        == 9_000_000
    )


def slices(path: Path, *words: str) -> list[tuple[int, float, float]]:
    events = json.loads(converted(path, "chrome", *words).read_text())["traceEvents"]
    return [(event["tid"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]


def test_timelines_draw_pairs_on_lanes_and_the_thread_as_it_ran(contended: Path) -> None:
    """Both waits are as long as they lasted, although they overlap, and the thread's own boxes are as without them."""
    drawn = slices(contended)
    own = [row for row in drawn if row[0] < LANES]
    assert [(tid - LANES, length) for tid, _, length in drawn if tid >= LANES] == [(1, 4000), (2, 5000)]
    assert own == slices(contended, "--event", "cpu-clock")
    assert sum(length for _, _, length in own) == 10_000
    text = converted(contended, "chrome").read_text()
    assert f'"app {NAME}"' in text
    assert "off-cpu" not in text


@pytest.mark.parametrize("name", ["firefox", "speedscope", "html"])
def test_other_viewers_name_the_lanes(contended: Path, name: str) -> None:
    text = converted(contended, name, *(["--set", "compress=false"] if name == "html" else [])).read_text()
    assert text.count(f"app {NAME}") == 2


def test_perfetto_has_a_track_for_each_lane(contended: Path) -> None:
    pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    from tests.support.perfetto_trace import pb, read_trace

    written = converted(contended, "perfetto").read_bytes()
    read_trace(written)  # strictly: every number is defined, once
    trace = pb.Trace.FromString(written)
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor
        for packet in trace.packet
        if packet.HasField("track_descriptor")
    }
    lanes = [uuid for uuid, track in tracks.items() if track.name == NAME]
    assert len(lanes) == 2
    assert {tracks[tracks[uuid].parent_uuid].thread.tid for uuid in lanes} == {7}
    spans = {}
    for packet in trace.packet:
        event = packet.track_event
        if event.track_uuid in lanes:
            spans.setdefault(event.track_uuid, []).append(
                (event.type == pb.TrackEvent.TYPE_SLICE_BEGIN, packet.timestamp)
            )
    ms = 1_000_000
    assert sorted(spans.values()) == [[(True, 11 * ms), (False, 15 * ms)], [(True, 13 * ms), (False, 18 * ms)]]


def said(path: Path, *words: str) -> Ran:
    return perf2x("top", path, "--no-symbols", *words)


def test_what_cannot_be_had_is_an_error(contended: Path) -> None:
    assert said(contended, "--irq").code == 2
    assert "record with: perf record -e irq:irq_handler_entry" in said(contended, "--irq").said
    assert "leave out --off-cpu and --pair" in said(contended, "--locks", "--value", "latency").said
