"""Reads OpenTelemetry profiles with the classes of the ``opentelemetry-proto`` package, as strictly as its schema.

Raises ValueError where the schema says MUST, and where it says SHOULD: an entry 0 that is not empty, duplicates,
entries that nothing uses, two attributes of one key, samples of unequal shape, fields that the classes do not know.
"""

import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message

from perf2x.emitters.otlp.otlp import Otlp
from perf2x.model.profile.profile import Profile as Written

pb: Any = pytest.importorskip(
    "opentelemetry.proto.profiles.v1development.profiles_pb2",
    reason="the opentelemetry-proto package is not installed (pip install 'perf2x[test]')",
)
"""Generated classes of every message."""

TABLES = (
    "mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table", "stack_table",
)  # fmt: skip
Value = str | int | bool | tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    name: str
    system_name: str
    source: str
    start_line: int
    line: int
    address: int
    file: str
    build_id: str
    kind: str


@dataclass(frozen=True)
class Sample:
    stack: tuple[Frame, ...]
    """Outermost first, inlined functions expanded."""
    attributes: tuple[tuple[str, Value], ...]
    values: tuple[int, ...]
    times: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(frame.name for frame in self.stack)


@dataclass(frozen=True)
class Profile:
    resource: Mapping[str, Value]
    sample_type: tuple[str, str]
    period_type: tuple[str, str]
    period: int
    start: int
    duration: int
    attributes: Mapping[str, Value]
    samples: tuple[Sample, ...]

    def sums(self) -> Counter[tuple[str, ...]]:
        found: Counter[tuple[str, ...]] = Counter()
        for sample in self.samples:
            found[sample.names] += sum(sample.values)
        return found


def require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def message_of(data: bytes) -> Any:
    """A file as a message."""
    try:
        return pb.ProfilesData.FromString(data)
    except DecodeError as error:
        raise ValueError(str(error)) from None


def read_profiles(data: bytes) -> list[Profile]:
    message = message_of(data)
    _check_fields(message)
    reader = _Reader(message.dictionary)
    found = [
        reader.profile(profile, reader.key_values(resource.resource.attributes))
        for resource in message.resource_profiles
        for scope in resource.scope_profiles
        for profile in scope.profiles
    ]
    reader.check_uses()
    return found


def written(profile: Written, **options: Any) -> list[Profile]:
    """An emitted profile, read back."""
    out = io.BytesIO()
    Otlp(**options).emit(profile, out)
    return read_profiles(out.getvalue())


def _check_fields(message: Message) -> None:
    size = message.ByteSize()
    message.DiscardUnknownFields()
    require(message.ByteSize() == size, "there is a field that the schema does not have")


def _value(any_value: Any) -> Value:
    kind = any_value.WhichOneof("value")
    require(kind in ("string_value", "bool_value", "int_value", "array_value"), f"a value of kind {kind}")
    if kind == "array_value":
        return tuple(one.string_value for one in any_value.array_value.values)
    value: Value = getattr(any_value, kind)
    return value


