"""pprof: gzip-compressed protobuf for ``go tool pprof``, Perfetto, Pyroscope and Parca.

Schema: proto/profile.proto. Small fields are encoded by the generated classes, tables and samples by
encoding/protobuf.py. Concatenated fields are one protobuf message, so the file is written in chunks.
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
    Chosen,
    Ids,
    chosen_messages,
    message,
    packed_field,
    texts,
    texts_of,
    varint,
)
from perf2x.emitters.pprof.pprof_tables import (
    REST,
    StringTable,
    comment_lines,
    encode_functions,
    encode_locations,
    encode_mappings,
    encode_rest,
    mapping_order,
    one_location_per_line,
    with_placeholders,
    without_inlining,
)
from perf2x.emitters.pprof.sample_labels import LABELS, MEMORY_LABELS, LabelBytes, labels_of
from perf2x.emitters.pprof.sample_types import ValueKind, fixed_period, heaviest, in_style, summed_values, value_kinds
from perf2x.model.cgroup_parts import columns_of
from perf2x.model.plugin_options import FINISHED, START_TIME, TAGS, WAITS, Format, Needs
from perf2x.model.profile import Profile, depths, named_functions, paths_of_length, plain_names
from perf2x.model.setting import Setting

if TYPE_CHECKING:
    from perf2x.emitters.pprof import profile_pb2

_FRAMES_PER_WRITE = 1 << 16


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
        """The columns of the chosen labels are needed; samples are kept separate only for labels with the time."""
        labels = frozenset(self._labels)
        memory = {"data_src"} if MEMORY_LABELS.keys() & labels else set()
        # Speedscope shows the last line of each location: the outermost function
        speedscope = "for speedscope.app: --to speedscope" if self.inline == "lines" else "or drop it on speedscope.app"
        is_for_go = self.reader == "go-pgo"
        return Needs(
            timeline="time" in labels,
            times="time" in labels,
            columns=columns_of(labels) | memory,
            threads=bool({"pid", "tid", "process", "thread"} & labels),
            honours=(FINISHED | {TAGS, START_TIME}) - ({WAITS} if is_for_go else set()),
            why="go build -pgo counts calls of code that ran" if is_for_go else "",
            binary=True,
            dated="time" in labels,
            viewer="open it: go tool pprof -http=: {0}; " + speedscope,
        )

    @property
    def _labels(self) -> tuple[str, ...]:
        return () if self.reader == "go-pgo" else self.label

    def _read_part(self, profile: Profile) -> Profile:
        """Return the part of a profile that the chosen reader uses."""
        if self.reader == "any":
            return profile
        from perf2x.emitters.pprof.go_pgo import for_go_pgo

        return for_go_pgo(profile)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the whole file; gzip without a time stamp, so that equal profiles give equal bytes."""
        if not self.compress:
            out.writelines(self.chunks(profile))
            return
        with BackgroundGzipWriter(out) as packed:
            packed.writelines(self.chunks(profile))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Report how many samples max_samples merged, and what Go will reject."""
        profile = self._read_part(profile)
        return (*self._refused(profile), *self._summed_up(profile))

    def _refused(self, profile: Profile) -> tuple[str, ...]:
        if self.reader == "any" or (profile.functions.start_line > 0).any():
            return ()
        return ("no function has a start line, so go build -pgo refuses the profile: is this a Go program?",)

    def _summed_up(self, profile: Profile) -> tuple[str, ...]:
        if not 0 < self.max_samples < len(profile.samples):
            return ()
        labels = labels_of(profile, self._labels, StringTable(profile).add)
        values = _distinct_samples(profile, labels.keys(), value_kinds(profile, self.sample_types))[1]
        kept = heaviest(values, self.max_samples)
        if len(kept) == len(values):
            return ()
        share = 1 - sum_of(values[kept, -1]) / max(sum_of(values[:, -1]), 1)
        left = f"{len(values) - len(kept):,} of {len(values):,}"
        return (f"{left} samples are summed up as {REST}: {share:.1%} of the value",)

    def chunks(self, profile: Profile) -> Iterator[bytes]:
        """Yield the uncompressed message, some ten thousand frames at once; the string table comes last."""
        profile = self._read_part(profile)
        strings = StringTable(profile)
        kinds = value_kinds(profile, self.sample_types)
        yield _header(profile, strings, kinds, self.sample_types).SerializeToString(deterministic=True)
        order = mapping_order(profile)
        yield encode_mappings(profile.mappings, order)
        locations, functions, written = profile.locations, profile.functions, None
        if self.placeholders:
            locations, functions = with_placeholders(profile, strings)
        if self.inline == "off":
            locations = without_inlining(locations)
        elif self.inline == "frames":
            locations, written = one_location_per_line(locations)
        yield from encode_locations(locations, order)
        if self.max_samples:
            functions = join_tables([functions, named_functions(as_int32([strings.add(REST)]))])
            yield encode_rest(len(locations) + 1, len(functions))
        del locations
        yield encode_functions(functions)
        yield from self._samples(profile, kinds, strings, written)
        yield texts(6, strings.texts)

    def _samples(
        self, profile: Profile, kinds: list[ValueKind], strings: StringTable, written: ListArray | None
    ) -> Iterator[bytes]:
        """Yield Profile.sample (2): one per distinct (stack, labels), in this order, with a value for each sample type.

        ``written``: the written locations of each location of the profile; None if they are the same. Example with one
        label::

            rows of Profile.samples       distinct samples       kept (max_samples=2)     message
            stack  label  value           stack  label  value
              4      7     10      ┐        4      7     30      4 7 30                   ids of 4's path, 30, 7
              4      7     20      ┘  ──▶   4      9      5  ──▶               ──▶
              4      9      5               6      7     20      rest: 25                 id of [rest], 25
              6      7     20
        """
        labels = labels_of(profile, self._labels, strings.add)
        keys = labels.keys()
        distinct, values = _distinct_samples(profile, keys, kinds)
        kept = heaviest(values, self.max_samples)
        label_bytes = LabelBytes(labels, keys, distinct[kept])
        location_ids = _StackIds(profile, written)
        stack = as_int64(profile.samples.stack[distinct[kept]])
        for rows in row_batches(location_ids.lengths[stack], _FRAMES_PER_WRITE):
            labelled = label_bytes.of(int(rows[0]), int(rows[-1]) + 1)
            yield _encoded_samples(location_ids.of(stack[rows]), values[kept[rows]], labelled)
        if len(kept) < len(values):
            rest = values.sum(axis=0, dtype=np.int64) - values[kept].sum(axis=0, dtype=np.int64)
            yield _encoded_rest(rest, location_ids.count + 1)


def _distinct_samples(profile: Profile, labels: Sequence[I64], kinds: list[ValueKind]) -> tuple[I64, I64]:
    """Merge samples of the same stack and ``labels`` (`Labels.keys`); sort them by stack, then labels.

    Returns, for each distinct sample, one of its rows of Profile.samples, and the sums over all its rows.
    Shapes: (distinct,) and (distinct, kinds).
    """
    first, merged = group_rows([profile.samples.stack, *labels])
    return first, summed_values(profile, kinds, merged, len(first))


class _StackIds:
    """The location ids of stacks, encoded as Sample.location_id (1), innermost first."""

    def __init__(self, profile: Profile, written: ListArray | None) -> None:
        """``written``: the written locations of each location of the profile; None if they are the same."""
        self.count = len(profile.locations) if written is None else len(written.values)
        """Number of written locations; their ids start at 1."""
        self._written, self._stacks, self._ids = written, profile.stacks, Ids(self.count)
        self.lengths = np.append(depths(profile.stacks.parent) + 1, 0)
        """(stacks + 1,) number of locations of each stack; the last entry is for −1, the stack without frames."""

    def of(self, stack: I64) -> Chosen:
        """Encode the ids of (n,) stack rows; each distinct stack is encoded once."""
        leaf, place = unique_inverse(stack)
        path = paths_of_length(self._stacks.parent, leaf, self.lengths[leaf])
        locations = ListArray(path.offsets, self._stacks.location[path.values])
        if self._written is not None:
            lines = self._written[as_int64(locations.values)]
            locations = ListArray(lines.offsets[path.offsets], lines.values)
        return texts_of(self._ids.packed(1, locations)), place


def _encoded_rest(values: I64, location: int) -> bytes:
    """Encode one sample without labels for everything that max_samples drops."""
    return message(2, message(1, varint(location)) + message(2, b"".join(map(varint, values.tolist()))))


def _encoded_samples(location_ids: Chosen, values: I64, labels: Chosen) -> bytes:
    """Encode samples from encoded location ids, ``values`` (rows, sample types) and encoded labels."""
    first, kind = group_rows(list(values.T))  # many samples of a stack share a few values
    numbers = ListArray(arange(len(first) + 1) * values.shape[1], values[first].reshape(-1))
    return chosen_messages(2, [location_ids, (texts_of(packed_field(2, numbers)), kind), labels])


def _header(profile: Profile, strings: StringTable, kinds: list[ValueKind], style: str) -> "profile_pb2.Profile":
    """Return all fields except tables and samples."""
    from perf2x.emitters.pprof import profile_pb2

    meta, header = profile.meta, profile_pb2.Profile()
    for kind in kinds:
        header.sample_type.add(type=strings.add(kind.name), unit=strings.add(kind.unit))
    if kinds:
        header.default_sample_type = strings.add(kinds[-1].name)
    if profile.events:
        shown = profile.default_event
        event, name = profile.events[shown], plain_names(profile.events)[shown]
        header.period_type.type, header.period_type.unit = (
            strings.add(in_style(text, style)) for text in (name, event.unit)
        )
        header.period = fixed_period(event)
    header.time_nanos, header.duration_nanos = meta.wall_start_ns, meta.duration_ns
    header.comment.extend(strings.add(line) for line in comment_lines(meta))
    return header
