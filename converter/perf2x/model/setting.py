"""Declares an option next to the field that holds its value.

::

    class Grouping(Frozen):
        merge_threads: Annotated[bool, Setting("Merge the threads of each process.", group=STACKS)] = False

The declaration yields the command-line option with its help and choices, and its refusal by formats that do not support
its group and by inputs that lack the data it needs.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct

from perf2x.base.frozen import Frozen
from perf2x.errors import SettingError

ON = "On by default"
"""Help panel of switches with two names, whose wide column of names would squeeze the help of other options."""


class Setting(Frozen):
    """Names, help and values of a field's option."""

    help: str = ""
    """Empty: it has no option on the command line."""
    names: tuple[str, ...] = ()
    """Names of the option; empty: that of the field."""
    metavar: str | None = None
    least: int | None = None
    """Smallest number."""
    most: int | None = None
    """Largest number."""
    shown_default: str | bool = True
    """Text for the default."""
    panel: str = ""
    """Heading in the help; empty: that of the struct."""
    rare: bool = False
    """True: only ``--help-all`` shows it."""
    group: str = ""
    """Group of options that a format must support; empty: it affects every format, or none."""
    asks: str = ""
    """Data that an input must have.

    ``files`` (to look into), ``records``, ``trace``, ``stitching`` (still to be done), or ``times`` (also CPUs) of
    samples.
    """
    default: object = ...
    """The command line's default, if it differs from the library's."""
    variable: str = ""
    """Environment variable that replaces the default."""
    read: Callable[[str, Any], Any] | None = None
    """Converts the setting's name and the typed text to the value, or to a mapping of several fields; SettingError."""
    complete: Callable[[str], list[str]] | None = None
    """Returns values that begin with a text, for shell completion."""


class Argument(Setting, frozen=True):
    """A positional argument of a command; ``metavar`` is its name in the help."""


class FeatureSettings(Frozen):
    """Settings of one feature; with all defaults, the feature is off."""

    NEEDS_TIMES: ClassVar[bool] = False
    """True: it needs every sample, in order of time, and may read them again after the sample pass."""
    LATE_TIMES: ClassVar[bool] = False
    """True: the user's time ranges apply to the feature's result, not to the samples."""
    HIDES_NAMES: ClassVar[str] = ""
    """The setting that hides names, after which no other output may show them."""
    LOOKS_UP_NAMES: ClassVar[bool] = True
    """False: the feature names code itself."""
    AS_RECORDED: ClassVar[bool] = False
    """True: samples stay identifiable one by one, with their processes' addresses, as in one recording alone."""


Settings = TypeVar("Settings", bound=FeatureSettings)


def settings_of(features: Iterable[FeatureSettings], kind: type[Settings]) -> Settings:
    """Return the settings of a feature among those of all."""
    return next((one for one in features if isinstance(one, kind)), kind())


@functools.cache
def hints_of(kind: type[Struct]) -> Mapping[str, Any]:
    """Return the types of a struct's fields, with annotations."""
    return get_type_hints(kind, include_extras=True)


def setting_of(hint: Any) -> Setting | None:
    """Return the setting in a field's annotation; None for fields that are not options."""
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Setting)), None)


def given_settings(struct: Struct, above: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield the settings that differ from their defaults, of a struct and of those in it: ``filters.pids``.

    Features' settings have no dots. SettingError for a value outside the choices.
    """
    plain = type(struct)()
    for field, hint in hints_of(type(struct)).items():
        value, setting = getattr(struct, field), setting_of(hint)
        for inner in (value,) if isinstance(value, Struct) else value if field == "features" else ():
            yield from given_settings(inner, "" if field == "features" else f"{above}{field}.")
        if setting is not None and not isinstance(value, Struct) and value != getattr(plain, field):
            if get_origin(hint.__origin__) is Literal and value not in (choices := get_args(hint.__origin__)):
                words = f" {value}: it must be one of {', '.join(filter(None, choices))}"
                raise SettingError("", f"{above}{field}", words)
            yield f"{above}{field}", setting


def struct_in(hint: Any) -> type[Struct] | None:
    """Return the struct type that a field holds or may hold; None for other types."""
    hint = getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint
    kinds = [kind for kind in (hint, *getattr(hint, "__args__", ())) if isinstance(kind, type)]
    return next((kind for kind in kinds if issubclass(kind, Struct)), None)


def split_names(_: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Split ``a,b``; repeated options accumulate. Commas within <>, () and {} belong to a name."""
    names: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for at, char in enumerate(text):
            depth += (char in "<({") - (char in ">)}")
            if char == "," and depth <= 0:
                names.append(text[begin:at])
                begin = at + 1
        names.append(text[begin:])
    return tuple(name for name in names if name)


def split_numbers(setting: str, texts: Iterable[str]) -> tuple[int, ...]:
    """Parse numbers and ranges, ``0-3,7``, ascending; SettingError for anything else."""
    numbers: set[int] = set()
    for part in (part.strip() for text in texts for part in text.split(",")):
        found = re.fullmatch(r"(-?\d{1,10})(?:-(\d{1,10}))?", part)
        if not found:
            raise SettingError("", setting, f" {part!r}: expected numbers such as 7, or 0-3,7")
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if not first <= last < first + 1_000_000:
            raise SettingError("", setting, f" {part!r}: not a range of numbers")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def read_path(setting: str, text: str, fits: Callable[[Path], bool] = Path.is_file, kind: str = "file") -> Path:
    """Return the typed path; SettingError if it does not exist, or does not satisfy ``fits``."""
    path = Path(text)
    if not path.exists():
        raise SettingError("", setting, f" {text}: there is no such file or directory")
    if not fits(path):
        raise SettingError("", setting, f" {text}: not a {kind}")
    return path


def read_directory(setting: str, text: str) -> Path:
    """As ``read_path``, for a directory."""
    return read_path(setting, text, Path.is_dir, "directory")


def read_directories(setting: str, texts: Iterable[str]) -> tuple[Path, ...]:
    """As ``read_directory``, for each text."""
    return tuple(read_directory(setting, text) for text in texts)
