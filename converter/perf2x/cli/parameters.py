"""Makes a command from a function, whose parameters declare options by their annotations and receive the values.

::

    def top(inputs: Inputs = (), *, row_flags: RowFlags, load_options: Annotated[LoadOptions, Hidden("names")]) -> None:
        options = load_options.with_values(**row_flags.load_option_fields())

A parameter is one option (its annotation has a ``Setting``), or a struct with an option for each field that has a
Setting. typer only splits the command line: it would parse values with pydantic, which takes longer than a small
conversion, and whose messages change between versions.
"""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Annotated, Any, Literal, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from perf2x.cli.help import CONTEXT_SETTINGS, HelpAll, HelpfulCommand
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.errors import OptionError
from perf2x.kernel.feature import feature_settings
from perf2x.model.plugin_options import FINISHED, Format
from perf2x.model.setting import Argument, Setting, hints_of, setting_of, settings_in, struct_in

OptionStruct = TypeVar("OptionStruct", bound=Struct)


class FieldMark:
    """Base of marks that select options of a struct by the names of their fields."""

    def __init__(self, *selected: str | type[Struct]) -> None:
        self.names = {
            name for item in selected for name in ((item,) if isinstance(item, str) else item.__struct_fields__)
        }


class Without(FieldMark):
    """The command lacks these options; their fields keep the defaults."""


class Only(FieldMark):
    """The command has only these options of the struct."""


class Honouring(FieldMark):
    """The command has the options of these groups (``Setting.group``) instead of those in ``FINISHED``.

    Options without a group stay.
    """


class Hidden(FieldMark):
    """Only ``--help-all`` of the command shows these options."""


def parameter_of(setting: Setting) -> inspect.Parameter:
    """Return the function parameter from which typer makes the option (or argument) of a setting."""
    # typer only needs to know how many values the option takes
    typer_type: Any = bool if setting.kind is bool else list[str] if setting.is_repeatable else str
    is_choice = setting.all_choices and not setting.is_repeatable
    default = setting.default if setting.typed_default is ... else setting.typed_default
    common: dict[str, Any] = {
        "metavar": setting.metavar or (None if is_choice else setting.name.upper()),
        "help": setting.help.replace("[", r"\["),  # escaped for the completions of zsh and fish, which show the help
        "show_default": setting.shown_default,
        "autocompletion": setting.complete,
        "min": setting.least,
        "max": setting.most,
        "rich_help_panel": setting.panel or None,
    }
    names = setting.names or (f"--{setting.name.replace('_', '-')}",)
    declaration = typer.Argument(**common) if isinstance(setting, Argument) else typer.Option(*names, **common)
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if default in ("", ()) else default,
        annotation=Annotated[Literal[setting.all_choices] if is_choice else typer_type, declaration],
    )


def _field_values(setting: Setting, value: Any) -> Mapping[str, Any]:
    """Parse a typed value; return values by field name. Raises SettingError.

    If an option was not typed (None), its environment variable counts.
    """
    if value is None and setting.variable:
        value = os.environ.get(setting.variable, "").split() or None
    return {} if value is None else setting.field_values(value)


def make_struct(struct_type: type[OptionStruct], typed: Mapping[str, Any]) -> OptionStruct:
    """Make a struct of options, and the structs nested in it, from typed values by name. Raises SettingError.

    The value None means that an option was not typed. A nested struct becomes None if its ``--no-`` switch was typed.
    """
    values: dict[str, Any] = {}
    settings, hints = settings_in(struct_type), hints_of(struct_type)
    for field in struct_type.__struct_fields__:
        setting, nested = settings.get(field), struct_in(hints[field])
        if field == "features":
            # a feature is off if its settings are all defaults
            features = (make_struct(settings_type, typed) for settings_type in feature_settings())
            values[field] = tuple(feature for feature in features if feature != type(feature)())
        elif nested is not None and any(name in typed for name in nested.__struct_fields__):
            value = None if typed.get(f"no_{field}") else make_struct(nested, typed)
            values |= {field: value} if setting is not None or value != nested() else {}
        elif nested is None and field in typed and setting is not None and setting.help:
            values |= _field_values(setting, typed[field])
    return struct_type(**values)


