"""Options of plugins: dataclass fields that carry a sentence of help and the values they accept.

Separate from the registry so that emitters need not import it; plugins get it from ``perf2x.plugins``.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from perf2x.tables.errors import OptionError


def option(default: Any, sentence: str, choices: Iterable[str] = ()) -> Any:
    """A dataclass field with a sentence of help; check_choices refuses what is not in ``choices``."""
    return dataclasses.field(default=default, metadata={"help": sentence, "choices": tuple(choices)})


def check_choices(plugin: Any) -> None:
    """Refuse values outside an option's choices; for ``__post_init__``. OptionError names field, value and choices."""
    for field in dataclasses.fields(plugin):
        choices = field.metadata.get("choices", ())
        value = getattr(plugin, field.name)
        for entry in value if isinstance(value, tuple) else (value,):
            if choices and entry is not None and entry not in choices:
                raise OptionError(f"{field.name}={entry}: choose from {', '.join(choices)}")
