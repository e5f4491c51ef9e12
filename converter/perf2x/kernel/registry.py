"""Finds emitters and symbol sources by entry point and imports them on demand, built-in ones like plugins.

The name of an emitter's entry point is its name for ``--to``; two plugins with the same name are an error.
"""

import dataclasses
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, TypeVar, get_args, get_origin, get_type_hints

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.frozen import Frozen
from perf2x.base.installed_packages import EntryPoint, available
from perf2x.errors import OptionError, SettingError
from perf2x.model.plugin_options import Needs, option
from perf2x.model.profile import View

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.symbol_source import SymbolSource

__all__ = [
    "EMITTERS",
    "SYMBOL_SOURCES",
    "Emitter",
    "OptionHelp",
    "build_emitter",
    "build_options",
    "emitter_options",
    "is_built_in",
    "load_emitter",
    "load_symbol_sources",
    "notes",
    "option",
]

Options = TypeVar("Options")

EMITTERS = "perf2x.emitters"
SYMBOL_SOURCES = "perf2x.symbol_sources"


class Emitter(Protocol):
    """Writes a finished profile in one output format; a frozen dataclass whose fields are its options.

    ``perf2x formats`` shows the first line of the class docstring.
    """

    suffix: ClassVar[str]
    """Suffix of output files, such as ``.pb.gz``; it starts with a dot."""

    @property
    def needs(self) -> Needs:
        """The data it needs, and the options it supports. May be a plain class attribute."""
        ...

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write the whole profile; deterministic, sequential writes only (``out`` may be a pipe)."""
        ...


def is_built_in(point: EntryPoint) -> bool:
    """Return whether a plugin comes with perf2x."""
    return point.value.startswith("perf2x.")


def load_emitter(name: str) -> type[Emitter]:
    """Return the emitter class of ``--to NAME``.

    OptionError for an unknown name, and for a plugin that is no emitter.
    """
    found = available(EMITTERS)
    if name not in found:
        meant = did_you_mean(name, found) or ";"
        raise OptionError(f"no output format {name!r}{meant} installed: {', '.join(found)}")
    emitter: type[Emitter] = found[name].load()
    if not hasattr(emitter, "needs"):
        raise OptionError(f"{name} ({found[name].value}) is a plugin for another version of perf2x: it has no needs")
    return emitter


class OptionHelp(Frozen):
    """One option of an emitter, for help texts."""

    name: str
    type: str
    default: object
    help: str
    choices: tuple[str, ...]
    least: int = 0
    """Smallest number allowed."""
    flags: tuple[str, ...] = ()
    """Names of the command-line option; empty: only ``--set`` sets it."""


def emitter_options(emitter: type) -> tuple[OptionHelp, ...]:
    """Return the options of an emitter class, in the order of its fields."""
    if not dataclasses.is_dataclass(emitter):
        return ()
    return tuple(
        OptionHelp(
            field.name,
            field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type)),
            field.default,
            field.metadata.get("help", ""),
            field.metadata.get("choices", ()),
            field.metadata.get("least", 0),
            _flags(field.name, field.metadata.get("flag")),
        )
        for field in dataclasses.fields(emitter)
    )


def _flags(name: str, flag: str | None) -> tuple[str, ...]:
    if flag is None or flag.startswith("--"):
        return () if flag is None else (flag,)
    return (f"--{name.replace('_', '-')}", *filter(None, (flag,)))


def build_emitter(name: str, options: Mapping[str, object] | None = None) -> Emitter:
    """Make the emitter of ``--to NAME`` with options; values may be texts as typed (``--set name=value``).

    Option names may have dashes or underscores. OptionError for an unknown format or option, or an invalid value.
    """
    return build_options(load_emitter(name), name, options)


def build_options(kind: type[Options], name: str, options: Mapping[str, object] | None = None) -> Options:
    """Make the options of the format ``name``, a dataclass, as ``build_emitter`` does."""
    known = {entry.name: entry for entry in emitter_options(kind)}
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in (options or {}).items():
        field = key.replace("-", "_")
        if field not in known:
            others = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise SettingError(
                f"{name} has no option ", key, f"{did_you_mean(field, known, alike=0.8) or ';'} {others}"
            )
        values[field] = _parse_value(field, value, hints[field])
        least = known[field].least
        if isinstance(values[field], int) and values[field] < least:
            raise SettingError("", field, f"={values[field]}: it must be at least {least}")
    return kind(**values)


def notes(emitter: Emitter, profile: View) -> tuple[str, ...]:
    """Return the emitter's remarks on this profile, such as its unit or omitted events; none by default."""
    describe = getattr(emitter, "notes", None)
    return tuple(describe(profile)) if describe else ()


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

_EXPECTED = {bool: "yes or no", int: "a whole number"}


def _parse_value(name: str, value: object, hint: Any) -> object:
    """Convert a text to the type of its field: ``"4"`` to int, ``"a,b"`` to a tuple of texts, ``"yes"`` to bool."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    kinds = [kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType]
    kind = kinds[0] if kinds else str
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    try:
        return _TRUTH[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError) as error:
        raise SettingError("", name, f"={value}: expected {_EXPECTED.get(kind, kind.__name__)}") from error


def load_symbol_sources() -> "list[type[SymbolSource]]":
    """Return every installed symbol source, including built-in ones, for ``symbolize`` in symbolizer/symbolize.py."""
    return [point.load() for point in available(SYMBOL_SOURCES).values()]
