"""What a command says about its parameters, beside their types: ``Annotated[int, Option("--limit", metavar="N", …)]``.

The types are ``str``, ``int``, ``bool`` (a switch), ``list[str]`` (may be given several times), or one of them or None.
"""

from collections.abc import Iterable
from inspect import Parameter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click

from perf2x.cli.completing import offered

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ENVIRONMENT = "PERF2X_"
"""``--fail-if-lost 5`` may also be said as ``PERF2X_FAIL_IF_LOST=5``, whatever the command."""


class Argument:
    """What stands on the command line without a name."""

    def __init__(self, *, metavar: str, help: str, shown_default: str = "") -> None:  # noqa: A002 - click's word
        self._attributes: dict[str, Any] = {"metavar": metavar, "help": help}
        self._shown = shown_default

    def parameter(self, name: str, annotation: Any, default: Any) -> click.Parameter:
        """click's object of it; ``default`` is Parameter.empty where it must be given."""
        required = default is Parameter.empty
        kind, several = _kind(annotation)
        attributes = {**self._attributes, "nargs": -1 if several else 1, "required": required}
        if not required and not several:
            attributes["default"] = default
        return ShownArgument([name], type=kind, shown_default=self._shown, shell_complete=_complete(""), **attributes)


class Option:
    """What stands behind ``--name``; without ``names`` the parameter's own. ``panel``: its group in the help."""

    def __init__(
        self,
        *names: str,
        help: str,  # noqa: A002 - click's word
        metavar: str | None = None,
        panel: str = "",
        at_least: int | None = None,
        shown_default: str = "",
    ) -> None:
        self._names, self._help, self._metavar, self._panel = names, help, metavar, panel
        self._at_least, self._shown = at_least, shown_default

    def parameter(self, name: str, annotation: Any, default: Any) -> click.Parameter:
        """click's object of it."""
        kind, several = _kind(annotation)
        if kind is bool:
            how: dict[str, Any] = {"is_flag": True, "default": default}
        else:
            number = click.INT if self._at_least is None else click.IntRange(min=self._at_least)
            how = {"type": number if kind is int else click.STRING, "multiple": several, "metavar": self._metavar}
            how |= {"shell_complete": _complete(name, self._metavar)}
            how |= {} if several or default is None else {"default": default}
        return ShownOption(
            [name, *(self._names or [f"--{name.replace('_', '-')}"])],
            help=self._help,
            envvar=ENVIRONMENT + name.upper(),
            show_default=self._shown or None,
            panel=self._panel,
            **how,
        )


class ShownOption(click.Option):
    """An option that knows its place in the help."""

    def __init__(self, *words: Any, panel: str, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.panel = panel


class ShownArgument(click.Argument):
    """An argument that has a help text, and may have a default that click does not know of."""

    def __init__(self, *words: Any, help: str, shown_default: str, **settings: Any) -> None:  # noqa: A002
        super().__init__(*words, **settings)
        self.help = help
        self.show_default = shown_default or None


def given(parameters: Iterable[click.Parameter], values: dict[str, Any]) -> dict[str, Any]:
    """The values as commands take them: lists, and None for an option that was not given at all."""
    several = {one.name for one in parameters if one.multiple or one.nargs != 1}
    return {name: (list(value) or None) if name in several else value for name, value in values.items()}


def _kind(annotation: Any) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    if isinstance(annotation, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not NoneType)
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


def _complete(name: str, metavar: str | None = None) -> Any:
    """What a shell offers there: words, or files where only the user knows."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        words = offered(name, metavar)
        if words is None:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete
