"""Builds a Session from a file's attributes and feature sections, and from records with the same contents.

A pipe has records in place of sections (HEADER_ATTR, HEADER_FEATURE …). Event names come from recorded names, else
simpleperf's list, format files of tracepoints, or perf's default names.
"""

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
from perf2x.reader.header.section_reader import SectionError, SectionReader, decode_string
from perf2x.reader.header.symbol_sections import read_files
from perf2x.reader.record_block import Block
from perf2x.reader.records.record_names import RECORD_NAMES, SESSION_RECORDS

_SHORT_CLOCK_FIELDS_SIZE = 18
"""Bytes of fields that newer versions of perf append to TIME_CONV, for a counter of fewer than 64 bits.

They are u64 time_cycles, time_mask; u8 cap_user_time_zero, cap_user_time_short.
"""
_FEATURE_NAMES = {int(feature): feature.name.lower() for feature in HeaderFeature}


class SessionBuilder(Struct):
    """Collects the properties of a session; ``session`` returns it."""

    source: str
    byte_order: ByteOrder
    is_pipe: bool
    diagnostics: Diagnostics
    events: EventTable = field(default_factory=EventTable)
    # decoded feature sections by name (HeaderFeature in lower case)
    features: dict[str, Any] = field(default_factory=dict)
    build_ids: dict[str, bytes] = field(default_factory=dict)
    kcore_dir: str = ""
    trace_info: dict[str, Any] = field(default_factory=dict)
    """Kind and parameters of the hardware trace (``hardware_trace``)."""
    trace_clock: dict[str, int] = field(default_factory=dict)
    """The fields of TIME_CONV, which convert ticks of the trace's clock to nanoseconds."""
    # thread id (−1 if there is none) and name of each entry of THREAD_MAP
    thread_map: list[tuple[int, str]] = field(default_factory=list)
    aggregation: int = -1  # enum aggr_mode of perf stat; −1 for other recordings
    recorded_files: dict[str, RecordedFile] = field(default_factory=dict)
    kallsyms: bytes = b""
    _named_events: set[int] = field(default_factory=set)
    """Indices of events whose name must not be replaced."""

    def add_container(self, container: Container) -> None:
        """Add the attributes and feature sections of a file."""
        for raw, ids in container.attrs:
            self.events.add(parse_attr(raw, self.byte_order, len(self.events.events), ids))
        for number, section in container.features.items():
            self.add_feature(number, container.data[section.offset : section.end].tobytes())
        self._name_by_type(self.features.get("simpleperf_meta_info", {}))

    def add_feature(self, number: int, data: bytes) -> None:
        """Add the feature section ``number``; report damage in it."""
        name = _FEATURE_NAMES.get(number, f"feature_{number}")
        try:
            if number == HeaderFeature.BUILD_ID:
                self._add_build_ids(data)
            elif number == HeaderFeature.TRACING_DATA:
                from perf2x.reader.records.tracepoint_decoder import parse_tracing_data

                self.features[name] = parse_tracing_data(data, self.byte_order)
            elif number in (HeaderFeature.SIMPLEPERF_FILE, HeaderFeature.SIMPLEPERF_FILE2):
                counts = self.features[name] = {"files": 0, "symbols": 0}
                for path, file in read_files(number, SectionReader(data, self.byte_order)):
                    self.recorded_files.setdefault(path, file)
                    counts["files"] += 1
                    counts["symbols"] += len(file.names)
            elif number in DECODERS:
                self.features[name] = DECODERS[number](SectionReader(data, self.byte_order))
            elif data:
                self.features[name] = {"size": len(data)}
                self.diagnostics.add("features_unknown", "Header sections of a newer perf were skipped.")
        except SectionError as error:
            self.diagnostics.add("features_malformed", "A header section could not be read.", where=f"{name}: {error}")
        if number == HeaderFeature.EVENT_DESC:
            for index, description in enumerate(self.features.get(name, [])[: len(self.events.events)]):
                if description["name"]:
                    self.events.update(index, name=description["name"])
                    self._named_events.add(index)

    def _name_by_type(self, meta_info: Mapping[str, str]) -> None:
        """Name events by simpleperf's event_type_info, and append perf's modifiers (":u")."""
        lines = (line.split(",") for line in meta_info.get("event_type_info", "").splitlines())
        names = {(kind, config): name for name, kind, config in (line for line in lines if len(line) == 3)}
        for event in self.events.events:
            name = names.get((str(event.type), str(event.config)))
            if name and event.index not in self._named_events:
                self.events.update(event.index, name=name + modifiers(event.flags, event.precise_ip))
                self._named_events.add(event.index)

    def _name_tracepoints(self) -> None:
        formats = self.features.get("tracing_data", {}).get("formats", {})
        for event in self.events.events:
            tracepoint = formats.get(str(event.config)) if event.type == EventType.TRACEPOINT else None
            if tracepoint and event.index not in self._named_events:
                self.events.update(event.index, name=f"{tracepoint['system']}:{tracepoint['name']}")

    def _join_groups(self) -> None:
        """Set group leaders as process_group_desc in header.c does; members follow their leader."""
        groups = self.features.get("group_desc", [])
        leaders = [event.group_leader for event in self.events.events]
        previous_end = 0
        for group in groups:
            leader, end = group["leader"], min(group["leader"] + group["members"], len(leaders))
            if previous_end <= leader < end:
                leaders[leader:end] = [leader] * (end - leader)
                previous_end = end
        for index, leader in enumerate(leaders if groups else []):
            self.events.update(index, group_leader=leader)

    def add_records(self, block: Block) -> None:
        """Add the records of a block that describe the session (SESSION_RECORDS)."""
        types, misc = block.types, block.misc
        for row in flatnonzero(np.isin(types, list(SESSION_RECORDS))).tolist():
            self._add_record(int(types[row]), int(misc[row]), block.payload(row))

    def _add_record(self, kind: int, misc: int, payload: bytes) -> None:
        section = SectionReader(payload, self.byte_order)
        try:
            if kind == UserRecordType.HEADER_ATTR:
                self._add_attr(payload)
            elif kind == UserRecordType.HEADER_FEATURE:
                self._add_streamed_feature(section.u64(), section.take(section.bytes_left))
            elif kind == UserRecordType.EVENT_UPDATE:
                self._update_event(section)
            elif kind == UserRecordType.HEADER_BUILD_ID:
                self._add_build_id(misc, payload)
            elif kind == UserRecordType.HEADER_EVENT_TYPE:
                self.features.setdefault("event_types", {})[section.u64()] = decode_string(
                    section.take(section.bytes_left)
                )
            elif kind in (UserRecordType.AUXTRACE_INFO, UserRecordType.TIME_CONV):
                self._add_trace_info(kind, section)
            elif kind == UserRecordType.THREAD_MAP:
                threads = section.number_tuples("q16s")  # signed thread ids, and names
                self.thread_map = [(tid if -1 < tid < _TID_LIMIT else -1, decode_string(comm)) for tid, comm in threads]
            elif kind == UserRecordType.STAT_CONFIG:
                self.aggregation = dict(section.number_tuples("QQ")).get(
                    0, -1
                )  # tag 0: PERF_STAT_CONFIG_TERM__AGGR_MODE
            elif kind == SimpleperfRecordType.SIMPLEPERF_EVENT_ID:
                for index, identifier in section.number_tuples("QQ"):
                    self.events.add_id(index, identifier)
        except SectionError as error:
            where = f"{RECORD_NAMES[kind]}: {error}"
            self.diagnostics.add("records_malformed", "A record is cut short or damaged.", where=where)

    def _add_trace_info(self, kind: int, section: SectionReader) -> None:
        if kind == UserRecordType.AUXTRACE_INFO:
            number, _ = section.numbers("II")
            self.trace_info = hardware_trace(number, section.numbers(f"{section.bytes_left // 8}Q"))
            return
        self.trace_clock = dict(zip(("shift", "mult", "zero"), section.numbers("QQQ"), strict=True))
        if section.bytes_left >= _SHORT_CLOCK_FIELDS_SIZE:
            self.trace_clock |= dict(zip(("cycles", "mask", "_", "short"), section.numbers("QQBB"), strict=True))

    def _add_streamed_feature(self, number: int, data: bytes) -> None:
        """Add a feature section, unless it only marks the end of the sections.

        The end is marked by an empty section whose number is the first one that perf does not know
        (HEADER_LAST_FEATURE; perf_event__synthesize_features in header.c). In a newer perf, a real section has this
        number. So empty sections are ignored, except BRANCH_STACK and STAT, which are always empty.
        """
        if data or number in (HeaderFeature.BRANCH_STACK, HeaderFeature.STAT):
            self.add_feature(number, data)

    def _add_attr(self, payload: bytes) -> None:
        """The record is { perf_event_attr attr; u64 ids[]; }."""
        if len(payload) < ATTR_SIZE_VER0:
            raise SectionError(f"{len(payload)} bytes are too few for a perf_event_attr")
        (size,) = struct.unpack_from(self.byte_order + "I", payload, 4)
        size = size or ATTR_SIZE_VER0
        if size < ATTR_SIZE_VER0 or size > len(payload):
            raise SectionError(f"attr.size is {size}, but the record has {len(payload)} bytes from attr on")
        ids = struct.unpack_from(f"{self.byte_order}{(len(payload) - size) // 8}Q", payload, size)
        self.events.add(parse_attr(payload[:size], self.byte_order, len(self.events.events), ids))

    def _update_event(self, section: SectionReader) -> None:
        """The record is { u64 type; u64 id; data; }."""
        update_type, identifier = section.numbers("QQ")
        index = self.events.index_of_id(identifier)
        if index < 0 or index >= len(self.events.events):
            raise SectionError(f"id {identifier} belongs to no event")
        if update_type == EventUpdate.NAME:
            self.events.update(index, name=decode_string(section.take(section.bytes_left)))
            self._named_events.add(index)
        elif update_type == EventUpdate.UNIT:
            self.events.update(index, unit=decode_string(section.take(section.bytes_left)))
        elif update_type == EventUpdate.SCALE:
            (scale,) = struct.unpack(self.byte_order + "d", section.take(8))
            self.events.update(index, scale=scale)

    def _add_build_ids(self, data: bytes) -> None:
        """The section consists of HEADER_BUILD_ID records."""
        offset = 0
        while offset + HEADER_SIZE <= len(data):
            _, misc, size = struct.unpack_from(self.byte_order + "IHH", data, offset)
            if size < HEADER_SIZE or offset + size > len(data):
                raise SectionError(f"a build id entry has an impossible size of {size} bytes at {offset:#x}")
            self._add_build_id(misc, data[offset + HEADER_SIZE : offset + size])
            offset += size

    def _add_build_id(self, misc: int, payload: bytes) -> None:
        """The record is { s32 pid; u8 build_id[20]; u8 size; u8, u16 reserved; char filename[]; }."""
        build_id, size, name = payload[4:24], payload[24:25], decode_string(payload[28:])
        if not size or not name:
            raise SectionError(f"a build id entry of {len(payload)} bytes lacks fields")
        minor, inode, generation = struct.unpack(self.byte_order + "IQQ", build_id)
        if minor < 1 << 20 and 0 < inode < 1 << 32 and generation < 1 << 32:
            # perf took device and inode of a mapping for a build id (see record_decoders.py); no hash has so many zeros
            return
        length = min(size[0], BUILD_ID_SIZE) if misc & MISC_BUILD_ID_SIZE and size[0] else BUILD_ID_SIZE
        self.build_ids[name] = build_id[:length]

    def session(self) -> Session:
        """Return the session, with all that was added so far."""
        features, clock_data = self.features, self.features.get("clock_data")
        self._name_tracepoints()
        self._join_groups()
        if self.trace_info:
            self.features["hardware_trace"] = self.trace_info | (
                {"clock": self.trace_clock} if self.trace_clock else {}
            )
        clock_data = clock_data if clock_data and clock_data["wall_clock_ns"] else None  # perf stat leaves it 0
        clock_id = clock_data["clockid"] if clock_data else next((e.clockid for e in self.events.events), -1)
        return Session(
            source=self.source,
            byte_order=self.byte_order,
            events=tuple(self.events.events),
            is_pipe=self.is_pipe,
            arch=features.get("arch") or MACHINES.get(features.get("e_machine", {}).get("e_machine", 0), ""),
            hostname=features.get("hostname", ""),
            os_release=features.get("osrelease", ""),
            perf_version=features.get("version", ""),
            command_line=tuple(features.get("cmdline", ())),
            cpus_online=features.get("nrcpus", {}).get("online", 0),
            clock_id=clock_id,
            wall_clock_offset_ns=_wall_clock_offset(clock_data, clock_id),
            build_ids=name_vdso_copies(self.build_ids),
            features=self.features,
            kcore_dir=self.kcore_dir,
            thread_map=tuple(self.thread_map),
            aggregation=self.aggregation,
            recorded_files=self.recorded_files,
            kallsyms=self.kallsyms,
            has_call_addresses="simpleperf_meta_info" in features,
        )


