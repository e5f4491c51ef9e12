"""Finds emitters and symbol sources by entry point and imports them on demand, built-in ones like plugins.

The name of an emitter's entry point is its name for ``--to``; two plugins with the same name are an error.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.installed_packages import EntryPoint, available
from perf2x.errors import OptionError, SettingError
from perf2x.model.plugin_options import Needs
from perf2x.model.profile import View
from perf2x.model.setting import settings_in

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.symbol_source import SymbolSource

EMITTERS = "perf2x.emitters"
_SYMBOL_SOURCES = "perf2x.symbol_sources"


class Emitter(Protocol):
    """Writes a finished profile in one output format; if it is a ``Format``, its fields are its options.

    ``perf2x formats`` shows the first line of the class docstring.
    """

    @property
    def suffix(self) -> str:
        """Suffix of output files, such as ``.pb.gz``; it starts with a dot. A class attribute."""
        ...

    @property
    def needs(self) -> Needs:
        """The data that it needs, and the options that it supports. May be a plain class attribute."""
        ...

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write the whole profile deterministically, with sequential writes only (``out`` may be a pipe)."""
        ...


def is_built_in(point: EntryPoint) -> bool:
    """Return whether a plugin comes with perf2x."""
    return point.value.startswith("perf2x.")


def load_emitter(name: str) -> type[Emitter]:
    """Return the emitter class of ``--to NAME``.

    Raises OptionError for an unknown name, and for a plugin that is not an emitter.
    """
    found = available(EMITTERS)
    if name not in found:
        suggestion = did_you_mean(name, found) or _named_in(name, found) or ";"
        raise OptionError(f"no output format {name!r}{suggestion} installed: {', '.join(found)}")
    emitter: type[Emitter] = found[name].load()
    if not hasattr(emitter, "needs"):
        raise OptionError(f"{name} ({found[name].value}) is a plugin for another version of perf2x: it has no needs")
    return emitter


def _named_in(word: str, formats: Mapping[str, EntryPoint]) -> str:
    """Return the middle of a sentence: the formats whose suffix or help text contains the word."""
    emitters = {name: point.load() for name, point in formats.items()}
    texts = {name: f"{one.suffix} {one.__doc__}".partition(":")[0].lower() for name, one in emitters.items()}
    close = [name for name, text in texts.items() if word.lower().replace("-", "") in text.replace(" ", "")]
    return f"; did you mean {' or '.join(close)}?" if close and word else ""


def build_emitter(name: str, options: Mapping[str, object] | None = None) -> Emitter:
    """Create the emitter of ``--to NAME`` with options; values may be texts as typed (``--set name=value``).

    Option names may have dashes or underscores. Raises OptionError for an unknown format or option, or an invalid
    value.
    """
    kind = load_emitter(name)
    settings, values = settings_in(kind), dict[str, Any]()
    for key, value in (options or {}).items():
        setting = settings.get(key.replace("-", "_"))
        if setting is None:
            others = f"it has {', '.join(sorted(settings))}" if settings else "it has none"
            raise SettingError(
                f"{name} has no option ", key, f"{did_you_mean(key, settings, alike=0.8) or ';'} {others}"
            )
        values |= setting.values_of(value)
    return kind(**values)


def notes(emitter: Emitter, profile: View) -> tuple[str, ...]:
    """Return the emitter's remarks on this profile, such as its unit or omitted events; none by default."""
    describe = getattr(emitter, "notes", None)
    return tuple(describe(profile)) if describe else ()


def load_symbol_sources() -> "list[type[SymbolSource]]":
    """Return every installed symbol source, including built-in ones, for ``symbolize`` in symbolizer/symbolize.py."""
    return [point.load() for point in available(_SYMBOL_SOURCES).values()]
