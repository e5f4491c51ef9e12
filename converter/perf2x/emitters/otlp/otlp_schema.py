"""Field numbers of the OpenTelemetry profiles messages that perf2x writes, version v1development.

Schema: proto/profiles_v1development.proto, from open-telemetry/opentelemetry-proto 1.11. It is alpha: numbers may
change with its version.
"""

from collections.abc import Iterable

VERSION = "v1development"

Chunks = Iterable[bytes]
"""Encoded bytes, read once and in order."""


class ProfilesData:
    """A file: profiles by resource, and the tables that they share."""

    RESOURCE_PROFILES = 1
    DICTIONARY = 2


class ProfilesDictionary:
    """Shared tables; row 0 of each is empty and means "not set"."""

    MAPPING_TABLE = 1
    LOCATION_TABLE = 2
    FUNCTION_TABLE = 3
    LINK_TABLE = 4
    STRING_TABLE = 5
    ATTRIBUTE_TABLE = 6
    STACK_TABLE = 7


class ResourceProfiles:
    """Profiles of one resource, such as a host or a service."""

    RESOURCE = 1
    SCOPE_PROFILES = 2


class ScopeProfiles:
    """Profiles made by one program."""

    SCOPE = 1
    PROFILES = 2


class Profile:
    """All samples of one event of one resource."""

    SAMPLE_TYPE = 1
    SAMPLES = 2
    TIME_UNIX_NANO = 3
    DURATION_NANO = 4
    PERIOD_TYPE = 5
    PERIOD = 6
    ORIGINAL_PAYLOAD_FORMAT = 9
    ORIGINAL_PAYLOAD = 10
    ATTRIBUTE_INDICES = 11


class ValueType:
    """Name and unit of a value."""

    TYPE_STRINDEX = 1
    UNIT_STRINDEX = 2


class Sample:
    """The values of one stack with one set of attributes."""

    STACK_INDEX = 1
    ATTRIBUTE_INDICES = 2
    VALUES = 4
    TIMESTAMPS_UNIX_NANO = 5


class Mapping:
    """A mapped file."""

    MEMORY_START = 1
    MEMORY_LIMIT = 2
    FILE_OFFSET = 3
    FILENAME_STRINDEX = 4
    ATTRIBUTE_INDICES = 5


class Stack:
    """Locations, innermost first."""

    LOCATION_INDICES = 1


class Location:
    """An address and the functions there, innermost inlined one first."""

    MAPPING_INDEX = 1
    ADDRESS = 2
    LINES = 3
    ATTRIBUTE_INDICES = 4


class Line:
    """A function and a line of its source."""

    FUNCTION_INDEX = 1
    LINE = 2


class Function:
    """A function by its names and source file."""

    NAME_STRINDEX = 1
    SYSTEM_NAME_STRINDEX = 2
    FILENAME_STRINDEX = 3
    START_LINE = 4


class KeyValueAndUnit:
    """A row of the attribute table."""

    KEY_STRINDEX = 1
    VALUE = 2


class Resource:
    """The entity that was recorded, such as a host or a service."""

    ATTRIBUTES = 1


class InstrumentationScope:
    """The program that made the profiles."""

    NAME = 1


class KeyValue:
    """An attribute of a resource."""

    KEY = 1
    VALUE = 2
    KEY_STRINDEX = 3


class AnyValue:
    """The value of an attribute: one of these fields."""

    STRING_VALUE = 1
    BOOL_VALUE = 2
    INT_VALUE = 3
    ARRAY_VALUE = 5
    STRING_VALUE_STRINDEX = 8


class ArrayValue:
    """Several values."""

    VALUES = 1
