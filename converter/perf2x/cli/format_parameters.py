"""Options of the command line that fields of a format ask for; ``--set NAME=VALUE`` sets all others."""

from collections.abc import Container, Sequence
from typing import Annotated, Any, Literal

import typer
from msgspec import Struct, defstruct
from msgspec.structs import asdict

from perf2x.base.errors import Perf2xError
from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.plain_parameters import take_plain_values


def flags_of(kind: type, taken: Container[str] = (), panel: str | None = None) -> type[Struct]:
    """Make the group of a format's fields that have options, but for those that are ``taken``."""
    from perf2x.plugins.registry import emitter_options

    fields: list[tuple[str, Any, object]] = []
    for entry in emitter_options(kind):
        if entry.flags and entry.flags[0] not in taken:
            is_tuple = entry.type.startswith("tuple")
            value: Any = str if is_tuple else Literal[entry.choices]
            if not entry.choices:
                value = list[str] if is_tuple else str
            hint, absent = (bool, False) if entry.type == "bool" else (value | None, None)
            sentence = f"{entry.help[0].upper()}{entry.help[1:]}.".replace("[", r"\[")  # as completions need it
            named = typer.Option(*entry.flags, help=sentence, rich_help_panel=panel)
            fields.append((entry.name, Annotated[hint, named], absent))
    return defstruct(f"{kind.__name__}Flags", fields, frozen=True)


def given_flags(flags: Struct) -> dict[str, object]:
    """The options of such a group that were given."""
    return {name: value for name, value in asdict(flags).items() if value not in (None, False)}


def parameters_of_format(command: Any, context: Any, words: Sequence[str]) -> list[Any]:
    """Parameters that a command has besides its own for the format that was typed; none where that is none."""
    from perf2x.plugins.registry import load_emitter

    parser = command.make_parser(context)
    parser.ignore_unknown_options = True
    typed, _, _ = parser.parse_args(list(words))
    try:
        name = OutputFlags(typed.get("to"), typed.get("output")).format()
        taken = {option for one in command.params for option in one.opts}
        group: Any = flags_of(load_emitter(name), taken, f"Options of {name}")
    except Perf2xError:  # the command says what is wrong
        return []
    alone = typer.Typer(add_completion=False)
    alone.command()(group)
    made: Any = typer.main.get_command(alone)
    for one in made.params:
        one.expose_value, one.callback = False, _keep_given
    return take_plain_values(made.params, group)


def _keep_given(context: Any, parameter: Any, value: object) -> None:
    if value not in (None, False, ()):
        given_options(context)[parameter.name] = value


def given_options(context: Any) -> dict[str, object]:
    """The values of such parameters that were given."""
    found: dict[str, object] = context.meta.setdefault("perf2x.format_options", {})
    return found


def options_of_formats() -> dict[str, tuple[str, list[str]]]:
    """Words to type for each field of a format, and the formats that have it, by names of an option of its own."""
    from perf2x.base.installed_packages import available
    from perf2x.plugins.registry import EMITTERS, emitter_options

    found: dict[str, tuple[str, list[str]]] = {}
    for name, point in available(EMITTERS).items():
        for entry in emitter_options(point.load()):
            for flag in entry.flags or (f"--{entry.name.replace('_', '-')}",):
                typed = flag if entry.flags else f"--set {entry.name}=…"
                found.setdefault(flag, (typed, []))[1].append(name)
    return found
