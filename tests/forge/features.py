"""Writes header feature sections about the machine and the session (tools/perf/util/header.c)."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.forge.events import Event
from tests.forge.records import framed, padded

TRACING_DATA, BUILD_ID, HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, CPUDESC, CPUID, TOTAL_MEM, CMDLINE = range(1, 12)
EVENT_DESC, CPU_TOPOLOGY, NUMA_TOPOLOGY, BRANCH_STACK, PMU_MAPPINGS, GROUP_DESC, AUXTRACE, STAT, CACHE = range(12, 21)
SAMPLE_TIME, MEM_TOPOLOGY, CLOCKID, DIR_FORMAT, BPF_PROG_INFO, BPF_BTF, COMPRESSED, CPU_PMU_CAPS = range(21, 29)
CLOCK_DATA = 29


def text(value: str, order: str) -> bytes:
    """Write a length, and a string padded to 64 bytes, as do_write_string writes it."""
    raw = padded(value, 64)
    return struct.pack(order + "I", len(raw)) + raw


@dataclass(frozen=True)
class Features:
    """None or empty leaves a section out; ``extra`` holds sections as bytes by number."""

    hostname: str | None = None
    os_release: str | None = None
    version: str | None = None
    arch: str | None = None
    cpus: tuple[int, int] | None = None
    """(available, online)"""
    cpu_description: str | None = None
    total_memory_kb: int | None = None
    command_line: tuple[str, ...] = ()
    event_names: bool = True
    """Write EVENT_DESC."""
    build_ids: tuple[tuple[str, bytes], ...] = ()
    pmus: tuple[tuple[int, str], ...] = ()
    groups: tuple[tuple[str, int, int], ...] = ()
    """(name, leader index, members)"""
    sample_time: tuple[int, int] | None = None
    clock: tuple[int, int, int] | None = None
    """(clock id, wall ns, clock ns)"""
    compressed: tuple[int, int, int, int, int] | None = None
    """(version, type, level, ratio, mmap length)"""
    extra: dict[int, bytes] = field(default_factory=dict)

    def sections(self, events: Sequence[Event], order: str) -> dict[int, bytes]:
        """Write the sections, by number in rising order."""
        found: dict[int, bytes] = dict(self.extra)
        strings = ((HOSTNAME, self.hostname), (OSRELEASE, self.os_release), (VERSION, self.version), (ARCH, self.arch))
        found |= {number: text(value, order) for number, value in strings if value is not None}
        if self.cpu_description is not None:
            found[CPUDESC] = text(self.cpu_description, order)
        if self.cpus:
            found[NRCPUS] = struct.pack(order + "II", *self.cpus)
        if self.total_memory_kb is not None:
            found[TOTAL_MEM] = struct.pack(order + "Q", self.total_memory_kb)
        if self.command_line:
            words = b"".join(text(word, order) for word in self.command_line)
            found[CMDLINE] = struct.pack(order + "I", len(self.command_line)) + words
        if self.event_names:
            found[EVENT_DESC] = _event_desc(events, order)
        found |= self._tables(order)
        return dict(sorted(found.items()))

    def _tables(self, order: str) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        if self.build_ids:
            found[BUILD_ID] = b"".join(_build_id(name, ident, order) for name, ident in self.build_ids)
        if self.pmus:
            rows = b"".join(struct.pack(order + "I", kind) + text(name, order) for kind, name in self.pmus)
            found[PMU_MAPPINGS] = struct.pack(order + "I", len(self.pmus)) + rows
        if self.groups:
            rows = b"".join(text(name, order) + struct.pack(order + "II", first, n) for name, first, n in self.groups)
            found[GROUP_DESC] = struct.pack(order + "I", len(self.groups)) + rows
        if self.sample_time:
            found[SAMPLE_TIME] = struct.pack(order + "QQ", *self.sample_time)
        if self.clock:
            found[CLOCK_DATA] = struct.pack(order + "IIQQ", 1, *self.clock)
        if self.compressed:
            found[COMPRESSED] = struct.pack(order + "IIIII", *self.compressed)
        return found


def _event_desc(events: Sequence[Event], order: str) -> bytes:
    size = max(event.size for event in events)
    out = [struct.pack(order + "II", len(events), size)]
    for event in events:
        ids = struct.pack(order + f"{len(event.ids)}Q", *event.ids)
        attr = event.encode(order).ljust(size, b"\0")
        out += [attr, struct.pack(order + "I", len(event.ids)), text(event.name, order), ids]
    return b"".join(out)


def _build_id(name: str, ident: bytes, order: str) -> bytes:
    body = struct.pack(order + "i20sBBH", -1, ident, len(ident), 0, 0) + padded(name, 64)
    return framed(0, 1 << 15 | 2, body, order)
