"""The text of ``perf script``, sample by sample, for tools that read it.

A second pass reads the samples from the recording, batch by batch.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, BinaryIO

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import I64, U64, AnyArray, as_uint64, flatnonzero, lexsort, unique, zeros
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.emitters.perf_script.field_selection import addresses_to_name, event_fields
from perf2x.emitters.perf_script.field_texts import (
    MemoryText,
    StartColumns,
    branch_column,
    last_columns,
    value_columns,
)
from perf2x.emitters.perf_script.frame_lines import FrameTexts, PlaceText
from perf2x.errors import SettingError
from perf2x.model.format_features import SingleSampleSettings
from perf2x.model.plugin_options import FRAMES, INLINE, SAMPLES, Format, Needs
from perf2x.model.printable_text import without_controls
from perf2x.model.profile import NEVER, Profile, RecordedBatch, SampleReader, View, perf_names_data
from perf2x.model.recording import Samples, Want, take_rows
from perf2x.model.recording.branch_types import filter_branches, parse_branch_filter
from perf2x.model.setting import Setting

_EXTRA_FIELDS = frozenset({"phys_addr", "ins_lat", "retire_lat", "data_page_size", "code_page_size"})
_FIELD_COLUMNS = {"addr": Want.ADDR, "weight": Want.MEMORY, "data_src": Want.MEMORY, "brstack": Want.BRANCHES,
                  "brstacksym": Want.BRANCHES, "trace": Want.RAW, "cgroup": Want.CGROUP,
                  **dict.fromkeys(_EXTRA_FIELDS, Want.EXTRA)}  # fmt: skip
"""Optional columns of samples that a field needs."""
_BRANCH_FIELDS = frozenset({"brstack", "brstacksym"})


class PerfScript(Format):
    """The text of perf script: for flamegraph.pl, Firefox Profiler, llvm-profgen and other tools."""

    suffix = ".perf.txt"

    fields: Annotated[
        str,
        Setting("Fields to print, or to +add and -remove, as for perf script -F.", ("--fields", "-F")),
    ] = ""
    ns: Annotated[bool, Setting("Print times in nanoseconds.", ("--ns",))] = False
    hide_call_graph: Annotated[
        bool,
        Setting("Leave out call chains; print only the sampled function.", ("--hide-call-graph", "-G")),
    ] = False
    branch_filter: Annotated[
        str,
        Setting(
            "Branches of brstack to print, by type, speculation or privilege: call,ind_call,user.",
            ("--branch-filter",),
        ),
    ] = ""

    @property
    def needs(self) -> Needs:
        """Samples one by one, and names of addresses outside stacks if fields show them."""
        return Needs(
            features=(SingleSampleSettings(as_recorded=True, places=addresses_to_name(self.fields)),),
            lines="srcline" in self.fields,
            full_names=True,
            honours=frozenset({SAMPLES, FRAMES, INLINE}),
            why="it prints samples as they were recorded",
            viewer="read it: less {0}",
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write all samples; nothing for a profile without recorded samples."""
        if profile.single_samples is None:
            return
        out.writelines(_SampleWriter(profile, profile.single_samples, self).chunks())


