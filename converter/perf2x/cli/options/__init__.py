"""Options that commands share: one module for each group, one alias for each option.

A command uses the aliases in its signature, where typer and the reader find them, and passes a group on as one value::

    def top(inputs: Inputs = None, *, pid: filters.Pid = None, comm: filters.Comm = None, ...) -> None:
        chosen = make_group(FilterFlags, locals())
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from msgspec import Struct

ON = "On by default"
"""Help panel of switches with two names, whose column of names would leave the texts of other options no room."""

Group = TypeVar("Group", bound="Struct")


class Rare:
    """Mark of an option that only ``--help-all`` shows: ``Annotated[int, typer.Option(...), Rare]``."""


def make_group(group: type[Group], given: Mapping[str, object]) -> Group:
    """Make a group from the parameters of a command by name; KeyError for one that the command lacks."""
    return group(**{field: given[field] for field in group.__struct_fields__})
