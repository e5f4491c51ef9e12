"""Fields of the messages that are written here: OpenTelemetry profiles, version v1development.

Schema: proto/profiles_v1development.proto, after open-telemetry/opentelemetry-proto 1.11; tests compare every field
with the classes of the ``opentelemetry-proto`` package. Classes are named after messages, members after fields. The
schema is alpha: numbers may change with its version.
"""

from collections.abc import Iterable

from msgspec import Struct

VERSION = "v1development"

Pieces = Iterable[bytes]
"""Read once, in order: a table of all addresses of a file may be made while it is written."""


class Field(Struct, frozen=True):
    """One field of a message."""

    number: int
    name: str
    """As in the schema: ``time_unix_nano``."""
    kind: str
    """Type in the schema: ``int32``, ``fixed64``, ``string`` …, or ``message``."""
    repeated: bool = False

    @property
    def json_name(self) -> str:
        """Name in JSON: ``timeUnixNano``."""
        first, *others = self.name.split("_")
        return first + "".join(word.capitalize() for word in others)


class ProfilesData:
    """A file: profiles by resource, and the tables that all of them share."""

    RESOURCE_PROFILES = Field(1, "resource_profiles", "message", repeated=True)
    DICTIONARY = Field(2, "dictionary", "message")


class ProfilesDictionary:
    """Tables; entry 0 of each is empty and means "not set"."""

    MAPPING_TABLE = Field(1, "mapping_table", "message", repeated=True)
    LOCATION_TABLE = Field(2, "location_table", "message", repeated=True)
    FUNCTION_TABLE = Field(3, "function_table", "message", repeated=True)
    LINK_TABLE = Field(4, "link_table", "message", repeated=True)
    STRING_TABLE = Field(5, "string_table", "string", repeated=True)
    ATTRIBUTE_TABLE = Field(6, "attribute_table", "message", repeated=True)
    STACK_TABLE = Field(7, "stack_table", "message", repeated=True)


class ResourceProfiles:
    """Profiles of one host, service …"""

    RESOURCE = Field(1, "resource", "message")
    SCOPE_PROFILES = Field(2, "scope_profiles", "message", repeated=True)


class ScopeProfiles:
    """Profiles made by one program."""

    SCOPE = Field(1, "scope", "message")
    PROFILES = Field(2, "profiles", "message", repeated=True)


class Profile:
    """All samples of one event."""

    SAMPLE_TYPE = Field(1, "sample_type", "message")
    SAMPLES = Field(2, "samples", "message", repeated=True)
    TIME_UNIX_NANO = Field(3, "time_unix_nano", "fixed64")
    DURATION_NANO = Field(4, "duration_nano", "uint64")
    PERIOD_TYPE = Field(5, "period_type", "message")
    PERIOD = Field(6, "period", "int64")
    ORIGINAL_PAYLOAD_FORMAT = Field(9, "original_payload_format", "string")
    ORIGINAL_PAYLOAD = Field(10, "original_payload", "bytes")
    ATTRIBUTE_INDICES = Field(11, "attribute_indices", "int32", repeated=True)


class ValueType:
    """Name and unit of a number."""

    TYPE_STRINDEX = Field(1, "type_strindex", "int32")
    UNIT_STRINDEX = Field(2, "unit_strindex", "int32")


class Sample:
    """What one stack took with one set of attributes."""

    STACK_INDEX = Field(1, "stack_index", "int32")
    ATTRIBUTE_INDICES = Field(2, "attribute_indices", "int32", repeated=True)
    VALUES = Field(4, "values", "int64", repeated=True)
    TIMESTAMPS_UNIX_NANO = Field(5, "timestamps_unix_nano", "fixed64", repeated=True)


class Link:
    """A span of a trace; only entry 0 is written, for its size is fixed."""

    TRACE_ID = Field(1, "trace_id", "bytes")
    SPAN_ID = Field(2, "span_id", "bytes")


class Mapping:
    """A mapped file."""

    MEMORY_START = Field(1, "memory_start", "uint64")
    MEMORY_LIMIT = Field(2, "memory_limit", "uint64")
    FILE_OFFSET = Field(3, "file_offset", "uint64")
    FILENAME_STRINDEX = Field(4, "filename_strindex", "int32")
    ATTRIBUTE_INDICES = Field(5, "attribute_indices", "int32", repeated=True)


class Stack:
    """Locations, innermost first."""

    LOCATION_INDICES = Field(1, "location_indices", "int32", repeated=True)


class Location:
    """An address and the functions there, innermost inlined one first."""

    MAPPING_INDEX = Field(1, "mapping_index", "int32")
    ADDRESS = Field(2, "address", "uint64")
    LINES = Field(3, "lines", "message", repeated=True)
    ATTRIBUTE_INDICES = Field(4, "attribute_indices", "int32", repeated=True)


class Line:
    """A function and a line of its source."""

    FUNCTION_INDEX = Field(1, "function_index", "int32")
    LINE = Field(2, "line", "int64")


class Function:
    """A function by its names and source file."""

    NAME_STRINDEX = Field(1, "name_strindex", "int32")
    SYSTEM_NAME_STRINDEX = Field(2, "system_name_strindex", "int32")
    FILENAME_STRINDEX = Field(3, "filename_strindex", "int32")
    START_LINE = Field(4, "start_line", "int64")


class KeyValueAndUnit:
    """An entry of the attribute table."""

    KEY_STRINDEX = Field(1, "key_strindex", "int32")
    VALUE = Field(2, "value", "message")


class Resource:
    """The host, service … that was recorded."""

    ATTRIBUTES = Field(1, "attributes", "message", repeated=True)


class InstrumentationScope:
    """The program that made the profiles."""

    NAME = Field(1, "name", "string")


class KeyValue:
    """An attribute of a resource."""

    KEY = Field(1, "key", "string")
    VALUE = Field(2, "value", "message")
    KEY_STRINDEX = Field(3, "key_strindex", "int32")


class AnyValue:
    """The value of an attribute, one of these."""

    STRING_VALUE = Field(1, "string_value", "string")
    BOOL_VALUE = Field(2, "bool_value", "bool")
    INT_VALUE = Field(3, "int_value", "int64")
    ARRAY_VALUE = Field(5, "array_value", "message")
    STRING_VALUE_STRINDEX = Field(8, "string_value_strindex", "int32")


class ArrayValue:
    """Several values."""

    VALUES = Field(1, "values", "message", repeated=True)
