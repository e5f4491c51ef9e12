"""Options of the command line that fields of a format ask for; ``--set NAME=VALUE`` sets all others."""

from collections.abc import Container, Sequence
from typing import Annotated, Any, Literal

from msgspec import Struct, defstruct
from msgspec.structs import asdict

from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import parse_only, spread, typed
from perf2x.errors import Perf2xError
from perf2x.model.setting import Setting

_GIVEN = "perf2x.format_options"


def flags_of(kind: type, taken: Container[str] = (), panel: str = "") -> type[Struct]:
    """Make the group of a format's fields that have options, but for those that are ``taken``."""
    from perf2x.kernel.registry import emitter_options

    fields: list[tuple[str, Any, object]] = []
    for entry in emitter_options(kind):
        if entry.flags and entry.flags[0] not in taken:
            is_tuple = entry.type.startswith("tuple")
            value: Any = bool if entry.type == "bool" else tuple[str, ...] if is_tuple else str
            if entry.choices:
                value = str if is_tuple else Literal[entry.choices]
            sentence = f"{entry.help[0].upper()}{entry.help[1:]}.".replace("[", r"\[")  # as completions need it
            setting = Setting(sentence, entry.flags, panel=panel)
            fields.append((entry.name, Annotated[value, setting], False if value is bool else None))
    return defstruct(f"{kind.__name__}Flags", fields, frozen=True)


def given_flags(flags: Struct) -> dict[str, object]:
    """The options of such a group that were given."""
    return {name: value for name, value in asdict(flags).items() if value not in (None, False)}


def parameters_of_format(command: Any, context: Any, words: Sequence[str]) -> list[Any]:
    """Parameters that a command has besides its own for the format that was typed; none where that is none."""
    from perf2x.kernel.registry import load_emitter

    parser = command.make_parser(context)
    parser.ignore_unknown_options = True
    typed_words, _, _ = parser.parse_args(list(words))
    try:
        name = OutputFlags(typed_words.get("to"), typed_words.get("output")).format()
        taken = {option for one in command.params for option in one.opts}
        group = flags_of(load_emitter(name), taken, f"Options of {name}")
    except Perf2xError:  # the command says what is wrong
        return []
    given: dict[str, object] = {}
    context.meta[_GIVEN] = group, given
    made = parse_only(name, lambda: None, spread(group)).params
    for one in made:
        one.expose_value = False
        one.callback = lambda _, parameter, value: given.update({parameter.name: value or None})
    return list(made)


def given_options(context: Any) -> dict[str, object]:
    """The values of such parameters that were given; SettingError."""
    return given_flags(typed(*context.meta[_GIVEN])) if _GIVEN in context.meta else {}


def options_of_formats() -> dict[str, tuple[str, list[str]]]:
    """Words to type for each field of a format, and the formats that have it, by names of an option of its own."""
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS, emitter_options

    found: dict[str, tuple[str, list[str]]] = {}
    for name, point in available(EMITTERS).items():
        for entry in emitter_options(point.load()):
            for flag in entry.flags or (f"--{entry.name.replace('_', '-')}",):
                words = flag if entry.flags else f"--set {entry.name}=…"
                found.setdefault(flag, (words, []))[1].append(name)
    return found
