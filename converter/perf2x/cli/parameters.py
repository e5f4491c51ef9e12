"""Parameters of a command, made of settings and groups of them; and what was typed, read into those again.

::

    def top(inputs: Inputs = (), *, rows: RowFlags, asked: Annotated[LoadOptions, Hidden("names")]) -> None:
        options = asked.but(**rows.part())

typer parses the words. Values are read here, as their settings say: typer would make a pydantic model of each parameter
that it looks at, given or not, which takes longer than a small conversion, and its sentences change with its version.
"""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from textwrap import dedent
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.frozen import Frozen
from perf2x.cli.help import CONTEXT, HelpAll, HelpfulCommand
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.errors import SettingError
from perf2x.kernel.feature import feature_settings
from perf2x.model.plugin_options import FINISHED
from perf2x.model.setting import Argument, Setting, hints_of, setting_of, split_numbers, struct_in

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


class _Declared(Frozen):
    """A setting as a parameter."""

    name: str
    setting: Setting
    kind: Any
    default: Any
    panel: str
    rare: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """Values to choose from; empty: any."""
        values = tuple(self.kind) if _is_enum(self.kind) else get_args(self.kind)
        return tuple(str(one) for one in values if one and isinstance(one, str))

    @property
    def is_many(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.kind) is tuple

    def parameter(self) -> inspect.Parameter:
        """Make the parameter that typer sees."""
        setting = self.setting
        kind: Any = bool if self.kind is bool else list[str] if self.is_many else str
        default = self.default if setting.default is ... else setting.default
        shared: dict[str, Any] = {
            "metavar": setting.metavar or (None if self.choices else self.name.upper()),
            "help": setting.help,
            "show_default": setting.shown_default,
            "autocompletion": setting.complete,
            "min": setting.least,
            "max": setting.most,
            "rich_help_panel": setting.panel or self.panel or None,
        }
        names = setting.names or (f"--{self.name.replace('_', '-')}",)
        made = typer.Argument(**shared) if isinstance(setting, Argument) else typer.Option(*names, **shared)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if default in ("", ()) else default,
            annotation=Annotated[Literal[self.choices] if self.choices else kind, made],
        )

    def read(self, value: Any) -> Mapping[str, Any]:
        """Values of fields, of what was typed or is the default; none where it was not given. SettingError."""
        setting = self.setting
        if value is None and setting.variable:
            value = os.environ.get(setting.variable, "").split() or None
        if value is None:
            return {}
        if setting.read is not None:
            value = setting.read(self.name, value)
            return value if isinstance(value, Mapping) else {self.name: value}
        if self.is_many:
            value = split_numbers(self.name, value) if int in get_args(self.kind) else tuple(value)
        elif self.choices and value not in self.choices:
            words = f" {value}: choose from {', '.join(self.choices)}{did_you_mean(value, self.choices)}"
            raise SettingError("", self.name, words)
        elif self.kind is int:
            value = self._number(value)
        return {self.name: self.kind(value) if _is_enum(self.kind) else value}

    def _number(self, text: str) -> int:
        least, most = self.setting.least, self.setting.most
        try:
            number = int(text)
        except ValueError:
            words = "expected a whole number"
        else:
            if least is not None and number < least:
                words = f"it must be at least {least}"
            elif most is not None and number > most:
                words = f"it must be at most {most}"
            else:
                return number
        raise SettingError("", self.name, f" {text}: {words}")


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def typed(kind: type[Group], given: Mapping[str, Any]) -> Group:
    """Make a group of the values of its options and of those of the structs in it; SettingError.

    An option that is None was not given. A struct whose own switch was given is None; where there is no switch, and
    nothing was said of it, it is as in the group.
    """
    values: dict[str, Any] = {}
    for field, hint in hints_of(kind).items():
        setting, inner = setting_of(hint), struct_in(hint)
        if field == "features":
            every = (typed(one, given) for one in feature_settings())
            values[field] = tuple(one for one in every if one != type(one)())
        elif inner is not None and any(name in given for name in inner.__struct_fields__):
            made = None if given.get(f"no_{field}") else typed(inner, given)
            values |= {field: made} if setting is not None or made != inner() else {}
        elif inner is None and field in given and setting is not None and setting.help:
            values |= _declare(field, hint).read(given[field])
    return kind(**values)


