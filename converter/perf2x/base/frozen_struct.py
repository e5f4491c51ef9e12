"""The base class of immutable structs."""

from typing import dataclass_transform

from msgspec import Struct, field


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen(Struct, frozen=True):
    """Base class of immutable structs; two objects are equal, and have equal hashes, if their fields are equal."""
