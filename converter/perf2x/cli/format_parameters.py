"""Adds the options of the chosen output format to the command line of ``perf2x convert``."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import make_unparsed_command, parameter_of
from perf2x.errors import Perf2xError
from perf2x.model.setting import settings_in

_TYPED_VALUES = "perf2x.format_options"  # key in Context.meta


def parameters_of_format(command: Any, context: Any, arguments: Sequence[str]) -> list[Any]:
    """Return the options of the output format that the arguments choose, except options that the command has.

    The list is empty without such a format. `typed_format_options` returns the values of these options.
    """
    from perf2x.kernel.registry import load_emitter

    # a first pass over the arguments, only for --to and -o
    parser = command.make_parser(context)
    parser.ignore_unknown_options = True
    typed_options, _, _ = parser.parse_args(list(arguments))
    try:
        name = OutputFlags(typed_options.get("to"), typed_options.get("output")).format()
        settings = settings_in(load_emitter(name)).values()
    except Perf2xError:  # reported when the command runs
        return []
    option_names = {option for parameter in command.params for option in parameter.opts}
    typed_values: dict[str, object] = context.meta.setdefault(_TYPED_VALUES, {})
    signature = [
        parameter_of(replace(setting, panel=f"Options of {name}"))
        for setting in settings
        if setting.names and option_names.isdisjoint(setting.names)
    ]
    # typer makes parameters only for a command
    parameters = make_unparsed_command(name, lambda: None, signature).params
    for parameter in parameters:
        parameter.expose_value = False
        parameter.callback = lambda _, option, value: typed_values.update({option.name: value} if value else {})
    return list(parameters)


def typed_format_options(context: Any) -> dict[str, object]:
    """Return what was typed for the options of the output format, by field of the format."""
    values: dict[str, object] = context.meta.get(_TYPED_VALUES, {})
    return values


def options_of_formats() -> dict[str, tuple[str, list[str]]]:
    """Return for each option of any format (``--width``) how it is typed, and the names of the formats that have it."""
    from perf2x.base.installed_packages import entry_points_by_name
    from perf2x.kernel.registry import EMITTERS

    options: dict[str, tuple[str, list[str]]] = {}
    for name, entry_point in entry_points_by_name(EMITTERS).items():
        for setting in settings_in(entry_point.load()).values():
            for option in setting.names or (f"--{setting.name.replace('_', '-')}",):
                how_to_type = option if setting.names else f"--set {setting.name}=…"
                options.setdefault(option, (how_to_type, []))[1].append(name)
    return options
