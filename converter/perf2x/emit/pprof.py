"""pprof: gzip-compressed protobuf for ``go tool pprof``, Speedscope, Perfetto, Pyroscope and Parca.

Schema: proto/profile.proto. Small fields go through the generated classes, the tables and samples through emit/wire.py
(protobuf messages may be written in pieces: concatenated fields are one message).
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import numpy as np

from perf2x.emit.pprof_labels import LABELS, encoded_labels, label_columns
from perf2x.emit.pprof_tables import (
    StringTable,
    encode_functions,
    encode_locations,
    encode_mappings,
    lines_as_recorded,
    lines_with_placeholders,
    mapping_order,
    one_location_per_line,
    without_inlining,
)
from perf2x.emit.rows import unique_rows
from perf2x.emit.wire import packed_field, text_fields, top_level
from perf2x.model.options import check_choices, option
from perf2x.model.profile import Profile
from perf2x.model.ragged import Ragged, side_by_side
from perf2x.model.stacks import depths, paths

if TYPE_CHECKING:
    from perf2x.emit import profile_pb2

_SAMPLES_PER_WRITE = 16_384


@dataclass(frozen=True, slots=True)
class Pprof:
    """pprof protobuf, gzip-compressed: for go tool pprof, Speedscope, Perfetto, Pyroscope, Parca."""

    suffix: ClassVar[str] = ".pb.gz"

    label: tuple[str, ...] = option(("pid", "tid", "comm"), "labels of samples, separated by commas", LABELS)
    inline: str = option(
        "lines",
        "inlined functions: lines of one location (as the format means it), frames (Speedscope shows them), off",
        ("lines", "frames", "off"),
    )
    placeholders: bool = option(True, "name unresolved frames after their object; no: leave them to pprof")
    compress: bool = option(True, "gzip the output, as the format demands; no: plain protobuf")

    def __post_init__(self) -> None:
        check_choices(self)

    @property
    def timeline(self) -> bool:
        """Only a label with the time keeps samples apart."""
        return "time" in self.label

    @property
    def columns(self) -> frozenset[str]:
        """Label columns that the profile should carry."""
        return frozenset(self.label) & {"cpu", "cgroup"}

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the whole file; gzip without a time stamp, so that equal profiles are equal bytes."""
        if not self.compress:
            out.writelines(self.pieces(profile))
            return
        with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
            for piece in self.pieces(profile):
                packed.write(piece)

    def pieces(self, profile: Profile) -> Iterator[bytes]:
        """The uncompressed message, some thousand samples at a time; the string table comes last."""
        strings = StringTable(profile)
        yield _header(profile, strings).SerializeToString(deterministic=True)
        order = mapping_order(profile)
        yield encode_mappings(profile.mappings, order)
        if self.placeholders:
            lines, names = lines_with_placeholders(profile, strings)
        else:
            lines, names = lines_as_recorded(profile.locations), []
        count = len(profile.locations)
        written, owner = Ragged(np.arange(count + 1), np.arange(count)), np.arange(count)
        if self.inline == "off":
            lines = without_inlining(lines)
        elif self.inline == "frames":
            lines, written, owner = one_location_per_line(lines)
        yield encode_locations(profile.locations, lines, owner, order)
        yield encode_functions(profile.functions, names)
        yield from self._samples(profile, strings, written)
        yield text_fields(6, strings.texts)

    def _samples(self, profile: Profile, strings: StringTable, written: Ragged) -> Iterator[bytes]:
        """Profile.sample (2): unique (thread, stack, labels), in this order, values of all events side by side."""
        samples = profile.samples
        columns = label_columns(profile, self.label, strings.add)
        first, merged = unique_rows([samples.stack.astype(np.int64), *(column.values for column in columns)])
        kinds = _shown_events(profile)
        values = np.zeros((len(first), 1 + len(kinds)), np.int64)
        np.add.at(values[:, 0], merged, samples.count)
        for at, kind in enumerate(kinds):
            rows = np.flatnonzero(samples.event == kind)
            np.add.at(values[:, 1 + at], merged[rows], samples.value[rows])
        depth = depths(profile.stacks.parent.astype(np.int64))
        for start in range(0, len(first), _SAMPLES_PER_WRITE):
            rows = first[start : start + _SAMPLES_PER_WRITE]
            path = paths(profile.stacks.parent.astype(np.int64), depth, samples.stack[rows].astype(np.int64))
            places = written.take(profile.stacks.location[path.values].astype(np.int64))
            ids = Ragged(places.offsets[path.offsets], places.values + 1)
            numbers = values[start : start + len(rows)]
            fields = [
                packed_field(1, ids),
                packed_field(2, Ragged(np.arange(len(rows) + 1) * numbers.shape[1], numbers.reshape(-1))),
                encoded_labels(columns, rows, profile, strings.add),
            ]
            yield top_level(2, side_by_side(fields))


def _shown_events(profile: Profile) -> list[int]:
    """Events that become sample types: those with samples (all if there are none), the default one last."""
    sampled = np.unique(profile.samples.event).tolist() or list(range(len(profile.events)))
    default = profile.default_event
    return [row for row in sampled if row != default] + [default] * (default in sampled)


def _header(profile: Profile, strings: StringTable) -> "profile_pb2.Profile":
    """Everything but tables and samples."""
    from perf2x.emit import profile_pb2  # protobuf costs 40 ms to import

    meta, message = profile.meta, profile_pb2.Profile()
    message.sample_type.add(type=strings.add("samples"), unit=strings.add("count"))
    names = ["samples"]
    for row in _shown_events(profile):
        name = profile.events[row].name
        names.append(name if name not in names else f"{name}#{row}")
        message.sample_type.add(type=strings.add(names[-1]), unit=strings.add(profile.events[row].unit))
    message.default_sample_type = strings.add(names[-1])
    if len(names) > 1:
        event = profile.events[profile.default_event]
        message.period_type.type, message.period_type.unit = strings.add(event.name), strings.add(event.unit)
        by_clock = event.unit == "nanoseconds" and event.frequency
        message.period = 1_000_000_000 // event.frequency if by_clock else event.period
    message.time_nanos, message.duration_nanos = meta.wall_start_ns, meta.duration_ns
    lines = [f"perf-version:{meta.perf_version}"] if meta.perf_version else []
    lines += [f"perf-command:{' '.join(meta.command_line)}"] if meta.command_line else []
    message.comment.extend(strings.add(line) for line in (*lines, *meta.comments))
    return message
