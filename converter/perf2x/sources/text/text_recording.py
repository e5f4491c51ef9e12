"""Presents the text that another tool printed as a recording, with the stacks and names in the text."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode, SampleType
from perf2x.base.columnar import (
    AnyArray,
    StringTableBuilder,
    arange,
    argsort,
    argsort_rows,
    as_int32,
    as_int64,
    as_uint64,
    cumsum,
    falses,
    flatnonzero,
    group_rows,
    prefix_tree,
    sum_of,
    trues,
    zeros,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.input_source import Lacks
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.number_format import WEIGHT
from perf2x.model.profile import (
    FunctionRow,
    Functions,
    Locations,
    Mappings,
    Meta,
    PlaceNames,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
)
from perf2x.model.recording import ALL_BLOCKS, NO_RECORDS, Samples, Session, Shard, Sideband, Want
from perf2x.model.value_limits import LAST_TIME
from perf2x.reader.containers.input_file import HEAD_SIZE, InputFile
from perf2x.sources.stitched_recording import StitchedRecording, batch_of, events_of
from perf2x.sources.text.read_text import read_text
from perf2x.sources.text.text_tables import Text
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.known.location_names import LocationNames
from perf2x.symbolizer.object_resolver import function_row
from perf2x.symbolizer.sources.symbol_source import Function
from perf2x.symbolizer.symbol_options import SymbolOptions

# lines of ``perf script --header``
_HEADER = re.compile(rb"^# (hostname|os release|perf version|arch|nrcpus online|cmdline) :\s*(.*?)\s*$", re.MULTILINE)


class TextRecording(StitchedRecording):
    """A text as a Recording (``model.recording.events``), without side-band records."""

    def __init__(
        self,
        file: InputFile,
        source: str,
        diagnostics: Diagnostics,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Read all of a text that ``text_kind`` recognizes. Raises FormatError if it cannot be read."""

        def free_and_report(stop: int) -> None:
            file.forget(0, stop)
            if progress is not None:
                progress(stop, len(file.data))

        self.diagnostics = diagnostics
        head = file.data[:HEAD_SIZE].tobytes()
        self._text = text = read_text(file.data, source, free_and_report)
        self._header = {key.decode(): value.decode("utf-8", "surrogateescape") for key, value in _HEADER.findall(head)}
        self._profile = _text_profile(text, Meta(source=source))
        diagnostics.add("text_lines_not_read", "they could not be interpreted.", text.lines_not_read)
        diagnostics.add("text_stacks_cut", "only their innermost frames are shown.", text.stacks_cut)

    @property
    def lacks(self) -> Lacks:
        """Texts have no addresses, files and records."""
        input_name = f"{self._profile.meta.source} ({self._text.kind})"
        missing = f"{input_name} does not have the data that ", " needs"
        no_code = (f"{input_name} has names, not addresses in files, so there is no code to show",)
        return {
            **dict.fromkeys(("files", "records", "trace"), missing),
            "as_recorded": (f"{input_name} has no records to print",),
            **dict.fromkeys(("listings", "code", "symbolize"), no_code),
        }

    @cached_property
    def session(self) -> Session:
        """Facts in the header that ``perf script --header`` prints, and in samples."""
        header, samples = self._header, self._profile.samples
        sample_type = SampleType.TIME if samples.time is not None else 0
        sample_type |= SampleType.CPU if samples.cpu is not None else 0
        cpus = header.get("nrcpus online", "")
        return Session(
            source=self._profile.meta.source,
            byte_order="<",
            events=events_of(self._profile.events, int(sample_type)),
            arch=header.get("arch", ""),
            hostname=header.get("hostname", ""),
            os_release=header.get("os release", ""),
            perf_version=header.get("perf version", ""),
            command_line=tuple(header.get("cmdline", "").split()),
            cpus_online=int(cpus) if cpus.isdecimal() and len(cpus) < 9 else 0,
            features={"text": self._text.kind},
        )

    @property
    def sideband(self) -> Sideband:
        """No records."""
        return NO_RECORDS

    @property
    def sample_count(self) -> int:
        """Sum of the counts: folded stacks count samples, or other units."""
        return sum_of(self._profile.samples.count)

    @property
    def fingerprint(self) -> None:
        """None, because nothing in a text identifies it while it grows."""

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Yield the samples' columns; ``want`` is ignored."""
        yield batch_of(self._profile)

    @property
    def reports(self) -> tuple[DeferredReport, UnwindReport]:
        """Empty: nothing was joined or unwound here."""
        return DeferredReport(), UnwindReport({})

    def full_profile(self, options: LoadOptions) -> Profile:
        """Return the profile of all samples, with the header's facts."""
        session = self.session
        meta = replace(
            self._profile.meta, hostname=session.hostname, os_release=session.os_release, arch=session.arch,
            perf_version=session.perf_version, cpus=session.cpus_online, command_line=session.command_line,
        )  # fmt: skip
        return replace(self._profile, meta=meta)

    def completed(self, profile: Profile, options: LoadOptions) -> Profile:
        """Add the columns that ``options`` ask for.

        Without times, a sample's time is the sum of the counts before it in the text.
        """
        samples = profile.samples
        if options.needs_times and samples.time is None:
            self.diagnostics.add("no_timestamps", "times shown are positions in the text.")
            samples = replace(samples, time=as_uint64(cumsum(samples.count) - samples.count))
        if "cpu" in options.columns or options.needs_times:
            samples = replace(samples, cpu=samples.cpus)
        if "data_src" in options.keep:
            samples = replace(samples, data_src=zeros(len(samples)))
        return super().completed(replace(profile, samples=samples), options)

    def stored_names(self, profile: Profile, symbols: SymbolOptions) -> LocationNames:
        """Return the names in the text."""
        # addresses are rows of text.frames (_text_profile)
        frames = [self._text.frames[row] for row in profile.locations.address.tolist()]
        # the other functions of a location are inlined into its last one
        shown_functions = [functions if symbols.inline else functions[-1:] for _, _, functions in frames]
        count = as_int64([len(functions) for functions in shown_functions])
        location = flatnonzero(count)
        row_of_function: dict[FunctionRow, int] = {}
        function_rows = [
            function_row(Function(name, "", file, 0), symbols.names)
            for functions in shown_functions
            for name, file, _ in functions
        ]
        names = PlaceNames(
            place=location,
            count=count[location],
            is_exact=falses(len(location)),
            has_inlines=count[location] > 1,
            function=as_int64([row_of_function.setdefault(row, len(row_of_function)) for row in function_rows]),
            line=as_int64([line for functions in shown_functions for _, _, line in functions]),
            functions=list(row_of_function),
        )
        return LocationNames(names, trues(len(profile.mappings)), kernel_looked_up=True)


