"""Makes a command's parameters from settings and groups of settings, and makes groups from the typed values.

::

    def top(inputs: Inputs = (), *, rows: RowFlags, request: Annotated[LoadOptions, Hidden("names")]) -> None:
        options = request.but(**rows.part())

typer only splits the command line. Values are parsed here, as their settings declare: typer would make a pydantic model
of each parameter, given or not, which takes longer than a small conversion, and its messages change between versions.
"""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Annotated, Any, Literal, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from perf2x.cli.help import CONTEXT, HelpAll, HelpfulCommand
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.errors import OptionError
from perf2x.kernel.feature import feature_settings
from perf2x.model.plugin_options import FINISHED, Format
from perf2x.model.setting import Argument, Setting, hints_of, setting_of, settings_in, struct_in

Group = TypeVar("Group", bound=Struct)


class Some:
    """Selects options of a group: by name of the field, or all fields of a struct."""

    def __init__(self, *fields: str | type[Struct]) -> None:
        self.fields = {name for one in fields for name in ((one,) if isinstance(one, str) else one.__struct_fields__)}


class Without(Some):
    """The command lacks these options; their fields have the defaults."""


class Only(Some):
    """The command lacks all other options."""


class Honouring(Some):
    """The command supports options of these groups, instead of those for a finished profile."""


class Hidden(Some):
    """Only ``--help-all`` of the command shows these options."""


def parameter_of(setting: Setting) -> inspect.Parameter:
    """Make the parameter for typer."""
    kind: Any = bool if setting.kind is bool else list[str] if setting.is_many else str
    is_choice = setting.values and not setting.is_many
    default = setting.default if setting.typed_default is ... else setting.typed_default
    shared: dict[str, Any] = {
        "metavar": setting.metavar or (None if is_choice else setting.name.upper()),
        "help": setting.help.replace("[", r"\["),  # escaped for completions of zsh and fish, which show it
        "show_default": setting.shown_default,
        "autocompletion": setting.complete,
        "min": setting.least,
        "max": setting.most,
        "rich_help_panel": setting.panel or None,
    }
    names = setting.names or (f"--{setting.name.replace('_', '-')}",)
    made = typer.Argument(**shared) if isinstance(setting, Argument) else typer.Option(*names, **shared)
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if default in ("", ()) else default,
        annotation=Annotated[Literal[setting.values] if is_choice else kind, made],
    )


def _read(setting: Setting, value: Any) -> Mapping[str, Any]:
    """Return the values of fields from typed text or the default; none if not given. Raises SettingError."""
    if value is None and setting.variable:
        value = os.environ.get(setting.variable, "").split() or None
    return {} if value is None else setting.values_of(value)


def typed(kind: type[Group], given: Mapping[str, Any]) -> Group:
    """Make a group from the values of its options and of those of its structs. Raises SettingError.

    None stands for an option that was not given. A struct whose ``--no-`` switch was given is None; a struct without
    that switch keeps the group's default if none of its options was given.
    """
    values: dict[str, Any] = {}
    settings, hints = settings_in(kind), hints_of(kind)
    for field in kind.__struct_fields__:
        setting, inner = settings.get(field), struct_in(hints[field])
        if field == "features":
            every = (typed(one, given) for one in feature_settings())
            values[field] = tuple(one for one in every if one != type(one)())
        elif inner is not None and any(name in given for name in inner.__struct_fields__):
            made = None if given.get(f"no_{field}") else typed(inner, given)
            values |= {field: made} if setting is not None or made != inner() else {}
        elif inner is None and field in given and setting is not None and setting.help:
            values |= _read(setting, given[field])
    return kind(**values)


def _settings(group: type[Struct]) -> Iterator[Setting]:
    """Yield the settings of a group, and of the structs in it, that are on the command line."""
    own, hints, panel = settings_in(group), hints_of(group), getattr(group, "PANEL", "")
    for field in group.__struct_fields__:
        setting, inner = own.get(field), struct_in(hints[field])
        for one in feature_settings() if field == "features" else (inner,) if inner else ():
            yield from _settings(one)
        if setting is not None and setting.help and (setting.names or not issubclass(group, Format)):
            setting = replace(setting, panel=setting.panel or panel)
            yield replace(setting, name=f"no_{field}", kind=bool, default=False) if inner else setting


def _chosen(parameter: inspect.Parameter) -> Iterator[Setting]:
    """Yield the settings of a parameter: itself, or those of a group selected by its marks."""
    hint, marks = parameter.annotation, getattr(parameter.annotation, "__metadata__", ())
    alone, group = setting_of(hint, parameter.name, parameter.default), struct_in(hint)
    left_out, hidden, only, honoured = (
        {field for mark in marks if isinstance(mark, kind) for field in mark.fields}
        for kind in (Without, Hidden, Only, Honouring)
    )
    for one in [alone] if alone else _settings(group) if group else ():
        is_shown = one.group in {"", *(honoured or FINISHED)}
        if is_shown and one.name not in left_out and (not only or one.name in only):
            yield replace(one, rare=True) if one.name in hidden else one


def _by_name(one: Setting) -> inspect.Parameter:
    """Return an argument as an option, which may be repeated."""
    option = typer.Option(*one.names, hidden=True)
    return inspect.Parameter(
        f"{one.name}_by_name", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[list[str], option]
    )


def _given(one: Setting, given: dict[str, Any]) -> Any:
    """Return the value given for a setting. Raises OptionError for a value given both by position and by name."""
    value, named = given.pop(one.name), given.pop(f"{one.name}_by_name", ())
    if one.is_many or not named:
        return (*(value or ()), *named) if named else value
    _, *more = values = [*(value,) * (value != one.default), *named]
    if more:
        raise OptionError(f"too many recordings: {', '.join(values)}")
    return values[0]


def make_command(name: str, function: Callable[..., None]) -> Any:
    """Make a typer command from a function's parameters; its docstring is the help, with examples after a ``::``."""
    groups: dict[str, tuple[type[Struct] | None, list[Setting]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if chosen := list(_chosen(parameter)):
            groups[parameter.name] = struct_in(parameter.annotation), chosen
        parameters += map(parameter_of, chosen) if chosen else [parameter]
        parameters += [_by_name(one) for one in chosen if isinstance(one, Argument) and one.names]
    parameters.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))

    def run(*, help_all: bool = False, **given: Any) -> None:
        from perf2x.base.files.operating_system import keep_freed_memory  # not for --help

        keep_freed_memory()
        for name, (group, chosen) in groups.items():
            own = {one.name: _given(one, given) for one in chosen}
            given[name] = typed(group, own) if group else _read(chosen[0], own[name]).get(name, chosen[0].default)
        function(**given)

    text, _, examples = (inspect.getdoc(function) or "").partition("\n\n::\n\n")
    help_text = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))  # paragraphs, to be wrapped
    made = parse_only(name, run, parameters, cls=HelpfulCommand, help=help_text, epilog=dedent(examples))
    made.rare = {one.name for _, chosen in groups.values() for one in chosen if one.rare}
    made.params[-1].hidden = not made.rare
    return made


def parse_only(name: str, function: Any, parameters: Sequence[inspect.Parameter], **settings: Any) -> Any:
    """Make a command with these parameters, whose values stay as typed."""
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT)
    alone.command(name, **settings)(function)
    made: Any = typer.main.get_command(alone)
    leave_as_typed(made.params)
    return made
