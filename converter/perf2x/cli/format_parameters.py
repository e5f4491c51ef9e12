"""Command-line options declared by fields of a format; ``--set NAME=VALUE`` sets all others."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import parameter_of, parse_only
from perf2x.errors import Perf2xError
from perf2x.model.setting import settings_in

_TYPED = "perf2x.format_options"


def parameters_of_format(command: Any, context: Any, words: Sequence[str]) -> list[Any]:
    """Return the additional parameters of a command for the typed format; none if the format does not exist."""
    from perf2x.kernel.registry import load_emitter

    parser = command.make_parser(context)
    parser.ignore_unknown_options = True
    typed_words, _, _ = parser.parse_args(list(words))
    try:
        name = OutputFlags(typed_words.get("to"), typed_words.get("output")).format()
        settings = settings_in(load_emitter(name)).values()
    except Perf2xError:  # the command reports the error
        return []
    names = {name for one in command.params for name in one.opts}
    typed: dict[str, object] = context.meta.setdefault(_TYPED, {})
    parameters = [
        parameter_of(replace(one, panel=f"Options of {name}"))
        for one in settings
        if one.names and names.isdisjoint(one.names)
    ]
    made = parse_only(name, lambda: None, parameters).params
    for one in made:
        one.expose_value = False
        one.callback = lambda _, parameter, value: typed.update({parameter.name: value} if value else {})
    return list(made)


def typed_format_options(context: Any) -> dict[str, object]:
    """Return the typed values of the format's own parameters."""
    typed: dict[str, object] = context.meta.get(_TYPED, {})
    return typed


def options_of_formats() -> dict[str, tuple[str, list[str]]]:
    """Return the options of format fields, with the formats that have each, by name."""
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS

    found: dict[str, tuple[str, list[str]]] = {}
    for name, point in available(EMITTERS).items():
        for one in settings_in(point.load()).values():
            for flag in one.names or (f"--{one.name.replace('_', '-')}",):
                words = flag if one.names else f"--set {one.name}=…"
                found.setdefault(flag, (words, []))[1].append(name)
    return found