class _SampleWriter:
    def __init__(self, profile: Profile, reader: SampleReader, options: PerfScript) -> None:
        self._reader, self._options = reader, options
        self._events = reader.session.events
        self._branch_filter = parse_branch_filter(options.branch_filter)
        sampled_events = frozenset(profile.samples.event.tolist())
        self._fields = event_fields(self._events, options.fields, sampled_events, chains=not options.hide_call_graph)
        all_fields = frozenset().union(*self._fields)
        self._want = reduce(or_, (want for name, want in _FIELD_COLUMNS.items() if name in all_fields), Want(0))
        if self._branch_filter and not all_fields & _BRANCH_FIELDS:
            raise SettingError(
                "", "branch_filter", f" {options.branch_filter}: there is no brstack among the ", "fields"
            )
        self._frames = FrameTexts(profile, reader.symbol_start, reader.session.build_ids)
        self._places = {kind: PlaceText(places, reader) for kind, places in reader.places.items()}
        self._start = StartColumns(profile, nanoseconds=options.ns)
        self._memory = MemoryText()
        cgroups = reader.sideband.cgroups
        self._cgroup_paths = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
        names = [without_controls(event.name) for event in self._events]
        width = max(map(len, names), default=0)
        self._event_names = [f"{name:>{width}}" for name in names]

    def chunks(self) -> Iterator[bytes]:
        """Yield the text of all samples in time order; without times, in file order."""
        order = TimeOrder()
        for batch in self._reader.read(self._want):
            samples = batch.samples
            time = as_uint64(samples.position) if samples.time is None else samples.time
            yield order.add(time, samples.position, self._lines(batch), batch.earliest_in_later_batches)

    def _lines(self, batch: RecordedBatch) -> AnyArray:
        samples, parts = batch.samples, []
        for event in unique(samples.event).tolist():
            rows = flatnonzero(samples.event == event)
            columns = self._columns(event, take_rows(samples, rows), batch.thread[rows], batch.stack[rows])
            parts.append((rows, list(columns)))
        return _text_table(len(samples), parts)

    def _columns(self, event: int, samples: Samples, thread: AnyArray, stack: AnyArray) -> Iterator[AnyArray]:
        """``thread`` and ``stack`` (samples,) are rows of Profile.threads and Profile.stacks."""
        fields, attributes = self._fields[event], self._events[event]
        has_chain = attributes.sample_type & SampleType.CALLCHAIN and not self._options.hide_call_graph
        prints_chain = bool(has_chain) and "ip" in fields
        yield from self._start.of_samples(samples, thread, fields, align_comm=not prints_chain)
        data_places = self._places.get("data") if perf_names_data(attributes) else None
        yield from value_columns(
            samples, fields, self._event_names[event], self._memory, self._cgroup_paths, data_places
        )
        if "trace" in fields and samples.raw is not None:
            texts, index = self._reader.raw_texts(attributes, samples.raw)
            yield chunk_array([without_controls(text).encode() for text in texts])[index]
        if prints_chain:
            unwound = bool(attributes.sample_type & SampleType.STACK_USER)
            yield self._frames.chains(stack, fields, unwound=unwound)
        elif "ip" in fields:
            yield self._frames.leaves(stack, fields)
        if samples.branches is not None and fields & _BRANCH_FIELDS:
            branches = filter_branches(samples.branches, self._branch_filter)
            yield branch_column(replace(samples, branches=branches), fields, self._places.get("branches"))
        yield from last_columns(samples, fields)
        yield np.full(len(samples), b"\n", np.object_)


def _text_table(count: int, parts: Sequence[tuple[I64 | slice, list[AnyArray]]]) -> AnyArray:
    """Return a table (count, columns) of texts, put together from parts: some rows, and the columns of these rows.

    Rows of a part with fewer columns end with b"".
    """
    table = np.full((count, max((len(columns) for _, columns in parts), default=0)), b"", np.object_)
    for rows, columns in parts:
        for index, column in enumerate(columns):
            table[rows, index] = column
    return table


class TimeOrder:
    """Holds back the lines of samples until no earlier line can follow.

    Lines of equal time stay in file order, as in perf (tools/perf/util/ordered-events.c).
    """

    def __init__(self) -> None:
        self._time: U64 = np.zeros(0, np.uint64)
        self._position: I64 = zeros(0)
        self._lines: AnyArray = np.zeros((0, 1), np.object_)

    def add(self, time: U64, position: I64, lines: AnyArray, earliest_in_later_batches: int) -> bytes:
        """Add the lines of a batch; return the text of all lines before ``earliest_in_later_batches``, in time order.

        ``earliest_in_later_batches`` is NEVER after the last batch. Shapes: ``time``, ``position`` (n,), ``lines``
        (n, columns).
        """
        count = len(self._time)
        time, position = np.append(self._time, time), np.append(self._position, position)
        lines = _text_table(len(time), [(slice(count), list(self._lines.T)), (slice(count, None), list(lines.T))])
        order = lexsort((position, time))
        ready_count = (
            len(time)
            if earliest_in_later_batches == NEVER
            else int(np.searchsorted(time[order], np.uint64(earliest_in_later_batches), "left"))
        )
        held_back = order[ready_count:]
        self._time, self._position, self._lines = time[held_back], position[held_back], lines[held_back]
        return b"".join(lines[order[:ready_count]].ravel().tolist())
