"""Builds a Session from attributes and feature sections, and from the records that carry the same data in pipes."""

import re
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import (
    ATTR_SIZE_VER0,
    BUILD_ID_SIZE,
    HEADER_SIZE,
    MACHINES,
    MISC_BUILD_ID_SIZE,
    ByteOrder,
    ClockId,
    EventType,
    EventUpdate,
    HeaderFeature,
    SimpleperfRecordType,
    UserRecordType,
    hardware_trace,
)
from perf2x.base.columnar import flatnonzero
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import RecordedFile, Session
from perf2x.reader.containers.file_header import Container
from perf2x.reader.event_table import EventTable
from perf2x.reader.header.event_attributes import modifiers, parse_attr
from perf2x.reader.header.feature_sections import DECODERS
from perf2x.reader.header.section_reader import SectionError, SectionReader, text
from perf2x.reader.header.symbol_sections import read_files
from perf2x.reader.record_block import Block
from perf2x.reader.records.record_names import RECORD_NAMES, SESSION_RECORDS

_SHORT_CLOCK = 18
"""Bytes that newer versions of perf append to TIME_CONV for clocks that wrap around: cycles, mask and two flags."""
_NAMES = {int(feature): feature.name.lower() for feature in HeaderFeature}


class SessionBuilder(Struct):
    """Builds a Session."""

    source: str
    order: ByteOrder
    is_pipe: bool
    diagnostics: Diagnostics
    events: EventTable = field(default_factory=EventTable)
    features: dict[str, Any] = field(default_factory=dict)
    build_ids: dict[str, bytes] = field(default_factory=dict)
    kcore_dir: str = ""
    trace: dict[str, Any] = field(default_factory=dict)
    """Kind of hardware trace, from AUXTRACE_INFO."""
    ticks: dict[str, int] = field(default_factory=dict)
    """The processor's clock in nanoseconds, from TIME_CONV."""
    thread_map: list[tuple[int, str]] = field(default_factory=list)
    aggregation: int = -1
    recorded_files: dict[str, RecordedFile] = field(default_factory=dict)
    kallsyms: bytes = b""
    _named: set[int] = field(default_factory=set)
    """Events whose name was recorded."""

    def add_container(self, container: Container) -> None:
        """Add the attributes and feature sections of a file."""
        for raw, ids in container.attrs:
            self.events.add(parse_attr(raw, self.order, len(self.events.events), ids))
        for number, section in container.features.items():
            self.add_feature(number, container.data[section.offset : section.end].tobytes())
        self._name_by_type(self.features.get("simpleperf_meta_info", {}))

    def add_feature(self, number: int, data: bytes) -> None:
        """Add one feature section, from the end of the file or from a HEADER_FEATURE record."""
        name = _NAMES.get(number, f"feature_{number}")
        try:
            if number == HeaderFeature.BUILD_ID:
                self._add_build_ids(data)
            elif number == HeaderFeature.TRACING_DATA:
                from perf2x.reader.records.tracepoint_decoder import parse_tracing_data

                self.features[name] = parse_tracing_data(data, self.order)
            elif number in (HeaderFeature.SIMPLEPERF_FILE, HeaderFeature.SIMPLEPERF_FILE2):
                counts = self.features[name] = {"files": 0, "symbols": 0}
                for path, file in read_files(number, SectionReader(data, self.order)):
                    self.recorded_files.setdefault(path, file)
                    counts["files"] += 1
                    counts["symbols"] += len(file.names)
            elif number in DECODERS:
                self.features[name] = DECODERS[number](SectionReader(data, self.order))
            elif data:
                self.features[name] = {"size": len(data)}
                self.diagnostics.add("features_unknown", "Header sections of a newer perf were skipped.")
        except SectionError as error:
            self.diagnostics.add("features_malformed", "A header section could not be read.", where=f"{name}: {error}")
        if number == HeaderFeature.EVENT_DESC:
            for index, described in enumerate(self.features.get(name, [])[: len(self.events.events)]):
                if described["name"]:
                    self.events.update(index, name=described["name"])
                    self._named.add(index)

    def _name_by_type(self, known: Mapping[str, str]) -> None:
        """Name events as simpleperf lists them, in lines with name, type and config; perf's modifiers are added."""
        listed = (line.split(",") for line in known.get("event_type_info", "").splitlines())
        names = {(kind, config): name for name, kind, config in (line for line in listed if len(line) == 3)}
        for event in self.events.events:
            name = names.get((str(event.type), str(event.config)))
            if name and event.index not in self._named:
                self.events.update(event.index, name=name + modifiers(event.flags, event.precise_ip))
                self._named.add(event.index)

    def _name_tracepoints(self) -> None:
        """Name tracepoints without recorded names by the format files; their config is the tracepoint's id."""
        formats = self.features.get("tracing_data", {}).get("formats", {})
        for event in self.events.events:
            found = formats.get(str(event.config)) if event.type == EventType.TRACEPOINT else None
            if found and event.index not in self._named:
                self.events.update(event.index, name=f"{found['system']}:{found['name']}")

    def _join_groups(self) -> None:
        """Set group leaders from GROUP_DESC, which lists leaders and group sizes (process_group_desc in header.c).

        Groups are disjoint and in order. A group that begins within another group is ignored.
        """
        groups = self.features.get("group_desc", [])
        leaders = [event.group_leader for event in self.events.events]
        free = 0
        for group in groups:
            leader, end = group["leader"], min(group["leader"] + group["members"], len(leaders))
            if free <= leader < end:
                leaders[leader:end] = [leader] * (end - leader)
                free = end
        for index, leader in enumerate(leaders if groups else []):
            self.events.update(index, group_leader=leader)

    def add_records(self, block: Block) -> None:
        """Add the records that perf writes into pipes (and sometimes files) in place of header sections."""
        types, misc = block.types, block.misc
        for row in flatnonzero(np.isin(types, list(SESSION_RECORDS))).tolist():
            self._add_record(int(types[row]), int(misc[row]), block.payload(row))

    def _add_record(self, kind: int, misc: int, payload: bytes) -> None:
        section = SectionReader(payload, self.order)
        try:
            if kind == UserRecordType.HEADER_ATTR:
                self._add_attr(payload)
            elif kind == UserRecordType.HEADER_FEATURE:
                self._add_streamed_feature(section.u64(), section.take(section.left))
            elif kind == UserRecordType.EVENT_UPDATE:
                self._update_event(section)
            elif kind == UserRecordType.HEADER_BUILD_ID:
                self._add_build_id(misc, payload)
            elif kind == UserRecordType.HEADER_EVENT_TYPE:
                self.features.setdefault("event_types", {})[section.u64()] = text(section.take(section.left))
            elif kind in (UserRecordType.AUXTRACE_INFO, UserRecordType.TIME_CONV):
                self._add_trace(kind, section)
            elif kind == UserRecordType.THREAD_MAP:
                named = section.entries("q16s")  # signed thread ids, and names
                self.thread_map = [(tid if -1 < tid < _MOST_TIDS else -1, text(comm)) for tid, comm in named]
            elif kind == UserRecordType.STAT_CONFIG:
                self.aggregation = dict(section.entries("QQ")).get(0, -1)
            elif kind == SimpleperfRecordType.SIMPLEPERF_EVENT_ID:
                for index, identifier in section.entries("QQ"):
                    self.events.own(index, identifier)
        except SectionError as error:
            where = f"{RECORD_NAMES[kind]}: {error}"
            self.diagnostics.add("records_malformed", "A record is cut short or damaged.", where=where)

    def _add_trace(self, kind: int, section: SectionReader) -> None:
        """Add a property of the hardware trace: its kind, or the conversion of its ticks."""
        if kind == UserRecordType.AUXTRACE_INFO:
            number, _ = section.numbers("II")
            self.trace = hardware_trace(number, section.numbers(f"{section.left // 8}Q"))
            return
        self.ticks = dict(zip(("shift", "mult", "zero"), section.numbers("QQQ"), strict=True))
        if section.left >= _SHORT_CLOCK:
            self.ticks |= dict(zip(("cycles", "mask", "_", "short"), section.numbers("QQBB"), strict=True))

    def _add_streamed_feature(self, number: int, data: bytes) -> None:
        """Add a feature section, unless it only marks the end of the sections.

        The end mark is an empty section with the number HEADER_LAST_FEATURE of the perf that wrote it. In a newer perf,
        the same number belongs to a real section (perf_event__synthesize_features in header.c).
        """
        if data or number in (HeaderFeature.BRANCH_STACK, HeaderFeature.STAT):
            self.add_feature(number, data)

    def _add_attr(self, payload: bytes) -> None:
        """Add struct { perf_event_attr attr; u64 ids[]; }, where the attr states its own size."""
        if len(payload) < ATTR_SIZE_VER0:
            raise SectionError(f"an attribute of {len(payload)} bytes")
        (size,) = struct.unpack_from(self.order + "I", payload, 4)
        size = size or ATTR_SIZE_VER0
        if size < ATTR_SIZE_VER0 or size > len(payload):
            raise SectionError(f"an attribute states a size of {size} bytes, but has {len(payload)}")
        ids = struct.unpack_from(f"{self.order}{(len(payload) - size) // 8}Q", payload, size)
        self.events.add(parse_attr(payload[:size], self.order, len(self.events.events), ids))

    def _update_event(self, section: SectionReader) -> None:
        """Apply struct { u64 type; u64 id; data; } to the event with this id."""
        what, identifier = section.numbers("QQ")
        index = self.events.by_id(identifier)
        if index < 0 or index >= len(self.events.events):
            raise SectionError(f"id {identifier} belongs to no event")
        if what == EventUpdate.NAME:
            self.events.update(index, name=text(section.take(section.left)))
            self._named.add(index)
        elif what == EventUpdate.UNIT:
            self.events.update(index, unit=text(section.take(section.left)))
        elif what == EventUpdate.SCALE:
            (scale,) = struct.unpack(self.order + "d", section.take(8))
            self.events.update(index, scale=scale)

    def _add_build_ids(self, data: bytes) -> None:
        """Add section BUILD_ID: records like HEADER_BUILD_ID, concatenated."""
        at = 0
        while at + HEADER_SIZE <= len(data):
            _, misc, size = struct.unpack_from(self.order + "IHH", data, at)
            if size < HEADER_SIZE or at + size > len(data):
                raise SectionError(f"a build id of {size} bytes at {at:#x}")
            self._add_build_id(misc, data[at + HEADER_SIZE : at + size])
            at += size

    def _add_build_id(self, misc: int, payload: bytes) -> None:
        """Add struct { s32 pid; u8 build_id[20]; u8 size; u8, u16 reserved; char filename[]; }."""
        raw, size, name = payload[4:24], payload[24:25], text(payload[28:])
        if not size or not name:
            raise SectionError(f"a build id of {len(payload)} bytes")
        minor, inode, generation = struct.unpack(self.order + "IQQ", raw)
        if minor < 1 << 20 and 0 < inode < 1 << 32 and generation < 1 << 32:
            # perf mistook fields of a mapping for a build id (see record_decoders.py); no hash has so many zeros
            return
        length = min(size[0], BUILD_ID_SIZE) if misc & MISC_BUILD_ID_SIZE and size[0] else BUILD_ID_SIZE
        self.build_ids[name] = raw[:length]

    def session(self) -> Session:
        """Return the session as known from what was added so far."""
        features, clock = self.features, self.features.get("clock_data")
        self._name_tracepoints()
        self._join_groups()
        if self.trace:
            self.features["hardware_trace"] = self.trace | ({"clock": self.ticks} if self.ticks else {})
        clock = clock if clock and clock["wall_clock_ns"] else None  # perf stat does not use it
        clock_id = clock["clockid"] if clock else next((e.clockid for e in self.events.events), -1)
        return Session(
            source=self.source,
            byte_order=self.order,
            events=tuple(self.events.events),
            is_pipe=self.is_pipe,
            arch=features.get("arch") or MACHINES.get(features.get("e_machine", {}).get("e_machine", 0), ""),
            hostname=features.get("hostname", ""),
            os_release=features.get("osrelease", ""),
            perf_version=features.get("version", ""),
            command_line=tuple(features.get("cmdline", ())),
            cpus_online=features.get("nrcpus", {}).get("online", 0),
            clock_id=clock_id,
            wall_clock_offset_ns=_wall_clock_offset(clock, clock_id),
            build_ids=with_vdso(self.build_ids),
            features=self.features,
            kcore_dir=self.kcore_dir,
            thread_map=tuple(self.thread_map),
            aggregation=self.aggregation,
            recorded_files=self.recorded_files,
            kallsyms=self.kallsyms,
            has_call_addresses="simpleperf_meta_info" in features,
        )


