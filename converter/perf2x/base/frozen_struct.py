"""The base of what is never changed once it is made."""

from typing import dataclass_transform

from msgspec import Struct, field


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen(Struct, frozen=True):
    """Values that belong together: fields with types, compared and hashed by all of them."""
