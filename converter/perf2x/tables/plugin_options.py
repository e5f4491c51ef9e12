"""Options of plugins: dataclass fields with a sentence of help and a list of accepted values.

Separate from the registry, so that emitters need not import that; plugins import it from ``perf2x.plugins``.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from perf2x.tables.errors import OptionError


def option(default: Any, sentence: str, choices: Iterable[str] = ()) -> Any:
    """Declare a dataclass field with a sentence of help; check_choices refuses values outside ``choices``."""
    return dataclasses.field(default=default, metadata={"help": sentence, "choices": tuple(choices)})


def check_choices(plugin: Any) -> None:
    """Refuse values outside an option's choices; for ``__post_init__``. OptionError names field, value and choices."""
    for field in dataclasses.fields(plugin):
        choices = field.metadata.get("choices", ())
        value = getattr(plugin, field.name)
        for entry in value if isinstance(value, tuple) else (value,):
            if choices and entry is not None and entry not in choices:
                raise OptionError(f"{field.name}={entry}: choose from {', '.join(choices)}")
