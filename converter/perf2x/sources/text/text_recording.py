"""A text as a recording: whoever printed it has already stitched its stacks and named its frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import as_int64, as_uint64, cumsum, falses, flatnonzero, sum_of, trues, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.input_source import Lacks
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.profile import FunctionRow, Meta, PlaceNames, Profile
from perf2x.model.recording import ALL, NO_RECORDS, Event, Samples, Session, Shard, Sideband, Want
from perf2x.reader.containers.input_file import FIRST, InputFile
from perf2x.sources.stitched_recording import StitchedRecording, batch_of
from perf2x.sources.text.read_text import read_text
from perf2x.sources.text.text_profile import text_profile
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.known.location_names import LocationNames
from perf2x.symbolizer.object_resolver import function_row
from perf2x.symbolizer.sources.symbol_source import Function
from perf2x.symbolizer.symbol_options import SymbolOptions

_HEADER = re.compile(rb"^# (hostname|os release|perf version|arch|nrcpus online|cmdline) :\s*(.*?)\s*$", re.MULTILINE)


class TextRecording(StitchedRecording):
    """A text as ``model.recording.events.Recording``, without records."""

    def __init__(
        self,
        file: InputFile,
        source: str,
        diagnostics: Diagnostics,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Read all of it; ``text_kind`` must recognize it. FormatError if it cannot be read."""

        def done(stop: int) -> None:
            file.forget(0, stop)
            if progress is not None:
                progress(stop, len(file.data))

        self.diagnostics = diagnostics
        head = file.data[:FIRST].tobytes()
        self._text = text = read_text(file.data, source, done)
        self._header = {key.decode(): value.decode("utf-8", "surrogateescape") for key, value in _HEADER.findall(head)}
        self._profile = text_profile(text, Meta(source=source))
        diagnostics.add("text_lines_not_read", "nothing could be made of them.", text.not_read)
        diagnostics.add("text_stacks_cut", "only their innermost frames are shown.", text.cut)

    @property
    def lacks(self) -> Lacks:
        """Addresses, files and records."""
        named = f"{self._profile.meta.source} ({self._text.kind})"
        untold = f"{named} does not tell what ", " asks for"
        no_code = (f"{named} tells names, not addresses in files: there is no code to look at",)
        return {
            **dict.fromkeys(("files", "records", "trace"), untold),
            "as_recorded": (f"{named} has no records, which would be printed",),
            **dict.fromkeys(("listings", "code", "symbolize"), no_code),
        }

    @cached_property
    def session(self) -> Session:
        """Facts from the header that ``perf script --header`` prints, and from samples."""
        known, samples = self._header, self._profile.samples
        told = SampleType.TIME if samples.time is not None else 0
        told |= SampleType.CPU if samples.cpu is not None else 0
        cpus = known.get("nrcpus online", "")
        return Session(
            source=self._profile.meta.source,
            byte_order="<",
            events=tuple(
                Event(
                    index=index, name=event.name, type=-1, config=0, sample_period=0, sample_type=int(told),
                    read_format=0, flags=frozenset(), unit=event.unit,
                )
                for index, event in enumerate(self._profile.events)
            ),
            arch=known.get("arch", ""),
            hostname=known.get("hostname", ""),
            os_release=known.get("os release", ""),
            perf_version=known.get("perf version", ""),
            command_line=tuple(known.get("cmdline", "").split()),
            cpus_online=int(cpus) if cpus.isdecimal() and len(cpus) < 9 else 0,
            features={"text": self._text.kind},
        )  # fmt: skip

    @property
    def sideband(self) -> Sideband:
        """No records."""
        return NO_RECORDS

    @property
    def sample_count(self) -> int:
        """Number of samples, as far as the text counts them."""
        return sum_of(self._profile.samples.count)

    @property
    def fingerprint(self) -> None:
        """Return None, because a growing text cannot be recognized."""

    def samples(self, want: Want, shard: Shard = ALL) -> Iterator[Samples]:
        """Yield the samples' columns; ``want`` is ignored, because there is nothing else."""
        yield batch_of(self._profile)

    @property
    def reports(self) -> tuple[DeferredReport, UnwindReport]:
        """Return empty reports: nothing was joined or unwound here."""
        return DeferredReport(), UnwindReport({})

    def whole(self, options: LoadOptions) -> Profile:
        """Return the profile with the header's facts."""
        session = self.session
        meta = replace(
            self._profile.meta, hostname=session.hostname, os_release=session.os_release, arch=session.arch,
            perf_version=session.perf_version, cpus=session.cpus_online, command_line=session.command_line,
        )  # fmt: skip
        return replace(self._profile, meta=meta)

    def completed(self, profile: Profile, options: LoadOptions) -> Profile:
        """As ``StitchedRecording.completed``; without times, a timeline shows positions in the text instead."""
        samples = profile.samples
        if options.needs_times and samples.time is None:
            advice = "times shown are places in the text"
            self.diagnostics.add("no_timestamps", advice)
            samples = replace(samples, time=as_uint64(cumsum(samples.count) - samples.count))
        if "cpu" in options.columns or options.needs_times:
            samples = replace(samples, cpu=samples.cpus)
        if "data_src" in options.keep:
            samples = replace(samples, data_src=zeros(len(samples)))
        return super().completed(replace(profile, samples=samples), options)

    def names(self, profile: Profile, symbols: SymbolOptions) -> LocationNames:
        """Return the names in the text, the only ones there are."""
        frames = [self._text.frames[number] for number in profile.locations.address.tolist()]
        wanted = [lines if symbols.inline else lines[-1:] for _, _, lines in frames]
        count = as_int64([len(lines) for lines in wanted])
        location = flatnonzero(count)
        numbers: dict[FunctionRow, int] = {}
        rows = [function_row(Function(name, "", file, 0), symbols.names) for lines in wanted for name, file, _ in lines]
        names = PlaceNames(
            place=location,
            count=count[location],
            is_exact=falses(len(location)),
            has_inlines=count[location] > 1,
            function=as_int64([numbers.setdefault(row, len(numbers)) for row in rows]),
            line=as_int64([line for lines in wanted for _, _, line in lines]),
            functions=list(numbers),
        )
        return LocationNames(names, trues(len(profile.mappings)), kernel_looked_up=True)
