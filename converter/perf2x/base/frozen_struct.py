"""The base class of immutable structs."""

from typing import dataclass_transform

from msgspec import Struct, field


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen(Struct, frozen=True):
    """Base class of immutable structs; equality and hash are those of the fields."""
