"""Chooses the output format by the suffix of the output's name, as declared by the emitter classes."""

from collections.abc import Mapping
from pathlib import Path

from perf2x.base.installed_packages import EntryPoint, available
from perf2x.errors import SettingError
from perf2x.kernel.registry import EMITTERS, is_built_in

_COMMON_FORMATS = ("pprof", "collapsed")


def format_of(output: str | None) -> str:
    """Return the format with the longest suffix that the output's name ends with.

    A final ``.gz`` is ignored. Raises OptionError if no format matches, or several do equally well.
    """
    formats = available(EMITTERS)
    if output is None or output == "-":
        raise SettingError("name a format with ", "to", f": {', '.join(formats)}")
    matching = _matching_suffixes(_without_gz(output), formats)
    longest = max(map(len, matching.values()), default=0)
    best = [name for name, suffix in matching.items() if len(suffix) == longest]
    if len(best) != 1:
        choices = ", ".join(f"{name} ({_suffix(point)})" for name, point in formats.items())
        choices = "pprof --for go-pgo, for go build" if output.endswith(".pgo") else choices
        raise SettingError(f"the name {output} does not determine the format; choose one with ", "to", f": {choices}")
    return best[0]


def check_name(name: str, output: str) -> None:
    """Raise OptionError if the output's name belongs to another format; names that fit many formats are accepted."""
    formats = available(EMITTERS)
    own = _suffix(formats[name]) if name in formats else ""
    for other in {*_COMMON_FORMATS, Path(output).suffix[1:]} & formats.keys() - {name}:
        if own and output.endswith(_suffix(formats[other])) and not _without_gz(output).endswith(_without_gz(own)):
            raise SettingError(f"the name {output} means {other}, not ", "to", f" {name}, whose files end with {own}")


def _matching_suffixes(output: str, formats: Mapping[str, EntryPoint]) -> dict[str, str]:
    """Return the formats that may match ``output``, and their suffixes without ``.gz``.

    Suffixes are known only after importing an emitter, and importing all built-in ones takes 30 ms. So likely ones come
    first, and the search stops at a suffix that includes the name's last dot: no other can be longer.
    """

    def unlikeliness(name: str) -> tuple[bool, bool, bool, str]:
        return is_built_in(formats[name]), name not in output, name not in _COMMON_FORMATS, name

    found: dict[str, str] = {}
    for name in sorted(formats, key=unlikeliness):
        suffix = _without_gz(_suffix(formats[name]))
        if output.endswith(suffix):
            found[name] = suffix
            if is_built_in(formats[name]) and "." not in Path(output).name.removesuffix(suffix):
                break
    return found


def _suffix(point: EntryPoint) -> str:
    suffix: str = point.load().suffix
    return suffix


def _without_gz(name: str) -> str:
    return name.removesuffix(".gz")
