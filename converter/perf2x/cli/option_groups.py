"""Commands whose parameters are groups of options, and the options of a load that those groups make together.

::

    @with_groups
    def top(inputs: Inputs = None, *, chosen: FilterFlags, symbols: Annotated[SymbolFlags, Hidden("names")]) -> None:
        options = load_options(chosen, symbols)
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from msgspec import Struct, defstruct
from typer import Option
from typer.models import OptionInfo

from perf2x.cli.help import HelpAll
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.pipeline.load_options import LoadOptions


class Some:
    """Mark of a group that says something of some of its options."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields


class Without(Some):
    """The command lacks these options; they have their defaults."""


class Only(Some):
    """The command lacks all other options."""


class Hidden(Some):
    """Only ``--help-all`` of the command shows these options."""


class LoadGroup(Protocol):
    """A group that decides what is read."""

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions; OptionError for a value that cannot be used."""
        ...


def load_options(*groups: LoadGroup, **more: object) -> "LoadOptions":
    """Make the options of a load from groups and from fields that need to know more than their group."""
    from perf2x.pipeline.load_options import LoadOptions

    fields: dict[str, Any] = {}
    for group in groups:
        fields |= group.part()
    return LoadOptions(**fields | more)


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
            name: group(**{field: given.pop(field) for field in fields}) for name, (group, fields) in groups.items()
        }
        function(**given, **made)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return run


def flags_of(kind: type, **letters: str) -> type[Struct]:
    """Make the group of a format's own options; ``letters`` are short names."""
    fields: list[tuple[str, Any, object]] = []
    for field in dataclasses.fields(kind):
        said, name = field.metadata["help"], f"--{field.name.replace('_', '-')}"
        short = [letters[field.name]] if field.name in letters else []
        named = Option(name, *short, help=f"{said[0].upper()}{said[1:]}.")
        fields.append((field.name, Annotated[field.type, named], field.default))
    return defstruct(f"{kind.__name__}Flags", fields, frozen=True)


def _options(group: type[Struct], marks: tuple[object, ...]) -> Iterator[inspect.Parameter]:
    """Yield the fields of a group as parameters; options get the name of their field and the panel of their group."""
    left_out, hidden = _marked(marks, Without), _marked(marks, Hidden)
    only = _marked(marks, Only) or group.__struct_fields__
    hints = {name: hint for base in reversed(group.__mro__) for name, hint in inspect.get_annotations(base).items()}
    for field, default in zip(group.__struct_fields__, group.__struct_defaults__, strict=True):
        if field in only and field not in left_out:
            (option,) = (mark for mark in hints[field].__metadata__ if isinstance(mark, OptionInfo))
            if option.default is ...:  # where typer keeps the first name
                option.default = f"--{field.replace('_', '-')}"
            option.rich_help_panel = option.rich_help_panel or getattr(group, "PANEL", None)
            rare = Rare in marks or field in hidden
            hint = Annotated[hints[field], Rare] if rare else hints[field]
            yield inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _marked(marks: tuple[object, ...], kind: type[Some]) -> set[str]:
    return {field for mark in marks if isinstance(mark, kind) for field in mark.fields}
