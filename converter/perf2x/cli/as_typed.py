"""Settings in errors by the option that the user typed: what is below the command line knows fields, not options."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from perf2x.base.errors import SettingError

_PARAMETER = {"latency": "value", "listings.as_recorded": "source", "symbols": "no_symbols"}
"""Parameters that are not called as the setting is."""


@contextmanager
def as_typed(option: Callable[[str], str]) -> Iterator[None]:
    """Name the setting of a SettingError by its option."""
    try:
        yield
    except SettingError as error:
        before, setting, after = error.args
        raise SettingError(before, option(setting), after) from None


def option_of(parameters: Iterable[Any], setting: str) -> str:
    """Return the option of a setting of LoadOptions; of ``pairs=VALUE`` the one for this value.

    ``parameters`` are those of the command; what is an option already stays. Of a switch that is on by default
    it is the name that switches it off.
    """
    if setting.startswith("--"):
        return setting
    name, _, value = setting.partition("=")
    if name == "pairs" and ":" not in value:
        return f"--{value}"
    wanted = _PARAMETER.get(name) or name.rpartition(".")[2]
    named = (parameter for parameter in parameters if parameter.name == wanted)
    return next(((one.secondary_opts or one.opts)[0] for one in named), setting)