def _declare(field: str, hint: Any, default: Any = None, panel: str = "") -> _Declared:
    setting, kind = setting_of(hint), getattr(hint, "__origin__", hint)
    assert setting is not None
    bare = [one for one in get_args(kind) if one is not NoneType]
    is_optional = NoneType in get_args(kind) and len(bare) == 1
    return _Declared(field, setting, bare[0] if is_optional else kind, default, panel, setting.rare)


def _declared(group: type[Struct]) -> Iterator[_Declared]:
    """Yield the settings of a group, and of the structs in it."""
    hints, panel = hints_of(group), getattr(group, "PANEL", "")
    for field, default in zip(group.__struct_fields__, group.__struct_defaults__, strict=True):
        setting, inner = setting_of(hints[field]), struct_in(hints[field])
        for one in feature_settings() if field == "features" else (inner,) if inner else ():
            yield from _declared(one)
        if setting is not None and setting.help:
            own = _declare(field, hints[field], default, panel)
            yield replace(own, name=f"no_{field}", kind=bool, default=False) if inner else own


def _chosen(hint: Any, group: type[Struct]) -> Iterator[_Declared]:
    """Yield the settings of a group that a command has, as the marks of its annotation say."""
    marks = getattr(hint, "__metadata__", ())
    left_out, hidden, only, honoured = (
        {field for mark in marks if isinstance(mark, kind) for field in mark.fields}
        for kind in (Without, Hidden, Only, Honouring)
    )
    for one in _declared(group):
        is_shown = one.setting.group in {"", *(honoured or FINISHED)}
        if is_shown and one.name not in left_out and (not only or one.name in only):
            yield replace(one, rare=True) if one.name in hidden else one


def make_command(name: str, function: Callable[..., None]) -> Any:
    """Make a command of typer of what a function wants; its docstring is the help, with examples behind a ``::``."""
    asked: dict[str, tuple[type[Struct] | None, list[_Declared]]] = {}
    wanted: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint, group = parameter.annotation, struct_in(parameter.annotation)
        if group is None and setting_of(hint) is None:
            wanted.append(parameter)
            continue
        chosen = list(_chosen(hint, group)) if group else [_declare(parameter.name, hint, parameter.default)]
        asked[parameter.name] = group, chosen
        wanted += [one.parameter() for one in chosen]
    wanted.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))

    def run(*, help_all: bool = False, **given: Any) -> None:
        from perf2x.base.files.operating_system import keep_freed_memory  # not for --help

        keep_freed_memory()
        for name, (group, chosen) in asked.items():
            own = {one.name: given.pop(one.name) for one in chosen}
            given[name] = typed(group, own) if group else chosen[0].read(own[name]).get(name, chosen[0].default)
        function(**given)

    text, _, examples = (inspect.getdoc(function) or "").partition("\n\n::\n\n")
    help_text = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))  # paragraphs, which are wrapped
    made = parse_only(name, run, wanted, cls=HelpfulCommand, help=help_text, epilog=dedent(examples))
    made.rare = {one.name for _, chosen in asked.values() for one in chosen if one.rare}
    made.params[-1].hidden = not made.rare
    return made


def spread(group: type[Struct]) -> list[inspect.Parameter]:
    """All options of a group as parameters."""
    return [one.parameter() for one in _declared(group)]


def parse_only(name: str, function: Any, wanted: Sequence[inspect.Parameter], **settings: Any) -> Any:
    """Make a command with these parameters, which are left as they were typed."""
    function.__signature__ = inspect.Signature(wanted)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in wanted}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT)
    alone.command(name, **settings)(function)
    made: Any = typer.main.get_command(alone)
    leave_as_typed(made.params)
    return made