_MOST_TIDS = 1 << 31


def _wall_clock_offset(clock: Mapping[str, int] | None, clock_id: int) -> int | None:
    """Return the offset from recorded times to the time of day.

    0 for CLOCK_REALTIME; CLOCK_DATA has a reading of both clocks.
    """
    if clock_id == ClockId.REALTIME:
        return 0
    return clock["wall_clock_ns"] - clock["clockid_time_ns"] if clock else None


_COPY = re.compile(r"/tmp/perf-(vdso|vdso32|vdsox32)\.so-.{6}")


def with_vdso(build_ids: Mapping[str, bytes]) -> dict[str, bytes]:
    """Name the copies of vDSOs made by perf and perf-read-vdso32 ``[vdso]``, ``[vdso32]`` and ``[vdsox32]``.

    Copies that differ, but would get the same new name, keep their old names.
    """
    named = dict(build_ids)
    for kind in ("vdso", "vdso32", "vdsox32"):
        copies = {
            name: build_id
            for name, build_id in build_ids.items()
            if (copy := _COPY.fullmatch(name)) and copy[1] == kind
        }
        if len(set(copies.values())) == 1 and f"[{kind}]" not in build_ids:
            named = {name: build_id for name, build_id in named.items() if name not in copies}
            named[f"[{kind}]"] = next(iter(copies.values()))
    return named
