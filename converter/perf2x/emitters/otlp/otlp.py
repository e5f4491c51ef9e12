"""OpenTelemetry profiles, for collectors and their backends, such as Pyroscope and Parca.

Schema: proto/profiles_v1development.proto, which is alpha. A file is one ProfilesData message. Its profiles refer to
the rows of a *dictionary*: tables of strings, attributes and stacks.
"""

from itertools import chain
from typing import Annotated, BinaryIO, Literal

from perf2x.base.abi import MODE_NAMES, CpuMode
from perf2x.base.columnar import I64, as_int64, unique, unique_inverse, zeros
from perf2x.emitters.encoding.protobuf import message_chunks, string
from perf2x.emitters.otlp.otlp_profiles import ProfileEncoder, SampleGroups, event_types, group_samples, utc_times
from perf2x.emitters.otlp.otlp_schema import (
    VERSION,
    Chunks,
    InstrumentationScope,
    ProfilesData,
    Resource,
    ResourceProfiles,
    ScopeProfiles,
)
from perf2x.emitters.otlp.otlp_tables import Dictionary, StackTables, Value, key_values, used_rows
from perf2x.emitters.pprof.pprof_tables import StringTable
from perf2x.emitters.pprof.sample_labels import LABELS
from perf2x.errors import OptionError
from perf2x.model.cgroup_parts import ATTRIBUTES, cpu_and_cgroup_columns
from perf2x.model.format_features import OriginalSettings
from perf2x.model.plugin_options import FINISHED, START_TIME, TAGS, Format, Needs
from perf2x.model.profile import Meta, Profile, View
from perf2x.model.setting import Setting

_ATTRIBUTE_KEYS = {
    "pid": "process.pid",
    "tid": "thread.id",
    "comm": "thread.name",
    "process": "process.executable.name",
    "cpu": "cpu.logical_number",
    **ATTRIBUTES,
    "mode": "cpu.mode",
}
"""{pprof's label: key of the attribute}. Keys follow OpenTelemetry's semantic conventions where these have one.

``process`` is the name of the process's first thread.
"""


def _attribute_columns(profile: Profile, labels: tuple[str, ...], dictionary: Dictionary) -> list[I64]:
    """Return a column (samples,) of attribute rows for each label; row 0 stands for unknown values."""
    strings = StringTable(profile)
    columns = []
    for name, key in _ATTRIBUTE_KEYS.items():
        label = LABELS[name](name, profile, strings.add) if name in labels else None
        if label is None:
            continue
        distinct, index = unique_inverse(label.sample_values(profile))
        if label.unit:
            values: list[Value | None] = [number if number >= 0 else None for number in distinct.tolist()]
        else:
            unknown_values = ("", MODE_NAMES[CpuMode.UNKNOWN] if name == "mode" else "")
            string_values = (strings.entries[row] for row in distinct.tolist())
            values = [None if value in unknown_values else value for value in string_values]
        columns.append(dictionary.add_column(key, values, index))
    return columns


_MAX_PAYLOAD_MIB = 1024
"""A protobuf message is limited to 2 GiB, and samples need space, too."""


