"""Declares an option next to the field that holds its value.

::

    class Grouping(Frozen):
        merge_threads: Annotated[bool, Setting("Merge the threads of each process.", group=STACKS)] = False

The declaration yields the command-line option with its help and choices, and its refusal by formats that do not support
its group and by inputs that lack the data it needs. Options of formats are declared in the same way.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.did_you_mean import did_you_mean
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError

ON = "On by default"
"""Help panel of switches with two names, whose wide column of names would squeeze the help of other options."""


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
_EXPECTED = {bool: "yes or no", int: "a whole number", float: "a number"}


class Setting(Frozen):
    """Names, help and values of a field's option."""

    help: str = ""
    """Empty: the setting has no option on the command line."""
    names: tuple[str, ...] = ()
    """Names of the option; empty: that of the field, or ``--set`` for a format's option."""
    metavar: str | None = None
    least: int | None = None
    """The smallest number allowed."""
    most: int | None = None
    """The largest number allowed."""
    shown_default: str | bool = True
    """The description of the default in the help."""
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
    typed_default: object = ...
    """The command line's default, if it differs from the library's."""
    variable: str = ""
    """Environment variable that replaces the default."""
    read: Callable[[str, Any], Any] | None = None
    """Converts the setting's name and the typed text to the value, or to a mapping of several fields. Raises
    SettingError.
    """
    choices: tuple[str, ...] = ()
    """Values to choose from, if the type of the field does not list them."""
    complete: Callable[[str], list[str]] | None = None
    """Returns values that begin with a text, for shell completion."""
    name: str = ""
    """Name of the field; ``setting_of`` fills in this and the following attributes."""
    kind: Any = str
    """The type of the field's values other than None."""
    default: Any = None

    @property
    def values(self) -> tuple[str, ...]:
        """Values to choose from; empty: any."""
        return self.choices or tuple(one for one in get_args(self.kind) if one and isinstance(one, str))

    @property
    def is_many(self) -> bool:
        """Whether the option may be given several times."""
        return get_args(self.kind)[-1:] == (Ellipsis,)

    def values_of(self, given: Any) -> Mapping[str, Any]:
        """Return values of fields, converted from one or several typed texts, or from a ready value.

        Raises SettingError.
        """
        if self.read is not None:
            given = self.read(self.name, given)
            return given if isinstance(given, Mapping) else {self.name: given}
        if self.is_many:
            given = self._read_many(given)
        elif isinstance(given, str) and self.kind in _EXPECTED:
            try:
                given = _TRUTH[given.lower()] if self.kind is bool else self.kind(given)
            except (KeyError, ValueError) as error:
                raise SettingError("", self.name, f"={given}: expected {_EXPECTED[self.kind]}") from error
        self.check(given)
        return {self.name: given}

    def _read_many(self, given: Any) -> tuple[Any, ...]:
        if int in get_args(self.kind):
            return split_numbers(self.name, given)
        if self.choices and not isinstance(given, str):
            given = ",".join(given)
        return tuple(filter(None, map(str.strip, given.split(",")))) if isinstance(given, str) else tuple(given)

    def check(self, value: Any) -> None:
        """Raise SettingError for a value that is not among the choices, and for a number out of range."""
        for one in value if self.is_many else (value,) if value != self.default else ():
            words = ""
            if self.values and one not in self.values:
                words = f"choose from {', '.join(self.values)}{did_you_mean(one, self.values)}"
            elif self.least is not None and one < self.least:
                words = f"it must be at least {self.least}"
            elif self.most is not None and one > self.most:
                words = f"it must be at most {self.most}"
            if words:
                raise SettingError("", self.name, f"={one}: {words}")


class Argument(Setting):
    """A positional argument; ``metavar`` is its name in the help, ``names`` are those of an option, not shown there."""


class FeatureSettings(Frozen):
    """Settings of one feature; with all defaults, the feature is off."""

    NEEDS_TIMES = False
    """True: it needs every sample in time order, and may read them again after the sample pass."""
    LATE_TIMES = False
    """True: the user's time ranges apply to the feature's result, not to the samples."""
    HIDES_NAMES = ""
    """The setting that hides names, after which no other output may show them."""
    LOOKS_UP_NAMES = True
    """False: the feature names code itself."""
    AS_RECORDED = False
    """True: samples stay identifiable one by one, with their processes' addresses, as in one recording alone."""


Settings = TypeVar("Settings", bound=FeatureSettings)


def settings_of(features: Iterable[FeatureSettings], kind: type[Settings]) -> Settings:
    """Return the settings of a feature among those of all."""
    return next((one for one in features if isinstance(one, kind)), kind())


@functools.cache
def hints_of(kind: type[Struct]) -> Mapping[str, Any]:
    """Return the types of a struct's fields, with annotations."""
    return get_type_hints(kind, include_extras=True)


def setting_of(hint: Any, name: str = "", default: Any = None) -> Setting | None:
    """Return the setting in a field's annotation, completed from the field; None for fields that are not options."""
    setting = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Setting)), None)
    if setting is None:
        return None
    kinds = [one for one in get_args(hint.__origin__) if one is not NoneType]
    is_optional = len(kinds) == 1 and NoneType in get_args(hint.__origin__)
    return replace(setting, name=name, kind=kinds[0] if is_optional else hint.__origin__, default=default)


@functools.cache
def settings_in(kind: type) -> Mapping[str, Setting]:
    """Return the settings of a struct's fields; none for any other class."""
    fields = zip(getattr(kind, "__struct_fields__", ()), getattr(kind, "__struct_defaults__", ()), strict=True)
    found = (setting_of(hints_of(kind)[name], name, default) for name, default in fields)
    return {one.name: one for one in found if one is not None}


def changed_settings(struct: Struct, above: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield the settings that differ from their defaults, of a struct and of the structs in it: ``filters.pids``.

    Features' settings have no dots. Raises SettingError for a value outside the choices.
    """
    settings = settings_in(type(struct))
    for field in struct.__struct_fields__:
        value, setting = getattr(struct, field), settings.get(field)
        for inner in (value,) if isinstance(value, Struct) else value if field == "features" else ():
            yield from changed_settings(inner, "" if field == "features" else f"{above}{field}.")
        if setting is not None and not isinstance(value, Struct) and value != setting.default:
            if setting.values:
                replace(setting, name=f"{above}{field}").check(value)
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
    """Parse numbers and ranges, ``0-3,7``, ascending. Raises SettingError for anything else."""
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
    """Return the typed path. Raises SettingError if it does not exist, or does not satisfy ``fits``."""
    path = Path(text)
    if not path.exists():
        raise SettingError("", setting, f" {text}: there is no such file or directory")
    if not fits(path):
        raise SettingError("", setting, f" {text}: not a {kind}")
    return path


def read_directory(setting: str, text: str) -> Path:
    """Do what ``read_path`` does, for a directory."""
    return read_path(setting, text, Path.is_dir, "directory")


def read_directories(setting: str, texts: Iterable[str]) -> tuple[Path, ...]:
    """Do what ``read_directory`` does, for each text."""
    return tuple(read_directory(setting, text) for text in texts)
