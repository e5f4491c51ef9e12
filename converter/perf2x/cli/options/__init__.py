"""Options that several commands share: one file for each group, one named alias for each option.

A command names the aliases in its signature, where typer and the reader find them, and passes a group on as one value::

    def top(inputs: Inputs = None, *, pid: filters.Pid = None, comm: filters.Comm = None, ...) -> None:
        chosen = make_group(FilterFlags, locals())
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

ON = "On by default"
"""The panel of switches with two names: their second column leaves the others of a panel no room."""

Group = TypeVar("Group", bound=Struct)


class Rare:
    """Mark an option that ``--help`` leaves to ``--help-all``: ``Annotated[int, typer.Option(...), Rare]``."""


def make_group(group: type[Group], given: Mapping[str, object]) -> Group:
    """Make a group from a command's parameters of the same names; KeyError for one that the command lacks."""
    return group(**{field: given[field] for field in group.__struct_fields__})
