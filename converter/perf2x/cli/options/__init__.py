"""Groups of options that commands share: one struct for each group, one field for each option.

A field has the name that the library knows it by; the option is called the same unless it says otherwise.
cli/option_groups.py spreads groups over the signature of a command.
"""


class Rare:
    """Mark of an option that only ``--help-all`` shows: ``Annotated[int, typer.Option(...), Rare]``."""
