"""Tags and dates of a recording, taken from its name, from files next to it, and from the cgroups of its samples."""

import csv
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path, PurePath
from urllib.parse import unquote

from msgspec import DecodeError, json

from perf2x.base.files.read_file import read_file
from perf2x.errors import FormatError, SettingError
from perf2x.fleet.input_names import local_copy
from perf2x.model.cgroup_parts import CGROUP_PARTS, cgroup_part

Tags = Mapping[str, str]

GROUPS = "cgroup"
"""The source of labels that are only known after reading a recording."""
_VARIABLE = "env:"
_MOST = 1 << 28
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}|\*", re.ASCII)
_TWO = r"\d\d"
_TIMES = {
    "Y": r"\d{4}", "y": _TWO, "m": _TWO, "d": _TWO, "H": _TWO, "I": _TWO, "M": _TWO, "S": _TWO, "j": r"\d{3}",
    "f": r"\d{1,6}", "z": r"Z|[+-]\d\d:?\d\d", "b": r"[^\W\d_]+", "B": r"[^\W\d_]+", "p": "[AaPp][Mm]",
}  # fmt: skip
"""Fields of strptime."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tags_of_variables(sources: Iterable[str]) -> Tags:
    """Return the tags from variables, ``env:NAME`` with KEY=VALUE,…, which may differ on workers of other machines.

    Raises SettingError for an unknown source of tags, FormatError for an unreadable table.
    """
    _table.cache_clear()  # it may have changed since the last run
    found: dict[str, str] = {}
    for text in sources:
        if not text.startswith(_VARIABLE):
            if text != GROUPS:
                _reader(text)
            continue
        for pair in filter(None, os.environ.get(text.removeprefix(_VARIABLE), "").split(",")):
            key, _, value = pair.strip().partition("=")
            if not key or not value:
                raise SettingError("", "tag_from", f" {text}: {pair!r} is not KEY=VALUE")
            found[key] = unquote(value)
    return found


def tags_of(source: str, sources: Iterable[str]) -> tuple[Tags, bool]:
    """Return the tags of a recording by its name, later sources first, and whether a source has none.

    Raises FormatError for a damaged file next to it.
    """
    found = [_reader(text)(source) for text in sources if text != GROUPS and not text.startswith(_VARIABLE)]
    return {key: value for tags in found for key, value in tags.items()}, not all(found)


def tags_of_groups(paths: Iterable[str]) -> Tags:
    """Return the ids of ``container`` and ``pod`` from cgroup paths; none if there are several."""
    groups, tags = [path for path in paths if path], {}
    for key in CGROUP_PARTS[1:]:
        one, *others = {cgroup_part(key, path) for path in groups} or {""}
        if one and not others:
            tags[key] = one
    return tags


def start_by_name(source: str, pattern: str) -> int | None:
    """Return the time in a recording's file name, in nanoseconds since the epoch; None without one.

    ``pattern`` has fields of strptime, in UTC unless it has a zone; ``{name}`` and ``*`` match anything else.
    """
    expression, fields = _time_pattern(pattern)
    found = expression.fullmatch(PurePath(source).name)
    if found is None:
        return None
    try:
        moment = datetime.strptime(" ".join(found.groups()), " ".join(fields))
    except ValueError:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return max(since // timedelta(microseconds=1), 0) * 1000 or None


@lru_cache
def _time_pattern(pattern: str) -> "tuple[re.Pattern[str], list[str]]":
    """Return an expression for file names whose groups are fields of a time, and those fields."""
    parts = re.split(r"(%.|\{\w+\}|\*)", pattern)
    fields = [part for part in parts if part[:1] == "%" and part[1:] in _TIMES]
    words = (
        f"({_TIMES[part[1:]]})" if part in fields else ".*?" if part == "*" or part[:1] == "{" else re.escape(part)
        for part in parts
    )  # fmt: skip
    return re.compile("".join(words)), fields


def check_name_pattern(pattern: str, sources: Sequence[str]) -> None:
    """Raise SettingError for a pattern that matches no name of the recordings."""
    if not any(start_by_name(source, pattern) for source in sources):
        example = f": {PurePath(sources[0]).name} does not match it" if sources else ""
        raise SettingError(
            "", "start_time", f" {pattern}{example}; write file, or names with a time, as '*-%Y%m%d-%H%M%S.data'"
        )


def _reader(text: str) -> Callable[[str], Tags]:
    """Return the function from a recording's name to its tags. Raises SettingError for an unknown text."""
    if "{" in text:
        pattern = _pattern(text)
        return lambda source: found.groupdict() if (found := pattern.search(source.replace(os.sep, "/"))) else {}
    if text.endswith(".csv"):
        table = _table(text)
        return lambda source: table.get(source) or table.get(PurePath(source).name, {})
    if text.startswith("."):
        return lambda source: _beside(source + text)
    raise SettingError("", "tag_from", f" {text}: write a path with {{names}}, FILE.csv, .json, env:NAME or cgroup")


@lru_cache
def _pattern(text: str) -> "re.Pattern[str]":
    """Compile a pattern for a path or its end; ``{key}`` and ``*`` in it match any part of a folder or file name."""
    literal, *parts = _FIELD.split(text)
    expression = re.escape(literal)
    for name, after in zip(parts[::2], parts[1::2], strict=True):
        expression += (f"(?P<{name}>[^/]+)" if name else "[^/]*") + re.escape(after)
    try:
        found = re.compile(f"{'^' if text.startswith('/') or '://' in text else '(?:^|/)'}{expression}$")
    except re.error:
        found = None
    if found is None or not found.groups or {"{", "}"} & set("".join([literal, *parts[1::2]])):
        raise SettingError("", "tag_from", f" {text}: write each name once in braces, of letters, digits and _")
    return found


@lru_cache
def _table(name: str) -> Mapping[str, Tags]:
    """Return the tags in a CSV file by its column ``recording``, which has paths or file names of recordings."""
    try:
        text = read_file(Path(name), _MOST).decode()
        rows = list(csv.DictReader(text.splitlines(), restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError("", "tag_from", f" {name}: {getattr(error, 'strerror', None) or error}") from None
    if rows and "recording" not in rows[0]:
        raise FormatError("", "tag_from", f" {name}: its first line names no column recording")
    return {row.pop("recording"): {key: value for key, value in row.items() if key and value} for row in rows}


def _beside(name: str) -> Tags:
    """Return the tags in the JSON file ``name``, which is next to a recording; none if it does not exist."""
    try:
        with local_copy(name) as path:
            found = json.decode(read_file(path, _MOST), type=dict[str, str | int | float | bool | None])
    except FileNotFoundError:
        return {}
    except (DecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: {error}") from None
    return {key: str(value) for key, value in found.items() if value is not None and value != ""}
