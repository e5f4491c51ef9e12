"""Reads Perfetto traces with the classes of the ``perfetto`` package, as strictly as its importer's tables demand.

Raises ValueError where the importer would drop something: a sequence that does not begin, a number that nothing
defines or two things define, an empty stack, a time on another clock than the trace's own one.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

pb: Any = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2",
    reason="the perfetto package is not installed (pip install 'perf2x[test]')",
)
"""Generated classes of every message."""

TABLES = (
    "function_names", "frames", "callstacks", "build_ids", "mapping_paths", "source_paths", "mappings",
    "stack_sample_task_contexts", "stack_sample_execution_contexts", "event_names",
    "event_categories", "debug_annotation_names", "debug_annotation_string_values",
)  # fmt: skip

Slice = tuple[int, str, int, int]
"""Thread, name, begin, end."""


@dataclass(frozen=True)
class Frame:
    name: str
    mapping: str
    build_id: str
    rel_pc: int
    source: str
    line: int
    kind: int


@dataclass(frozen=True)
class Sample:
    event: str
    time: int
    pid: int
    tid: int
    cpu: int | None
    mode: int
    stack: tuple[Frame, ...]
    weight: int
    followers: tuple[tuple[str, int], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(frame.name for frame in self.stack)


@dataclass
class Sequence:
    """The state of one sequence of packets."""

    defaults: Any = None
    tables: dict[str, dict[int, Any]] = field(default_factory=lambda: {name: {} for name in TABLES})

    def add(self, interned: Message) -> None:
        for name in TABLES:
            for entry in getattr(interned, name):
                require(entry.iid > 0, f"{name} has number 0")
                require(entry.iid not in self.tables[name], f"{name} {entry.iid} is defined twice")
                self.tables[name][entry.iid] = entry

    def find(self, table: str, iid: int) -> Any:
        require(iid in self.tables[table], f"{table} {iid} is not defined")
        return self.tables[table][iid]

    def text(self, table: str, iid: int) -> str:
        return self.find(table, iid).str.decode() if iid else ""

    def stack(self, iid: int) -> tuple[Frame, ...]:
        frames = tuple(self.frame(frame) for frame in self.find("callstacks", iid).frame_ids)
        require(bool(frames), "an empty stack")
        return frames

    def frame(self, iid: int) -> Frame:
        one = self.find("frames", iid)
        mapping = self.find("mappings", one.mapping_id)
        require(not mapping.start and not mapping.end, "a mapping has an address range")
        build_id = self.find("build_ids", mapping.build_id).str.hex() if mapping.build_id else ""
        path = "".join("/" + self.text("mapping_paths", part) for part in mapping.path_string_ids)
        name, source = self.text("function_names", one.function_name_id), self.text("source_paths", one.source_path_iid)
        return Frame(name, path, build_id, one.rel_pc, source, one.line_number, one.kind)


@dataclass
class Trace:
    """A trace as a reader sees it."""

    packets: list[Any]
    clock: int = 0
    """Number of the clock of all times."""
    samples: list[Sample] = field(default_factory=list)
    processes: dict[int, Any] = field(default_factory=dict)
    threads: dict[tuple[int, int], str] = field(default_factory=dict)

    def of(self, kind: str) -> list[Any]:
        return [packet for packet in self.packets if packet.WhichOneof("data") == kind]

    def weights(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """Sum of weights per event and stack of names."""
        found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for sample in self.samples:
            found[sample.event, sample.names] += sample.weight
        return found

    def slices(self) -> list[Slice]:
        """Slices on tracks of threads, none within another, as they end."""
        tids, texts, begun, found = {}, {}, {}, []
        for packet in self.packets:
            texts |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
            one = packet.track_descriptor
            if packet.HasField("track_descriptor"):
                tids[one.uuid] = one.thread.tid if one.HasField("thread") else tids[one.parent_uuid]
        for packet in self.of("track_event"):
            event = packet.track_event
            if event.type == event.TYPE_SLICE_BEGIN:
                require(event.track_uuid not in begun, "a slice begins within another")
                begun[event.track_uuid] = (tids[event.track_uuid], texts[event.name_iid], packet.timestamp)
            else:
                found.append((*begun.pop(event.track_uuid), packet.timestamp))
        require(not begun, "a slice does not end")
        return found


def require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def read_trace(data: bytes) -> Trace:
    try:
        message = pb.Trace.FromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    trace, sequences = Trace(list(message.packet)), {}
    (snapshot,) = trace.of("clock_snapshot")
    trace.clock = snapshot.clock_snapshot.primary_trace_clock
    for packet in trace.packets:
        require(packet.trusted_packet_sequence_id > 0, "a packet without a sequence")
        require(not len(UnknownFieldSet(packet)), "a packet with an unknown field")
        _read_packet(trace, packet, sequences)
    return trace


def _read_packet(trace: Trace, packet: Any, sequences: dict[int, Sequence]) -> None:
    number, kind = packet.trusted_packet_sequence_id, packet.WhichOneof("data")
    if packet.sequence_flags & 1:
        sequences[number] = Sequence()
    sequence = sequences.get(number, Sequence())
    if packet.HasField("trace_packet_defaults"):
        sequence.defaults = packet.trace_packet_defaults
    if packet.HasField("timestamp") and kind not in ("clock_snapshot", "process_tree", "system_info"):
        clock = packet.timestamp_clock_id or (sequence.defaults.timestamp_clock_id if sequence.defaults else 0)
        require(clock == trace.clock, f"a {kind} on the clock {clock}")
    if packet.HasField("interned_data"):
        require(bool(packet.sequence_flags & 2) and number in sequences, "tables of a sequence that has not begun")
        sequence.add(packet.interned_data)
    if kind == "stack_sample":
        require(bool(packet.sequence_flags & 2) and number in sequences, "a sample of a sequence that has not begun")
        require(packet.HasField("timestamp"), "a sample without a time")
        trace.samples.append(_stack_sample(packet, sequence))
    if kind == "process_tree":
        trace.processes.update({process.pid: process for process in packet.process_tree.processes})
        trace.threads.update({(one.tgid, one.tid): one.name for one in packet.process_tree.threads})


def _stack_sample(packet: Any, sequence: Sequence) -> Sample:
    sample, counters = packet.stack_sample, sequence.defaults.stack_sample_defaults
    task = sequence.find("stack_sample_task_contexts", sample.task_context_iid)
    context = sequence.find("stack_sample_execution_contexts", sample.execution_context_iid)
    require(task.HasField("pid") and task.HasField("tid"), "a thread without ids")
    require(counters.primary_descriptor.unit > 0, "a counter without a unit")
    followers = [counter.name for counter in counters.follower_descriptors]
    return Sample(
        event=counters.primary_descriptor.name,
        time=packet.timestamp,
        pid=task.pid,
        tid=task.tid,
        cpu=context.cpu if context.HasField("cpu") else None,
        mode={0: 0, 1: 2, 2: 1, 3: 3, 4: 5, 5: 4}[context.mode],
        stack=sequence.stack(sample.callstack_iid),
        weight=sample.primary_weight,
        followers=tuple(zip(followers, sample.follower_weights, strict=True)),
    )
