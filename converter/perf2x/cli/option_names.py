"""Replaces the names of settings in errors by options: ``merge_threads`` by ``--merge-threads``."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from perf2x.errors import Perf2xError

# Settings whose option has another name, with the value that turns the setting on, if any.
_OPTION_NAMES = {
    "latency": "value latency",
    "data_objects": "by data-object",
    "symbols": "no_symbols",
    "fail_if_unresolved": "fail_if unresolved",
    "fail_if_missing_user": "fail_if missing-user",
}


@contextmanager
def options_in_errors(option_name: Callable[[str], str]) -> Iterator[None]:
    """Run the body of the ``with`` statement; replace settings in its Perf2xError by options.

    In the arguments of a Perf2xError, texts and names of settings alternate, beginning with a text.
    """
    try:
        yield
    except Perf2xError as error:
        error.args = tuple(option_name(part) if index % 2 else part for index, part in enumerate(error.args))
        match error.args:
            case before, name, after if re.match("--(?!set )", name):
                # "limit=5: …" becomes "--limit 5: …"; a setting that only --set has keeps its "=": "--set width=5: …"
                error.args = before, name, re.sub("^=", " ", after)
        raise


def option_of(parameters: Iterable[Any], setting: str) -> str:
    """Return the option for a setting, such as ``--pid`` for ``filters.pids``; the setting itself if there is none.

    A switch with two forms is named by the negative one, ``--no-inline``.
    """
    if setting.startswith("--"):
        return setting
    name, space, value = (_OPTION_NAMES.get(setting) or setting.rpartition(".")[2]).partition(" ")
    matching = (parameter for parameter in parameters if parameter.name == name)
    return next(((parameter.secondary_opts or parameter.opts)[0] + space + value for parameter in matching), setting)
