"""Declares an option next to the field that holds its value.

::

    class Grouping(Frozen):
        merge_threads: Annotated[bool, Setting("Merge the threads of each process.", group=STACKS)] = False

An option is refused if the format does not support its group, or if the input lacks the data that it needs.
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

ON_BY_DEFAULT = "On by default"
"""Heading in the help above switches with two names (``--x/--no-x``).

They have a panel of their own: next to other options, such long names would leave less room for the help texts.
"""
_SWITCH_WORDS = {
    "1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False
}  # fmt: skip
_EXPECTED = {bool: "yes or no", int: "a whole number", float: "a number"}


class Setting(Frozen):
    """The option of a field: its names, help, and possible values."""

    help: str = ""
    """Text for the help; empty: the setting has no option on the command line."""
    names: tuple[str, ...] = ()
    """Names of the option; empty: the name of the field, or ``--set`` for a format's option."""
    metavar: str | None = None  # placeholder in the help; None: one made from the type
    least: int | None = None
    """The smallest number allowed."""
    most: int | None = None
    """The largest number allowed."""
    shown_default: str | bool = True
    """How the help describes the default; True: by its value, False: not at all."""
    panel: str = ""
    """Heading above the option in the help; empty: ``PANEL`` of the struct."""
    rare: bool = False
    """True: only ``--help-all`` shows the option."""
    group: str = ""
    """Group of options (`plugin_options.py`); formats that do not support the group refuse the option.

    Empty: no format refuses it.
    """
    asks: str = ""
    """What an input must have for the option to make sense; empty: nothing.

    ``files``: object files to look into; ``records``: a recording's records; ``trace``: hardware trace; ``stitching``:
    samples that are not stitched yet; ``times``: times and CPUs of samples.
    """
    typed_default: object = ...
    """The command line's default, if it differs from the library's."""
    variable: str = ""
    """Environment variable that replaces the default."""
    read: Callable[[str, Any], Any] | None = None
    """Converts what the user typed to the field's value, or to the values of several fields, by field name.

    Called with the setting's name and the typed text, or texts if the option may be repeated. Raises SettingError.
    """
    choices: tuple[str, ...] = ()
    """Values to choose from, if the type of the field does not list them."""
    complete: Callable[[str], list[str]] | None = None
    """Returns the values that begin with a text, for shell completion."""
    name: str = ""
    """Name of the field; ``setting_of`` fills in this and the following attributes."""
    kind: Any = str
    """The type of the field's values other than None."""
    default: Any = None

    @property
    def all_choices(self) -> tuple[str, ...]:
        """``choices``, or the values that the type lists; empty: any value."""
        return self.choices or tuple(choice for choice in get_args(self.kind) if choice and isinstance(choice, str))

    @property
    def is_repeatable(self) -> bool:
        """Whether the field holds several values (``tuple[X, ...]``)."""
        return get_args(self.kind)[-1:] == (Ellipsis,)

    def field_values(self, value: Any) -> Mapping[str, Any]:
        """Convert what the user typed to values of fields: usually this field alone, or those that ``read`` returns.

        ``value`` is a typed text, several if the option is repeated, or needs no conversion. Raises SettingError.
        """
        if self.read is not None:
            value = self.read(self.name, value)
            return value if isinstance(value, Mapping) else {self.name: value}
        if self.is_repeatable:
            value = self._read_many(value)
        elif isinstance(value, str) and self.kind in _EXPECTED:
            try:
                value = _SWITCH_WORDS[value.lower()] if self.kind is bool else self.kind(value)
            except (KeyError, ValueError) as error:
                raise SettingError("", self.name, f"={value}: expected {_EXPECTED[self.kind]}") from error
        self.check(value)
        return {self.name: value}

    def _read_many(self, value: Any) -> tuple[Any, ...]:
        """Split numbers and choices in each text."""
        if int in get_args(self.kind):
            return split_numbers(self.name, value)
        if self.choices and not isinstance(value, str):
            value = ",".join(value)
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else tuple(value)

    def check(self, value: Any) -> None:
        """Raise SettingError for a value that is not among the choices, or out of range."""
        for single in value if self.is_repeatable else (value,) if value != self.default else ():
            problem = ""
            if self.all_choices and single not in self.all_choices:
                problem = f"choose from {', '.join(self.all_choices)}{did_you_mean(single, self.all_choices)}"
            elif self.least is not None and single < self.least:
                problem = f"it must be at least {self.least}"
            elif self.most is not None and single > self.most:
                problem = f"it must be at most {self.most}"
            if problem:
                raise SettingError("", self.name, f"={single}: {problem}")


class Argument(Setting):
    """A positional argument; ``metavar`` is its name in the help.

    With ``names``, it is also an option, which the help does not show.
    """


