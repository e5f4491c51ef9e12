"""Names and options of formats that type checkers know are those of the emitters."""

from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from perf2x.base.installed_packages import available
from perf2x.plugins.format_settings import FormatName, Settings
from perf2x.plugins.registry import EMITTERS, emitter_options, is_built_in, load_emitter


def choices(hint: Any) -> set[str]:
    """The texts that a type allows, alone or in a sequence; none for any."""
    inner = get_args(hint)[0] if str(hint).startswith("collections.abc.Sequence") else hint
    return set(get_args(inner)) if get_origin(inner) is Literal else set()


def test_names_are_those_of_the_built_in_formats() -> None:
    assert sorted(get_args(FormatName)) == [name for name, one in available(EMITTERS).items() if is_built_in(one)]


def test_settings_are_the_options_of_all_formats() -> None:
    known = get_type_hints(Settings)
    found: dict[str, set[str]] = {}
    for name in get_args(FormatName):
        emitter = load_emitter(name)
        hints = get_type_hints(emitter)
        for one in emitter_options(emitter):
            found.setdefault(one.name, set()).update(one.choices)
            hint = hints[one.name]
            kinds = {kind for kind in get_args(hint) or (hint,) if kind is not NoneType and isinstance(kind, type)}
            if not one.choices:
                assert kinds <= set(get_args(known[one.name])) | {known[one.name]}, (name, one.name)
    assert {name: choices(hint) for name, hint in known.items()} == found