class Otlp(Format):
    """OpenTelemetry profiles (alpha), protobuf: for the Collector, Pyroscope, Parca."""

    suffix = ".otlp.pb"

    label: Annotated[
        tuple[str, ...],
        Setting("Attributes of samples, separated by commas.", ("--label",), choices=tuple(_ATTRIBUTE_KEYS)),
    ] = ("pid", "tid", "comm", "process")
    value: Annotated[Literal["period", "samples"], Setting("Period, or samples (their number).", ("--value",))] = (
        "period"
    )
    timestamps: Annotated[bool, Setting("Keep the time of every sample; no: sums.")] = False
    placeholders: Annotated[
        bool, Setting("Name unresolved frames after their object; no: leave them to the receiver.")
    ] = True
    references: Annotated[
        bool, Setting("Let resources refer to the string table: for files that Collectors of 2026 read.")
    ] = False
    original_payload: Annotated[
        int,
        Setting(
            "Put the recording into the first profile, if it has at most this many MiB.", least=0, most=_MAX_PAYLOAD_MIB
        ),
    ] = 0
    sample_types: Annotated[
        Literal["plain", "identifiers"],
        Setting(
            "Names of sample types: plain (cpu-clock), identifiers (cpu_clock, for Parca and Pyroscope).",
            ("--sample-types",),
        ),
    ] = "plain"
    schema: Annotated[str, Setting("Version of the schema.", choices=(VERSION,))] = VERSION

    @property
    def needs(self) -> Needs:
        """Samples are kept separate only for timestamps."""
        return Needs(
            timeline=self.timestamps,
            times=self.timestamps,
            columns=cpu_and_cgroup_columns(self.label),
            features=(OriginalSettings(self.original_payload << 20),),
            honours=FINISHED | {TAGS, START_TIME},
            binary=True,
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write the whole message."""
        out.writelines(self.chunks(profile))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Return the protocol's version, because receivers of an alpha protocol accept no other."""
        return (f"OpenTelemetry profiles {VERSION}",)

    def chunks(self, profile: View) -> Chunks:
        """Yield profiles by resource, then the shared dictionary."""
        if self.original_payload and not profile.original:
            raise OptionError("the profile was read without the recording's own bytes (LoadOptions.original)")
        dictionary = Dictionary()
        used_stacks = used_rows(profile.samples.stack, len(profile.stacks))
        groups = self._sample_groups(profile, dictionary, used_stacks.new_row[profile.samples.stack])
        types = event_types(profile, self.value == "samples", self.sample_types)
        profiles = ProfileEncoder(profile, dictionary, groups, types, keep_original=bool(self.original_payload))
        resources: list[bytes] = []
        for tag_set in unique(groups.resource).tolist():
            tags = profile.tag_sets[tag_set] if profile.samples.tags is not None else {}
            attributes = {**_host_attributes(profile.meta), **profile.labels, **tags}
            strings = dictionary.strings if self.references else None
            resource = message_chunks(ResourceProfiles.RESOURCE, key_values(Resource.ATTRIBUTES, attributes, strings))
            scope = message_chunks(ScopeProfiles.SCOPE, [string(InstrumentationScope.NAME, "perf2x")])
            scope_profiles = message_chunks(ResourceProfiles.SCOPE_PROFILES, [*scope, *profiles.of_resource(tag_set)])
            resources += message_chunks(ProfilesData.RESOURCE_PROFILES, [*resource, *scope_profiles])
        tables = StackTables(profile, used_stacks.rows, self.placeholders).encoded(dictionary)
        shared = message_chunks(ProfilesData.DICTIONARY, chain(tables, dictionary.encoded_tables()))
        return chain(resources, shared)

    def _sample_groups(self, profile: Profile, dictionary: Dictionary, stack: I64) -> SampleGroups:
        samples = profile.samples
        resource = zeros(len(samples)) if samples.tags is None else as_int64(samples.tags)
        attributes = _attribute_columns(profile, self.label, dictionary)
        values = samples.count if self.value == "samples" else samples.value
        times = utc_times(profile) if self.timestamps else None
        return group_samples((resource, as_int64(samples.event), stack), attributes, values, times)


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i386": "x86", "i586": "x86", "i686": "x86", "armv7l": "arm32"}
"""{uname -m: ``host.arch`` in the semantic conventions}; other architectures keep the name from uname."""


def _host_attributes(meta: Meta) -> dict[str, str]:
    attributes = {
        "host.name": meta.hostname,
        "host.arch": _ARCHITECTURES.get(meta.arch, meta.arch),
        "os.type": "linux",
        "os.version": meta.os_release,
    }
    return {key: value for key, value in attributes.items() if value}
