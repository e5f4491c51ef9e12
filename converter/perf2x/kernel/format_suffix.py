"""Chooses the output format by the suffix of the output file's name, such as ``.pb.gz`` for pprof."""

from collections.abc import Mapping
from pathlib import Path

from perf2x.base.installed_packages import EntryPoint, entry_points_by_name
from perf2x.errors import SettingError
from perf2x.kernel.registry import EMITTERS, is_built_in

_COMMON_FORMATS = ("pprof", "collapsed")


def format_of(output: str | None) -> str:
    """Return the format with the longest suffix that the output's name ends with; ``.gz`` is ignored.

    Raises SettingError if not exactly one format has it, and for standard output (``-``) or no name (None).
    """
    formats = entry_points_by_name(EMITTERS)
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


def check_output_name(format_name: str, output: str) -> None:
    """Raise SettingError if the output has the suffix of another format, as in ``--to pprof -o stacks.collapsed``.

    To save imports, only the most common formats are considered, and the format whose name is the suffix.
    """
    formats = entry_points_by_name(EMITTERS)
    own_suffix = _suffix(formats[format_name]) if format_name in formats else ""
    own_ending = _without_gz(own_suffix)
    for other in {*_COMMON_FORMATS, Path(output).suffix[1:]} & formats.keys() - {format_name}:
        if own_suffix and output.endswith(_suffix(formats[other])) and not _without_gz(output).endswith(own_ending):
            raise SettingError(
                f"the name {output} means {other}, not ", "to", f" {format_name}, whose files end with {own_suffix}"
            )


def _matching_suffixes(output: str, formats: Mapping[str, EntryPoint]) -> dict[str, str]:
    """Return the formats whose suffix, without ``.gz``, ``output`` ends with, and these suffixes.

    Importing all built-in emitters takes 30 ms, so likely formats are tried first. The search ends at a built-in
    format's suffix that starts at the first dot of the file's name, because no other suffix can be longer. Plugins come
    first, because they may have the same suffix.
    """

    def sort_key(name: str) -> tuple[bool, bool, bool, str]:  # False sorts before True
        return is_built_in(formats[name]), name not in output, name not in _COMMON_FORMATS, name

    matching: dict[str, str] = {}
    for name in sorted(formats, key=sort_key):
        suffix = _without_gz(_suffix(formats[name]))
        if output.endswith(suffix):
            matching[name] = suffix
            if is_built_in(formats[name]) and "." not in Path(output).name.removesuffix(suffix):
                break
    return matching


def _suffix(point: EntryPoint) -> str:
    suffix: str = point.load().suffix
    return suffix


def _without_gz(name: str) -> str:
    return name.removesuffix(".gz")
