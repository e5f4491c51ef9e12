"""Names settings in errors by the option that the user typed, because lower layers know fields, not options."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from perf2x.errors import Perf2xError

_PARAMETER = {
    "latency": "value latency",
    "data_objects": "by data-object",
    "symbols": "no_symbols",
    "fail_if_unresolved": "fail_if unresolved",
    "fail_if_missing_user": "fail_if missing-user",
}
"""Options whose names differ from their setting's, some with the value that stands for it."""


@contextmanager
def as_typed(option: Callable[[str], str]) -> Iterator[None]:
    """Name the settings of an error by their options."""
    try:
        yield
    except Perf2xError as error:
        error.args = tuple(option(part) if at % 2 else part for at, part in enumerate(error.args))
        match error.args:
            case first, name, words if re.match("--(?!set )", name):
                error.args = first, name, re.sub("^=", " ", words)
        raise


def option_of(parameters: Iterable[Any], setting: str) -> str:
    """Return the option of a setting of LoadOptions.

    ``parameters`` are those of the command; an option stays unchanged. A switch that is on by default is named by its
    negative form.
    """
    if setting.startswith("--"):
        return setting
    name, space, value = (_PARAMETER.get(setting) or setting.rpartition(".")[2]).partition(" ")
    named = (parameter for parameter in parameters if parameter.name == name)
    return next(((one.secondary_opts or one.opts)[0] + space + value for one in named), setting)
