"""pprof: gzip-compressed protobuf for ``go tool pprof``, Perfetto, Pyroscope and Parca.

Schema: proto/profile.proto. Fields are written one after the other, so that the encoded message is never in memory as a
whole.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.columnar import (
    I64,
    ListArray,
    arange,
    as_int32,
    as_int64,
    group_rows,
    join_tables,
    row_batches,
    sum_of,
    unique_inverse,
)
from perf2x.base.files.background_writer import BackgroundGzipWriter
from perf2x.emitters.encoding.protobuf import (
    EncodedIds,
    SharedColumn,
    encoded_values,
    message,
    messages_of_columns,
    packed_field,
    repeated_string,
    varint,
)
from perf2x.emitters.pprof.pprof_tables import (
    OTHER_STACKS,
    StringTable,
    comment_lines,
    encode_functions,
    encode_locations,
    encode_mappings,
    encode_other_stacks_location,
    mapping_order,
    one_location_per_line,
    with_placeholders,
    without_inlining,
)
from perf2x.emitters.pprof.sample_labels import LABELS, MEMORY_LABELS, EncodedLabels, labels_of
from perf2x.emitters.pprof.sample_types import (
    SampleType,
    fixed_period,
    heaviest_rows,
    in_style,
    make_sample_types,
    summed_values,
)
from perf2x.model.cgroup_parts import cpu_and_cgroup_columns
from perf2x.model.plugin_options import FINISHED, START_TIME, TAGS, WAITS, Format, Needs
from perf2x.model.profile import Profile, depths, named_functions, paths_of_length, plain_names
from perf2x.model.setting import Setting

if TYPE_CHECKING:
    from perf2x.emitters.pprof import profile_pb2

_FRAMES_PER_WRITE = 1 << 16
_SAMPLE = 2  # number of the field Profile.sample
_LOCATION_ID, _VALUE = 1, 2  # fields of Sample


class Pprof(Format):
    """pprof protobuf, gzip-compressed: for go tool pprof, Perfetto, Pyroscope, Parca."""

    suffix = ".pb.gz"

    label: Annotated[
        tuple[str, ...],
        Setting("Labels of samples, separated by commas.", ("--label",), choices=tuple(LABELS)),
    ] = ("pid", "tid", "comm")
    inline: Annotated[
        Literal["lines", "frames", "off"],
        Setting(
            "Inlined functions: lines of one location (as the format means it), frames (Speedscope shows them), off."
        ),
    ] = "lines"
    sample_types: Annotated[
        Literal["plain", "compat", "identifiers"],
        Setting(
            "Names of sample types: plain (cpu-clock), compat (perf_data_converter's), "
            "identifiers (cpu_clock, for Parca and Pyroscope).",
            ("--sample-types",),
        ),
    ] = "plain"
    max_samples: Annotated[
        int,
        Setting("Maximum number of samples (Pyroscope accepts 16000); the rest becomes one sum; 0: all.", least=0),
    ] = 0
    placeholders: Annotated[bool, Setting("Name unresolved frames after their object; no: leave them to pprof.")] = True
    reader: Annotated[
        Literal["any", "go-pgo"],
        Setting("go-pgo: only what go build -pgo reads, without labels, kernel and machine.", ("--for",)),
    ] = "any"
    compress: Annotated[bool, Setting("Gzip the output, as the format requires; no: plain protobuf.")] = True

    @property
    def needs(self) -> Needs:
        """Samples are not added up if they have the label ``time``."""
        labels = frozenset(self._labels)
        memory = {"data_src"} if MEMORY_LABELS.keys() & labels else set()
        # Speedscope shows the last line of each location: the outermost function
        speedscope = "for speedscope.app: --to speedscope" if self.inline == "lines" else "or drop it on speedscope.app"
        is_for_go = self.reader == "go-pgo"
        return Needs(
            timeline="time" in labels,
            times="time" in labels,
            columns=cpu_and_cgroup_columns(labels) | memory,
            threads=bool({"pid", "tid", "process", "thread"} & labels),
            honours=(FINISHED | {TAGS, START_TIME}) - ({WAITS} if is_for_go else set()),
            why="go build -pgo reads only calls of code that ran" if is_for_go else "",
            binary=True,
            dated="time" in labels,
            viewer="open it: go tool pprof -http=: {0}; " + speedscope,
        )

    @property
    def _labels(self) -> tuple[str, ...]:
        return () if self.reader == "go-pgo" else self.label

    def _for_reader(self, profile: Profile) -> Profile:
        if self.reader == "any":
            return profile
        from perf2x.emitters.pprof.go_pgo import for_go_pgo

        return for_go_pgo(profile)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the whole file; gzip without a time stamp, so that equal profiles give equal bytes."""
        if not self.compress:
            out.writelines(self.chunks(profile))
            return
        with BackgroundGzipWriter(out) as compressed:
            compressed.writelines(self.chunks(profile))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Say whether Go will reject the profile, and how many samples max_samples merged."""
        profile = self._for_reader(profile)
        return (*self._go_warning(profile), *self._merge_note(profile))

    def _go_warning(self, profile: Profile) -> tuple[str, ...]:
        if self.reader == "any" or (profile.functions.start_line > 0).any():
            return ()
        return ("no function has a start line, so go build -pgo refuses the profile: is this a Go program?",)

    def _merge_note(self, profile: Profile) -> tuple[str, ...]:
        if not 0 < self.max_samples < len(profile.samples):
            return ()
        labels = labels_of(profile, self._labels, StringTable(profile).add)
        values = _distinct_samples(profile, labels.keys(), make_sample_types(profile, self.sample_types))[1]
        kept_rows = heaviest_rows(values, self.max_samples)
        if len(kept_rows) == len(values):
            return ()
        share = 1 - sum_of(values[kept_rows, -1]) / max(sum_of(values[:, -1]), 1)
        counts = f"{len(values) - len(kept_rows):,} of {len(values):,}"
        return (f"{counts} samples are summed up as {OTHER_STACKS}: {share:.1%} of the value",)

    def chunks(self, profile: Profile) -> Iterator[bytes]:
        """Yield the uncompressed message in chunks; the string table comes last, when all strings are known."""
        profile = self._for_reader(profile)
        strings = StringTable(profile)
        types = make_sample_types(profile, self.sample_types)
        yield _header(profile, strings, types, self.sample_types).SerializeToString(deterministic=True)
        order = mapping_order(profile)
        yield encode_mappings(profile.mappings, order)
        locations, functions, written_locations = profile.locations, profile.functions, None
        if self.placeholders:
            locations, functions = with_placeholders(profile, strings)
        if self.inline == "off":
            locations = without_inlining(locations)
        elif self.inline == "frames":
            locations, written_locations = one_location_per_line(locations)
        yield from encode_locations(locations, order)
        if self.max_samples:
            functions = join_tables([functions, named_functions(as_int32([strings.add(OTHER_STACKS)]))])
            yield encode_other_stacks_location(len(locations) + 1, len(functions))
        del locations
        yield encode_functions(functions)
        yield from self._samples(profile, types, strings, written_locations)
        yield repeated_string(6, strings.entries)  # Profile.string_table

    def _samples(
        self, profile: Profile, types: list[SampleType], strings: StringTable, written_locations: ListArray | None
    ) -> Iterator[bytes]:
        """Yield Profile.sample: one for each distinct pair of stack and labels, sorted by stack, then labels.

        Example with one label, one sample type, and max_samples=2::

            rows of Profile.samples       distinct samples       kept              message
            stack  label  value           stack  label  value
              4      7     10      ┐        4      7     30      4 7 30            ids of 4's path, 30, 7
              4      7     20      ┘  ──▶   4      9      5  ──▶            ──▶
              4      9      5               6      7     20      others: 25        id of [other stacks], 25
              6      7     20
        """
        labels = labels_of(profile, self._labels, strings.add)
        keys = labels.keys()
        first_rows, values = _distinct_samples(profile, keys, types)
        kept_rows = heaviest_rows(values, self.max_samples)
        encoded_labels = EncodedLabels(labels, keys, first_rows[kept_rows])
        encoded_stacks = _EncodedStacks(profile, written_locations)
        stack = as_int64(profile.samples.stack[first_rows[kept_rows]])
        for rows in row_batches(encoded_stacks.lengths[stack], _FRAMES_PER_WRITE):
            batch_labels = encoded_labels.of_samples(int(rows[0]), int(rows[-1]) + 1)
            yield _encoded_samples(encoded_stacks.of_stacks(stack[rows]), values[kept_rows[rows]], batch_labels)
        if len(kept_rows) < len(values):
            others = values.sum(axis=0, dtype=np.int64) - values[kept_rows].sum(axis=0, dtype=np.int64)
            yield _encoded_sum_of_others(others, encoded_stacks.location_count + 1)


def _distinct_samples(profile: Profile, label_keys: Sequence[I64], types: list[SampleType]) -> tuple[I64, I64]:
    """Return the distinct pairs of stack and labels, sorted, and sums of values (pairs, sample types).

    A pair is represented by its first row in Profile.samples. ``label_keys`` are `Labels.keys`.
    """
    first, group = group_rows([profile.samples.stack, *label_keys])
    return first, summed_values(profile, types, group, len(first))


class _EncodedStacks:
    """Encodes stacks as Sample.location_id: the ids of their locations, innermost first."""

    def __init__(self, profile: Profile, written_locations: ListArray | None) -> None:
        """``written_locations``: for each location of the profile, rows of the locations that are written.

        None: these are the profile's. A written location's id is its row + 1.
        """
        self.location_count = len(profile.locations) if written_locations is None else len(written_locations.values)
        self._written_locations, self._stacks = written_locations, profile.stacks
        self._ids = EncodedIds(self.location_count)
        self.lengths = np.append(depths(profile.stacks.parent) + 1, 0)
        """(stacks + 1,) locations of the profile in each stack; the last entry is for stack −1."""

    def of_stacks(self, stack: I64) -> SharedColumn:
        """Encode rows of Profile.stacks, each distinct stack once."""
        leaf, leaf_index = unique_inverse(stack)
        path = paths_of_length(self._stacks.parent, leaf, self.lengths[leaf])
        locations = ListArray(path.offsets, self._stacks.location[path.values])
        if self._written_locations is not None:
            written = self._written_locations[as_int64(locations.values)]
            locations = ListArray(written.offsets[path.offsets], written.values)
        return encoded_values(self._ids.packed_field(_LOCATION_ID, locations)), leaf_index


def _encoded_sum_of_others(values: I64, location_id: int) -> bytes:
    return message(
        _SAMPLE, message(_LOCATION_ID, varint(location_id)) + message(_VALUE, b"".join(map(varint, values.tolist())))
    )


def _encoded_samples(location_ids: SharedColumn, values: I64, labels: SharedColumn) -> bytes:
    """``values`` have the shape (samples, sample types)."""
    first, values_index = group_rows(list(values.T))  # many samples have the same few values
    rows = ListArray(arange(len(first) + 1) * values.shape[1], values[first].reshape(-1))
    return messages_of_columns(
        _SAMPLE, [location_ids, (encoded_values(packed_field(_VALUE, rows)), values_index), labels]
    )


def _header(profile: Profile, strings: StringTable, types: list[SampleType], style: str) -> "profile_pb2.Profile":
    from perf2x.emitters.pprof import profile_pb2

    meta, header = profile.meta, profile_pb2.Profile()
    for sample_type in types:
        header.sample_type.add(type=strings.add(sample_type.name), unit=strings.add(sample_type.unit))
    if types:
        header.default_sample_type = strings.add(types[-1].name)
    if profile.events:
        default = profile.default_event
        event, name = profile.events[default], plain_names(profile.events)[default]
        header.period_type.type, header.period_type.unit = (
            strings.add(in_style(text, style)) for text in (name, event.unit)
        )
        header.period = fixed_period(event)
    header.time_nanos, header.duration_nanos = meta.wall_start_ns, meta.duration_ns
    header.comment.extend(strings.add(line) for line in comment_lines(meta))
    return header
