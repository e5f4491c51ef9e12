"""Finds emitters and symbol sources, built-in ones and those of plugins, by their entry points.

An emitter's name for ``--to`` is that of its entry point; it is an error if two plugins have the same name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.installed_packages import EntryPoint, entry_points_by_name
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
        """Suffix of output files, such as ``.pb.gz``, with its dot; it must be a class attribute."""
        ...

    @property
    def needs(self) -> Needs:
        """The data that the format needs, and the options that it supports; may be a class attribute."""
        ...

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write the profile to ``out`` without seeking. Equal profiles must give equal bytes."""
        ...


def is_built_in(point: EntryPoint) -> bool:
    """Return whether the entry point is perf2x's own."""
    return point.value.startswith("perf2x.")


def load_emitter(name: str) -> type[Emitter]:
    """Import the emitter class of ``--to NAME``.

    Raises OptionError for an unknown name, and for a plugin without needs.
    """
    formats = entry_points_by_name(EMITTERS)
    if name not in formats:
        suggestion = did_you_mean(name, formats) or _formats_mentioning(name, formats) or ";"
        raise OptionError(f"no output format {name!r}{suggestion} installed: {', '.join(formats)}")
    emitter: type[Emitter] = formats[name].load()
    if not hasattr(emitter, "needs"):
        raise OptionError(f"{name} ({formats[name].value}) is a plugin for another version of perf2x: it has no needs")
    return emitter


def _formats_mentioning(word: str, formats: Mapping[str, EntryPoint]) -> str:
    """Suggest the formats whose suffix, or help up to a colon, contains the word: ``; did you mean pprof or html?``."""
    emitters = {name: point.load() for name, point in formats.items()}
    texts = {name: f"{cls.suffix} {cls.__doc__}".partition(":")[0].lower() for name, cls in emitters.items()}
    matching = [name for name, text in texts.items() if word.lower().replace("-", "") in text.replace(" ", "")]
    return f"; did you mean {' or '.join(matching)}?" if matching and word else ""


def build_emitter(name: str, options: Mapping[str, object] | None = None) -> Emitter:
    """Create the emitter of ``--to NAME`` with values of its options, by name.

    Names may have dashes or underscores; values may be typed strings (``--set name=value``). Raises OptionError for an
    unknown format or option, or an invalid value.
    """
    emitter_class = load_emitter(name)
    settings, values = settings_in(emitter_class), dict[str, Any]()
    for option, value in (options or {}).items():
        setting = settings.get(option.replace("-", "_"))
        if setting is None:
            existing_options = f"it has {', '.join(sorted(settings))}" if settings else "it has none"
            suggestion = did_you_mean(option, settings, min_similarity=0.8) or ";"
            raise SettingError(f"{name} has no option ", option, f"{suggestion} {existing_options}")
        values |= setting.field_values(value)
    return emitter_class(**values)


def notes(emitter: Emitter, profile: View) -> tuple[str, ...]:
    """Return what the emitter's optional method ``notes(profile)`` returns."""
    describe = getattr(emitter, "notes", None)
    return tuple(describe(profile)) if describe else ()


def load_symbol_sources() -> "list[type[SymbolSource]]":
    """Import all symbol sources."""
    return [point.load() for point in entry_points_by_name(_SYMBOL_SOURCES).values()]
