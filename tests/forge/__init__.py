"""Writes perf.data from dataclasses: any attribute, any record, both byte orders, file and pipe mode.

Written from include/uapi/linux/perf_event.h and tools/perf/util/header.c, and independent of what perf2x reads with, so
that a misreading on one side cannot hide behind the same misreading on the other.
"""

from tests.forge.container import Container
from tests.forge.events import Event
from tests.forge.features import Features
from tests.forge.records import (
    Aux,
    BpfEvent,
    CallchainDeferred,
    Cgroup,
    Comm,
    Exit,
    Fork,
    ItraceStart,
    Ksymbol,
    Lost,
    LostSamples,
    Mmap,
    Mmap2,
    Namespaces,
    Raw,
    Read,
    Record,
    Stamp,
    Switch,
    SwitchCpuWide,
    TextPoke,
    Throttle,
)
from tests.forge.samples import Branch, GroupRead, ReadValue, Registers, Sample
from tests.forge.session import Session, write_file
from tests.forge.userspace import (
    BuildId,
    Compressed,
    EventUpdate,
    FinishedInit,
    FinishedRound,
    HeaderEventType,
    IdIndex,
    ThreadMap,
    TimeConv,
    TracingData,
)

__all__ = [
    "Aux",
    "BpfEvent",
    "Branch",
    "BuildId",
    "CallchainDeferred",
    "Cgroup",
    "Comm",
    "Compressed",
    "Container",
    "Event",
    "EventUpdate",
    "Exit",
    "Features",
    "FinishedInit",
    "FinishedRound",
    "Fork",
    "GroupRead",
    "HeaderEventType",
    "IdIndex",
    "ItraceStart",
    "Ksymbol",
    "Lost",
    "LostSamples",
    "Mmap",
    "Mmap2",
    "Namespaces",
    "Raw",
    "Read",
    "ReadValue",
    "Record",
    "Registers",
    "Sample",
    "Session",
    "Stamp",
    "Switch",
    "SwitchCpuWide",
    "TextPoke",
    "ThreadMap",
    "Throttle",
    "TimeConv",
    "TracingData",
    "write_file",
]
