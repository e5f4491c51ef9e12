"""Commands whose parameters are groups of options: structs whose fields are options, and LoadOptions.

::

    @with_groups
    def top(inputs: Inputs = None, *, rows: RowFlags, asked: Annotated[LoadOptions, Hidden("names")]) -> None:
        options = asked.but(**rows.part())
"""

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from msgspec import Struct
from typer import Option
from typer.models import OptionInfo

from perf2x.cli.help import HelpAll
from perf2x.cli.options import Rare
from perf2x.model.plugin_options import FINISHED
from perf2x.model.setting import Setting, hints_of, setting_of, split_numbers, struct_in
from perf2x.pipeline.feature import feature_settings

Group = TypeVar("Group", bound=Struct)


class Some:
    """Mark of a group that says something of some of its options: by field, or all those of a struct."""

    def __init__(self, *fields: str | type[Struct]) -> None:
        self.fields = {name for one in fields for name in ((one,) if isinstance(one, str) else one.__struct_fields__)}


class Without(Some):
    """The command lacks these options; they have their defaults."""


class Only(Some):
    """The command lacks all other options."""


class Honouring(Some):
    """The command has options of these groups, not those of all that show a finished profile."""


class Hidden(Some):
    """Only ``--help-all`` of the command shows these options."""


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command that has the fields of its groups as parameters, and ``--help-all`` behind them."""
    groups: dict[str, tuple[type[Struct], list[str]]] = {}
    spread: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        group = getattr(parameter.annotation, "__origin__", parameter.annotation)
        if isinstance(group, type) and issubclass(group, Struct):
            options = list(_options(group, getattr(parameter.annotation, "__metadata__", ())))
            groups[name] = group, [option.name for option in options]
            spread += options
        else:
            spread.append(parameter)
    spread.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))

    @functools.wraps(function)
    def run(*, help_all: bool = False, **given: Any) -> None:
        from perf2x.base.files.operating_system import keep_freed_memory  # not for --help

        keep_freed_memory()
        made = {
            name: typed(group, {field: given.pop(field) for field in fields})
            for name, (group, fields) in groups.items()
        }
        function(**given, **made)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return run


def typed(kind: type[Group], given: Mapping[str, Any]) -> Group:
    """Make a group of the values of its options and of those of the structs in it; SettingError.

    An option that is None was not given. A struct whose own switch was given is None.
    """
    values: dict[str, Any] = {}
    for field, hint in hints_of(kind).items():
        setting, inner = setting_of(hint), struct_in(hint)
        if field == "features":
            every = (typed(one, given) for one in feature_settings())
            values[field] = tuple(one for one in every if one != type(one)())
        elif inner is not None and any(name in given for name in inner.__struct_fields__):
            values[field] = None if given.get(f"no_{field}") else typed(inner, given)
        elif inner is None and field in given and _option_in(hint):
            values[field] = given[field]
        elif inner is None and field in given and setting is not None and setting.help:
            values |= _read(field, setting, hint.__origin__, given[field])
    return kind(**values)


def _read(field: str, setting: Setting, kind: Any, value: Any) -> Mapping[str, Any]:
    """Fields of a group, of what was typed for one; nothing for an option that was not given."""
    if value is None and setting.variable:
        value = os.environ.get(setting.variable, "").split() or None
        return {} if value is None else {field: tuple(value)}
    if value is None:
        return {}
    if setting.read is not None:
        value = setting.read(field, value)
        return value if isinstance(value, Mapping) else {field: value}
    if get_origin(kind) is tuple:
        value = split_numbers(field, value) if get_args(kind)[0] is int else tuple(value)
    return {field: kind(value) if _is_enum(kind) else value}


def _option_in(hint: Any) -> OptionInfo | None:
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, OptionInfo)), None)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _parameter(setting: Setting, kind: Any, default: Any) -> tuple[Any, Any]:
    """The type and the default of a setting's parameter; what is made of texts is not typed, and has none."""
    choices = tuple(kind) if _is_enum(kind) else get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        named: Any = Literal[tuple(str(one) for one in choices if one)]
        return (named, str(default)) if default else (named | None, None)
    if kind is bool or kind is int:
        return kind, default
    if setting.read is None and int in get_args(kind) and get_origin(kind) is not tuple:
        return int | None, None
    return (list[str] if get_origin(kind) is tuple else str) | None, None


def _declared(group: type[Struct]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the options of a group, and of the structs in it: name, annotation and default."""
    hints = hints_of(group)
    for field, default in zip(group.__struct_fields__, group.__struct_defaults__, strict=True):
        hint, setting, inner = hints[field], setting_of(hints[field]), struct_in(hints[field])
        for one in feature_settings() if field == "features" else (inner,) if inner else ():
            yield from _declared(one)
        if _option_in(hint):
            yield field, hint, default
        elif setting is not None and setting.help:
            kind = bool if inner else hint.__origin__
            shown = False if inner else default if setting.default is ... else setting.default
            named = f"no_{field}" if inner else field
            kind, shown = _parameter(setting, kind, shown)
            option = Option(
                *(setting.names or (f"--{named.replace('_', '-')}",)),
                metavar=setting.metavar,
                min=setting.least,
                help=setting.help,
                show_default=setting.shown_default,
                rich_help_panel=setting.panel or getattr(group, "PANEL", None),
            )
            marks = (option, setting, Rare) if setting.rare else (option, setting)
            yield named, Annotated[kind, *marks], shown


def _options(group: type[Struct], marks: tuple[object, ...]) -> Iterator[inspect.Parameter]:
    """Yield the fields of a group as parameters; options get the name of their field and the panel of their group."""
    left_out, hidden, only = (_marked(marks, kind) for kind in (Without, Hidden, Only))
    honoured = {""} | (_marked(marks, Honouring) or FINISHED)
    for field, hint, default in _declared(group):
        setting = setting_of(hint)
        shows = setting is None or setting.group in honoured
        if shows and field not in left_out and (not only or field in only):
            option = _option_in(hint)
            assert option is not None
            if option.default is ...:  # where typer keeps the first name
                option.default = f"--{field.replace('_', '-')}"
            option.rich_help_panel = option.rich_help_panel or getattr(group, "PANEL", None)
            shown = Annotated[hint, Rare] if Rare in marks or field in hidden else hint
            yield inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=shown)


def _marked(marks: tuple[object, ...], kind: type[Some]) -> set[str]:
    return {field for mark in marks if isinstance(mark, kind) for field in mark.fields}
