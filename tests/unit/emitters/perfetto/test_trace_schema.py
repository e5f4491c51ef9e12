"""The numbers in trace_schema.py are those of Perfetto's own classes."""

import inspect
from enum import IntEnum

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from perf2x.emitters.perfetto import trace_schema
from tests.support.perfetto_trace import pb

ELSEWHERE = {
    "Clock": "ClockSnapshot.Clock",
    "FrameKind": "Frame.Kind",
    "SequenceFlags": "TracePacket.SequenceFlags",
    "TaskContext": "StackSample.TaskContext",
    "ExecutionContext": "StackSample.ExecutionContext",
    "Mode": "StackSample.Mode",
    "Unit": "StackSample.Unit",
    "CounterDescriptor": "StackSample.CounterDescriptor",
    "Scope": "StackSample.CounterDescriptor.Scope",
    "Timebase": "PerfEvents.Timebase",
    "Tracepoint": "PerfEvents.Tracepoint",
    "Counter": "PerfEvents.Counter",
    "TaskState": "GenericKernelTaskStateEvent.TaskStateEnum",
    "TrackEventType": "TrackEvent.Type",
    "TrackCounter": "CounterDescriptor",
    "TrackUnit": "CounterDescriptor.Unit",
    "Process": "ProcessTree.Process",
    "Thread": "ProcessTree.Thread",
}
MEMBERS = inspect.getmembers(trace_schema, inspect.isclass)
CLASSES = [one for _, one in MEMBERS if issubclass(one, IntEnum) and len(one)]


def described(name: str) -> Descriptor | EnumDescriptor:
    found = pb.DESCRIPTOR
    for part in ELSEWHERE.get(name, name).split("."):
        if isinstance(found, Descriptor):
            found = found.nested_types_by_name.get(part) or found.enum_types_by_name[part]
        else:
            found = found.message_types_by_name.get(part) or found.enum_types_by_name[part]
    return found


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_numbers(one: type[IntEnum]) -> None:
    found = described(one.__name__)
    for member in one:
        if isinstance(found, EnumDescriptor):
            assert found.values_by_name[member.name].number == member.value
        else:
            assert found.fields_by_name[member.name.lower()].number == member.value


def test_packets_are_field_one() -> None:
    assert pb.Trace.DESCRIPTOR.fields_by_name["packet"].number == trace_schema.TRACE_PACKET