class _Reader:
    """Looks entries up and keeps which were used."""

    def __init__(self, dictionary: Any) -> None:
        self._tables = {name: list(getattr(dictionary, name)) for name in TABLES}
        self._used: dict[str, set[int]] = {name: {0} for name in TABLES}
        for name, entries in self._tables.items():
            require(bool(entries), f"{name} has no entry 0")
            contents = [entry if isinstance(entry, str) else entry.SerializeToString() for entry in entries]
            require(len(set(contents)) == len(contents), f"{name} has an entry twice")
            require(name == "link_table" or not contents[0], f"entry 0 of {name} is none")
        self._attribute: dict[int, tuple[str, Value]] = {}
        self._stack: dict[int, tuple[Frame, ...]] = {}

    def _at(self, table: str, index: int) -> Any:
        require(0 <= index < len(self._tables[table]), f"{table} has no entry {index}")
        self._used[table].add(index)
        return self._tables[table][index]

    def key_values(self, attributes: Iterable[Any]) -> dict[str, Value]:
        """The attributes of a resource, given as they are or by reference, never both."""
        listed = []
        for one in attributes:
            require(bool(one.key) != bool(one.key_strindex), "a key stands twice, or not at all")
            refers = one.value.WhichOneof("value") == "string_value_strindex"
            value = self._text(one.value.string_value_strindex) if refers else _value(one.value)
            listed.append((one.key or self._text(one.key_strindex), value))
        require(len(dict(listed)) == len(listed), "a key stands twice in a resource")
        return dict(listed)

    def check_uses(self) -> None:
        for name, entries in self._tables.items():
            unused = set(range(len(entries))) - self._used[name]
            require(not unused, f"nothing uses entries {sorted(unused)[:5]} of {name}")

    def _text(self, index: int) -> str:
        found: str = self._at("string_table", index)
        return found

    def _attributes(self, indices: Iterable[int]) -> dict[str, Value]:
        listed = [self._attribute_at(index) for index in indices]
        require(len(dict(listed)) == len(listed), "a key stands twice")
        return dict(listed)

    def _attribute_at(self, index: int) -> tuple[str, Value]:
        if index not in self._attribute:
            entry = self._at("attribute_table", index)
            self._attribute[index] = self._text(entry.key_strindex), _value(entry.value)
            require(bool(self._attribute[index][0]), "an attribute without a key")
        return self._attribute[index]

    def _type(self, kind: Any) -> tuple[str, str]:
        return self._text(kind.type_strindex), self._text(kind.unit_strindex)

    def profile(self, profile: Any, resource: Mapping[str, Value]) -> Profile:
        samples = tuple(self._sample(sample) for sample in profile.samples)
        identities = {(sample.stack_index, tuple(sorted(sample.attribute_indices))) for sample in profile.samples}
        require(len(identities) == len(samples), "two samples have the same stack and attributes")
        require(len({bool(sample.times) for sample in samples}) < 2, "some samples have timestamps, some not")
        end = profile.time_unix_nano + profile.duration_nano
        times = [time for sample in samples for time in sample.times]
        require(all(profile.time_unix_nano <= time < end for time in times), "a timestamp lies outside the profile")
        return Profile(
            resource, self._type(profile.sample_type), self._type(profile.period_type), profile.period,
            profile.time_unix_nano, profile.duration_nano, self._attributes(profile.attribute_indices), samples,
        )  # fmt: skip

    def _sample(self, sample: Any) -> Sample:
        values, times = tuple(sample.values), tuple(sample.timestamps_unix_nano)
        require(len(values) == len(times) if times else len(values) == 1, "values without their timestamps")
        number = sample.stack_index
        if number not in self._stack:
            locations = self._at("stack_table", number).location_indices
            self._stack[number] = tuple(frame for index in reversed(locations) for frame in self._frames(index))
        return Sample(self._stack[number], tuple(self._attributes(sample.attribute_indices).items()), values, times)

    def _frames(self, index: int) -> list[Frame]:
        require(index > 0, "a stack has location 0")
        location = self._at("location_table", index)
        mapping = self._at("mapping_table", location.mapping_index)
        if location.mapping_index:
            inside = mapping.memory_start <= location.address < mapping.memory_limit
            require(inside or not (mapping.memory_limit or location.address), "an address outside its mapping")
        of_file = self._attributes(mapping.attribute_indices)
        kind = str(self._attributes(location.attribute_indices).get("profile.frame.type", ""))
        place = (location.address, self._text(mapping.filename_strindex))
        build_id = str(of_file.get("process.executable.build_id.gnu", ""))
        lines = [(self._at("function_table", line.function_index), line.line) for line in reversed(location.lines)]
        return [
            Frame(
                self._text(function.name_strindex), self._text(function.system_name_strindex),
                self._text(function.filename_strindex), function.start_line, line, *place, build_id, kind,
            )
            for function, line in lines
        ]  # fmt: skip
