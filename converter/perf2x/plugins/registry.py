"""Finds emitters and symbol sources by entry point, lazily; the built-in ones come through the same door.

An entry point's name is what the user writes after ``--to``; two plugins of one name are an error, not a race.
"""

import dataclasses
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, get_args, get_origin, get_type_hints

from msgspec import Struct

from perf2x.tables.errors import OptionError
from perf2x.tables.plugin_options import option
from perf2x.tables.profile import Profile

if TYPE_CHECKING:
    from perf2x.symbolize.sources.contract import SymbolSource

__all__ = [
    "EMITTERS",
    "SYMBOL_SOURCES",
    "Emitter",
    "OptionHelp",
    "available",
    "build_emitter",
    "emitter_options",
    "load_emitter",
    "load_symbol_sources",
    "needs_time",
    "notes",
    "option",
    "suffixes",
    "wanted_columns",
]

EMITTERS = "perf2x.emitters"
SYMBOL_SOURCES = "perf2x.symbol_sources"
_OWN_SUFFIXES = {
    "perf2x.emit.chrome.emitter:Chrome": ".trace.json",
    "perf2x.emit.collapsed:Collapsed": ".folded",
    "perf2x.emit.firefox.emitter:Firefox": ".firefox.json",
    "perf2x.emit.flame.html:Html": ".html",
    "perf2x.emit.pprof.emitter:Pprof": ".pb.gz",
    "perf2x.emit.speedscope:Speedscope": ".speedscope.json",
    "perf2x.emit.flame.svg:Svg": ".svg",
}
"""What the classes say (a test compares them), so that ``-o out.folded`` need not load seven formats to find one."""


class Emitter(Protocol):
    """Writes a finished profile in one output format; a frozen dataclass whose fields are its options.

    The class docstring's first line is what ``perf2x formats`` shows.
    """

    suffix: ClassVar[str]
    """What output file names end with: ``.pb.gz``."""

    @property
    def timeline(self) -> bool:
        """True: wants one row per sample in time order; False: rows summed. A plain class attribute will do."""
        ...

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the whole profile; deterministic, sequential writes only (``out`` may be a pipe)."""
        ...


def available(group: str) -> dict[str, EntryPoint]:
    """Every plugin of a group by name, sorted, not yet imported; OptionError when two share a name."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        known = found.get(point.name)
        if known is not None and known.value != point.value:
            raise OptionError(f"two plugins call themselves {point.name!r}: {known.value} and {point.value}")
        found[point.name] = point
    return found


def load_emitter(name: str) -> type[Emitter]:
    """The emitter class behind ``--to NAME``; OptionError names what there is when it is not installed."""
    found = available(EMITTERS)
    if name not in found:
        raise OptionError(f"no output format {name!r}; installed: {', '.join(found)}")
    emitter: type[Emitter] = found[name].load()
    return emitter


def suffixes() -> dict[str, str]:
    """What the output files of each format end with, by the formats' names."""
    return {name: _OWN_SUFFIXES.get(point.value) or point.load().suffix for name, point in available(EMITTERS).items()}


class OptionHelp(Struct, frozen=True):
    """One option of an emitter, for help texts."""

    name: str
    type: str
    default: object
    help: str
    choices: tuple[str, ...]


def emitter_options(emitter: type[Emitter]) -> tuple[OptionHelp, ...]:
    """The fields of an emitter class in the order in which it states them."""
    if not dataclasses.is_dataclass(emitter):
        return ()
    return tuple(
        OptionHelp(
            field.name,
            field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type)),
            field.default,
            field.metadata.get("help", ""),
            field.metadata.get("choices", ()),
        )
        for field in dataclasses.fields(emitter)
    )


def build_emitter(name: str, options: Mapping[str, object] | None = None) -> Emitter:
    """The emitter behind ``--to NAME`` with options set; values may be texts as typed (``--set name=value``).

    Dashes in option names count as underscores. OptionError for a format that is not installed, an option that it
    does not have, or a value that does not fit.
    """
    emitter = load_emitter(name)
    known = {entry.name for entry in emitter_options(emitter)}
    hints = get_type_hints(emitter)
    values: dict[str, Any] = {}
    for key, value in (options or {}).items():
        field = key.replace("-", "_")
        if field not in known:
            there = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise OptionError(f"{name} has no option {key!r}; {there}")
        values[field] = _parsed(field, value, hints[field])
    return emitter(**values)


def wanted_columns(emitter: Emitter) -> frozenset[str]:
    """Optional columns of Profile.samples that this emitter asks for: ``cpu``, ``cgroup``; ``tags`` for ``--tag``."""
    columns: frozenset[str] = getattr(emitter, "columns", frozenset())
    return columns


def needs_time(emitter: Emitter) -> bool:
    """Whether this emitter has nothing to show of samples without times."""
    return bool(getattr(emitter, "needs_time", False))


def notes(emitter: Emitter, profile: Profile) -> tuple[str, ...]:
    """What the emitter wants the user to know about this profile (unit, left-out events); none by default."""
    describe = getattr(emitter, "notes", None)
    return tuple(describe(profile)) if describe else ()


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _parsed(name: str, value: object, hint: Any) -> object:
    """A value as its field wants it: ``"4"`` for an int, ``"a,b"`` for a tuple of texts, ``"yes"`` for a bool."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    kinds = [kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType]
    kind = kinds[0] if kinds else str
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    try:
        return _TRUTH[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError) as error:
        raise OptionError(f"{name}={value}: expected {kind.__name__}") from error


def load_symbol_sources() -> "list[type[SymbolSource]]":
    """Every installed symbol source, built-in ones included, for ``symbolize`` in symbolize/symbolize_profile.py."""
    return [point.load() for point in available(SYMBOL_SOURCES).values()]