_CLOCK = re.compile(r"(cpu|task)-clock\b.*")


def _text_profile(text: Text, meta: Meta) -> Profile:
    """Make a profile whose addresses are rows of ``text.frames``; they are removed once the frames have names."""
    strings = StringTableBuilder()
    threads, thread = _threads(text, strings)
    mappings, locations = _mappings_and_locations(text, strings)
    parent, location, leaf = prefix_tree(text.stacks, innermost_first=True)
    rows, stack = text.samples, as_int32(np.append(leaf, -1)[text.samples.stack])
    is_timed, has_cpu = bool((rows.time < LAST_TIME).any()), bool((rows.cpu >= 0).any())
    columns: list[AnyArray] = [rows.time, thread, rows.event, stack, rows.value]
    order = argsort_rows(columns) if is_timed else arange(len(rows))
    samples = ProfileSamples(
        event=rows.event[order], thread=thread[order], stack=stack[order], value=rows.value[order],
        count=rows.count[order], time=rows.time[order] if is_timed else None, cpu=rows.cpu[order] if has_cpu else None,
    )  # fmt: skip
    known_times = rows.time[rows.time < LAST_TIME]
    first, last = (int(known_times.min()), int(known_times.max())) if len(known_times) else (0, 0)
    empty = np.zeros(0, np.int32)
    return Profile(
        strings=strings.table(), events=tuple(_event(text, row) for row in range(len(text.events))),
        threads=threads, mappings=mappings, functions=Functions(empty, empty, empty, empty), locations=locations,
        stacks=Stacks(parent, location), samples=samples,
        meta=replace(meta, start_ns=first, duration_ns=last - first),
        default_event=int(rows.event.min(initial=len(text.events) - 1)),
    )  # fmt: skip


def _event(text: Text, row: int) -> ProfileEvent:
    name = text.events[row] or WEIGHT
    is_time = row in text.events_with_periods and _CLOCK.fullmatch(name)
    return ProfileEvent(name, "nanoseconds" if is_time else "count", period=0, frequency=0)


def _threads(text: Text, strings: StringTableBuilder) -> tuple[Threads, AnyArray]:
    """A process is named after its main thread, or each thread after itself if the text lacks the main thread."""
    rank = argsort(as_int64(sorted(range(len(text.comms)), key=text.comms.__getitem__)))
    rows = text.samples
    first, thread = group_rows([rows.pid, rows.tid, rank[rows.comm]])
    pid, tid, comm = rows.pid[first], rows.tid[first], [text.comms[row] for row in rows.comm[first].tolist()]
    main_threads = {
        process_id: name
        for process_id, thread_id, name in zip(pid.tolist(), tid.tolist(), comm, strict=True)
        if process_id == thread_id >= 0
    }
    process = [main_threads.get(process_id, name) for process_id, name in zip(pid.tolist(), comm, strict=True)]
    return Threads(pid, tid, strings.add_all(comm), strings.add_all(process)), as_int32(thread)


def _mappings_and_locations(text: Text, strings: StringTableBuilder) -> tuple[Mappings, Locations]:
    """Frames with a function but no object share the mapping of the object "". Frames with neither have no mapping."""
    frames = text.frames
    objects = sorted({name for name, _, functions in frames if name or functions})
    kernels = {name for name, mode, _ in frames if mode == CpuMode.KERNEL} - {""}
    row_of_object = {name: row for row, name in enumerate(objects)}
    mapping = [row_of_object[name] if name or functions else -1 for name, _, functions in frames]
    count, placeholders = len(objects), np.arange(len(frames), dtype=np.uint64)
    all_zero, all_false, empty = np.zeros(count, np.uint64), falses(count), np.zeros(0, np.int32)
    mappings = Mappings(
        start=all_zero, limit=all_zero, offset=all_zero, filename=strings.add_all(objects),
        build_id=np.zeros(count, np.int32), pid=np.full(count, -1, np.int32),
        is_kernel=np.array([name in kernels for name in objects], np.bool_),
        has_functions=all_false, has_filenames=all_false, has_line_numbers=all_false, has_inline_frames=all_false,
    )  # fmt: skip
    return mappings, Locations(
        address=placeholders, lookup=placeholders, mapping=as_int32(mapping),
        mode=np.array([mode for _, mode, _ in frames], np.uint8), synthetic=falses(len(frames)),
        line_offsets=zeros(len(frames) + 1), line_function=empty, line_number=empty,
    )  # fmt: skip
