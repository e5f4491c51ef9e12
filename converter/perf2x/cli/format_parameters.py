"""The options of an output format on the command line of a command that writes it.

A format is a struct (model/plugin_options.py). A field whose Setting has names becomes an option of the command when
the format is chosen with ``--to`` or by the suffix of ``-o``. ``--set NAME=VALUE`` sets every other field with a
Setting.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import make_unparsed_command, parameter_of
from perf2x.errors import Perf2xError
from perf2x.model.setting import settings_in

_TYPED_VALUES = "perf2x.format_options"  # key in Context.meta: typed values by field of the format


def parameters_of_format(command: Any, context: Any, arguments: Sequence[str]) -> list[Any]:
    """Return the additional parameters of a command for the output format that its arguments choose.

    There are none if the format does not exist. The typed values of these parameters are not passed to the command; it
    gets them from ``typed_format_options``.
    """
    from perf2x.kernel.registry import load_emitter

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
    parameters = make_unparsed_command(name, lambda: None, signature).params
    for parameter in parameters:
        parameter.expose_value = False
        parameter.callback = lambda _, typed, value: typed_values.update({typed.name: value} if value else {})
    return list(parameters)


def typed_format_options(context: Any) -> dict[str, object]:
    """Return the typed values of the parameters of the output format, by field of the format."""
    values: dict[str, object] = context.meta.get(_TYPED_VALUES, {})
    return values


def options_of_formats() -> dict[str, tuple[str, list[str]]]:
    """Return for each option of a format how it is typed, and the names of the formats that have it.

    Keys are options such as ``--width``. A field without an option of its own is typed as ``--set width=…``.
    """
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS

    options: dict[str, tuple[str, list[str]]] = {}
    for name, entry_point in available(EMITTERS).items():
        for setting in settings_in(entry_point.load()).values():
            for option in setting.names or (f"--{setting.name.replace('_', '-')}",):
                how_to_type = option if setting.names else f"--set {setting.name}=…"
                options.setdefault(option, (how_to_type, []))[1].append(name)
    return options