def _settings_of_struct(struct_type: type[Struct]) -> Iterator[Setting]:
    settings, hints, panel = settings_in(struct_type), hints_of(struct_type), getattr(struct_type, "PANEL", "")
    for field in struct_type.__struct_fields__:
        setting, nested = settings.get(field), struct_in(hints[field])
        for nested_type in feature_settings() if field == "features" else (nested,) if nested else ():
            yield from _settings_of_struct(nested_type)
        # a setting has no option if it has no help, or if it belongs to a format and has no names
        if setting is not None and setting.help and (setting.names or not issubclass(struct_type, Format)):
            setting = replace(setting, panel=setting.panel or panel)
            # the setting of a nested struct becomes a switch that turns the whole struct off: --no-symbols
            yield replace(setting, name=f"no_{field}", kind=bool, default=False) if nested else setting


def _settings_of_parameter(parameter: inspect.Parameter) -> Iterator[Setting]:
    hint, marks = parameter.annotation, getattr(parameter.annotation, "__metadata__", ())
    single, struct = setting_of(hint, parameter.name, parameter.default), struct_in(hint)
    excluded, hidden, included, groups = (
        {name for mark in marks if isinstance(mark, mark_type) for name in mark.names}
        for mark_type in (Without, Hidden, Only, Honouring)
    )
    for setting in [single] if single else _settings_of_struct(struct) if struct else ():
        is_supported = setting.group in {"", *(groups or FINISHED)}
        if is_supported and setting.name not in excluded and (not included or setting.name in included):
            yield replace(setting, rare=True) if setting.name in hidden else setting


def _option_for_argument(argument: Setting) -> inspect.Parameter:
    option = typer.Option(*argument.names, hidden=True)
    return inspect.Parameter(
        f"{argument.name}_by_name",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[list[str], option],
    )


def _pop_typed(setting: Setting, typed: dict[str, Any]) -> Any:
    """Remove and return the typed value of a setting. Raises OptionError for several values of a single argument."""
    value, named = typed.pop(setting.name), typed.pop(f"{setting.name}_by_name", ())
    if setting.is_repeatable or not named:
        return (*(value or ()), *named) if named else value
    values = [value, *named] if value != setting.default else [*named]
    if len(values) > 1:
        raise OptionError(f"too many recordings: {', '.join(values)}")
    return values[0]


def make_command(name: str, function: Callable[..., None]) -> Any:
    """Make a typer command that calls ``function``, whose docstring is the help, with examples after a ``::``."""
    # by parameter of the function: its struct (None if it is a single option), and its settings
    declared: dict[str, tuple[type[Struct] | None, list[Setting]]] = {}
    parameters: list[inspect.Parameter] = []  # of the command: one for each option
    for parameter in inspect.signature(function).parameters.values():
        if settings := list(_settings_of_parameter(parameter)):
            declared[parameter.name] = struct_in(parameter.annotation), settings
        parameters += map(parameter_of, settings) if settings else [parameter]
        parameters += [
            _option_for_argument(setting) for setting in settings if isinstance(setting, Argument) and setting.names
        ]
    parameters.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))

    def run(*, help_all: bool = False, **arguments: Any) -> None:
        from perf2x.base.files.operating_system import keep_freed_memory  # imported here to speed up --help

        keep_freed_memory()
        for parameter_name, (struct, settings) in declared.items():
            typed = {setting.name: _pop_typed(setting, arguments) for setting in settings}
            arguments[parameter_name] = (
                make_struct(struct, typed)
                if struct
                else _field_values(settings[0], typed[parameter_name]).get(parameter_name, settings[0].default)
            )
        function(**arguments)

    text, _, examples = (inspect.getdoc(function) or "").partition("\n\n::\n\n")
    # each paragraph becomes one line, which typer wraps
    help_text = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    command = make_unparsed_command(name, run, parameters, cls=HelpfulCommand, help=help_text, epilog=dedent(examples))
    command.rare_parameters = {
        setting.name for _, settings in declared.values() for setting in settings if setting.rare
    }
    command.params[-1].hidden = not command.rare_parameters  # hide --help-all if --help shows everything
    return command


def make_unparsed_command(name: str, function: Any, parameters: Sequence[inspect.Parameter], **settings: Any) -> Any:
    """Make a typer command that calls ``function`` with the values as typed."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    application = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT_SETTINGS)
    application.command(name, **settings)(function)
    command: Any = typer.main.get_command(application)  # an application with one command becomes this command
    leave_as_typed(command.params)
    return command