class FeatureSettings(Frozen):
    """Settings of one feature; with all defaults, the feature is off."""

    NEEDS_TIMES = False
    """True: the feature needs all samples one by one, in time order, and may read the recording a second time."""
    LATE_TIMES = False
    """True: the user's time ranges apply to the feature's result, not to the samples that it is computed from."""
    HIDES_NAMES = ""
    """Name of the setting with which the feature hides names, so that no output may show them; "" if it hides none."""
    LOOKS_UP_NAMES = True
    """Whether the load looks up names for the profile; False if the feature looks up all names that it needs itself."""
    AS_RECORDED = False
    """True: each sample keeps its identity and the addresses of its process, so only one recording can be loaded."""


Settings = TypeVar("Settings", bound=FeatureSettings)


def settings_of(features: Iterable[FeatureSettings], settings_type: type[Settings]) -> Settings:
    """Return the settings of one type, or the defaults."""
    return next((settings for settings in features if isinstance(settings, settings_type)), settings_type())


@functools.cache
def hints_of(struct_type: type[Struct]) -> Mapping[str, Any]:
    """Return the type of each field of a struct, with the Setting in ``Annotated``."""
    return get_type_hints(struct_type, include_extras=True)


def setting_of(hint: Any, name: str = "", default: Any = None) -> Setting | None:
    """Complete the setting in a field's annotation from the field; None if it has none."""
    setting = next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Setting)), None)
    if setting is None:
        return None
    kinds = [kind for kind in get_args(hint.__origin__) if kind is not NoneType]
    is_optional = len(kinds) == 1 and NoneType in get_args(hint.__origin__)
    return replace(setting, name=name, kind=kinds[0] if is_optional else hint.__origin__, default=default)


@functools.cache
def settings_in(struct_type: type) -> Mapping[str, Setting]:
    """Return the settings of a struct's fields, by field name; other classes have none."""
    names, defaults = getattr(struct_type, "__struct_fields__", ()), getattr(struct_type, "__struct_defaults__", ())
    fields = zip(names, defaults, strict=True)
    settings = (setting_of(hints_of(struct_type)[name], name, default) for name, default in fields)
    return {setting.name: setting for setting in settings if setting is not None}


def changed_settings(struct: Struct, prefix: str = "") -> Iterator[tuple[str, Setting]]:
    """Yield name and Setting of each field whose value is not the default, in a struct and the structs inside it.

    Names begin with ``prefix``. A field of an inner struct is called ``filters.pids``, one of a feature only by its own
    name. Raises SettingError for a value that is not among the choices.
    """
    settings = settings_in(type(struct))
    for field in struct.__struct_fields__:
        value, setting = getattr(struct, field), settings.get(field)
        for inner in (value,) if isinstance(value, Struct) else value if field == "features" else ():
            yield from changed_settings(inner, "" if field == "features" else f"{prefix}{field}.")
        if setting is not None and not isinstance(value, Struct) and value != setting.default:
            if setting.all_choices:
                replace(setting, name=f"{prefix}{field}").check(value)
            yield f"{prefix}{field}", setting


def struct_in(hint: Any) -> type[Struct] | None:
    """Return the struct in a field's type, such as X in ``Annotated[X | None, …]``, or None."""
    hint = getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint
    classes = [part for part in (hint, *getattr(hint, "__args__", ())) if isinstance(part, type)]
    return next((found for found in classes if issubclass(found, Struct)), None)


def split_names(_: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Split texts such as ``a,b``; commas within <>, () and {} belong to a name. A `Setting.read`."""
    names: list[str] = []
    for text in texts:
        depth, begin = 0, 0
        for index, char in enumerate(text):
            depth += (char in "<({") - (char in ">)}")
            if char == "," and depth <= 0:
                names.append(text[begin:index])
                begin = index + 1
        names.append(text[begin:])
    return tuple(name for name in names if name)


def split_numbers(setting: str, texts: Iterable[str]) -> tuple[int, ...]:
    """Parse texts such as ``0-3,7``, ascending. Raises SettingError for texts of another form."""
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


def read_path(setting: str, text: str, is_right: Callable[[Path], bool] = Path.is_file, noun: str = "file") -> Path:
    """Check a typed path. Raises SettingError if it does not exist, or is no ``noun`` according to ``is_right``."""
    path = Path(text)
    if not path.exists():
        raise SettingError("", setting, f" {text}: there is no such file or directory")
    if not is_right(path):
        raise SettingError("", setting, f" {text}: not a {noun}")
    return path


def read_directory(setting: str, text: str) -> Path:
    """Check the typed path of a directory. Raises SettingError."""
    return read_path(setting, text, Path.is_dir, "directory")


def read_directories(setting: str, texts: Iterable[str]) -> tuple[Path, ...]:
    """Check the typed paths of directories. Raises SettingError."""
    return tuple(read_directory(setting, text) for text in texts)