_TID_LIMIT = 1 << 31  # all thread ids are lower


def _wall_clock_offset(clock_data: Mapping[str, int] | None, clock_id: int) -> int | None:
    """Nanoseconds from recorded times to times since the epoch; None if unknown."""
    if clock_id == ClockId.REALTIME:
        return 0
    return clock_data["wall_clock_ns"] - clock_data["clockid_time_ns"] if clock_data else None


_VDSO_COPY = re.compile(r"/tmp/perf-(vdso|vdso32|vdsox32)\.so-.{6}")


def name_vdso_copies(build_ids: Mapping[str, bytes]) -> dict[str, bytes]:
    """Rename copies of vDSOs to what their mappings are called, such as ``[vdso]``.

    perf and perf-read-vdso32 record the build id of a copy in /tmp under the copy's name. Copies keep their names if
    their build ids differ, or if the new name has a build id.
    """
    renamed = dict(build_ids)
    for kind in ("vdso", "vdso32", "vdsox32"):
        copies = {
            name: build_id
            for name, build_id in build_ids.items()
            if (copy := _VDSO_COPY.fullmatch(name)) and copy[1] == kind
        }
        if len(set(copies.values())) == 1 and f"[{kind}]" not in build_ids:
            renamed = {name: build_id for name, build_id in renamed.items() if name not in copies}
            renamed[f"[{kind}]"] = next(iter(copies.values()))
    return renamed
