"""Tags and dates of a recording, taken from its name, from files next to it, and from the cgroups of its samples.

The *sources* of tags (--tag-from) are:

- a path with keys in braces, such as ``{host}/{service}-*.data``: the values are the parts of the recording's
  path in place of the braces;
- a CSV file: the tags are in the row for the recording;
- a suffix, such as ``.json``, of a JSON file next to the recording;
- ``env:NAME``: an environment variable with tags for all recordings;
- ``cgroup``: container and pod, from the cgroups of the recording's samples.
"""

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

CGROUP_SOURCE = "cgroup"
"""The source of tags that are known only after a recording has been read."""
_VARIABLE_PREFIX = "env:"
_MAX_FILE_SIZE = 1 << 28  # of a CSV or JSON file, in bytes
_KEY_OR_STAR = re.compile(r"\{([A-Za-z_]\w*)\}|\*", re.ASCII)
_TWO_DIGITS = r"\d\d"
_STRPTIME = {
    "Y": r"\d{4}", "y": _TWO_DIGITS, "m": _TWO_DIGITS, "d": _TWO_DIGITS, "H": _TWO_DIGITS, "I": _TWO_DIGITS,
    "M": _TWO_DIGITS, "S": _TWO_DIGITS, "j": r"\d{3}", "f": r"\d{1,6}", "z": r"Z|[+-]\d\d:?\d\d",
    "b": r"[^\W\d_]+", "B": r"[^\W\d_]+", "p": "[AaPp][Mm]",
}  # fmt: skip
"""Regular expressions for the fields of strptime that a pattern of file names may have."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tags_from_environment(sources: Iterable[str]) -> Tags:
    """Return the tags in environment variables (``env:NAME``) of the form KEY=VALUE,…; check all other sources of tags.

    The command calls this, because workers may have other variables. Raises SettingError for a malformed source or
    variable, FormatError for an unreadable CSV file.
    """
    _tags_in_csv.cache_clear()  # the file may have changed since the last call
    tags: dict[str, str] = {}
    for source in sources:
        if not source.startswith(_VARIABLE_PREFIX):
            if source != CGROUP_SOURCE:
                _tag_reader(source)
            continue
        for pair in filter(None, os.environ.get(source.removeprefix(_VARIABLE_PREFIX), "").split(",")):
            key, _, value = pair.strip().partition("=")
            if not key or not value:
                raise SettingError("", "tag_from", f" {source}: {pair!r} is not KEY=VALUE")
            tags[key] = unquote(value)
    return tags


def tags_of(recording: str, sources: Iterable[str]) -> tuple[Tags, bool]:
    """Return the tags of the recording with this path or URL, and whether any source has no tags for it.

    The last source of a key wins. Environment variables and cgroups are left out. Raises FormatError for a damaged JSON
    file.
    """
    tags_by_source = [
        _tag_reader(source)(recording)
        for source in sources
        if source != CGROUP_SOURCE and not source.startswith(_VARIABLE_PREFIX)
    ]
    return {key: value for tags in tags_by_source for key, value in tags.items()}, not all(tags_by_source)


def tags_from_cgroups(paths: Iterable[str]) -> Tags:
    """Return the ids of ``container`` and ``pod`` in cgroup paths; an id that differs between paths is left out."""
    known_paths, tags = [path for path in paths if path], {}
    for key in CGROUP_PARTS[1:]:
        ident, *others = {cgroup_part(key, path) for path in known_paths} or {""}
        if ident and not others:
            tags[key] = ident
    return tags


def start_from_name(recording: str, pattern: str) -> int | None:
    """Return the time in a recording's file name, in nanoseconds since the epoch; None if the name does not match.

    ``pattern`` consists of fields of strptime and literal text; ``{key}`` and ``*`` match any text. The time is in UTC
    unless the pattern has ``%z``.
    """
    expression, fields = _time_pattern(pattern)
    match = expression.fullmatch(PurePath(recording).name)
    if match is None:
        return None
    try:
        start = datetime.strptime(" ".join(match.groups()), " ".join(fields))
    except ValueError:
        return None
    since_epoch = (start if start.tzinfo else start.replace(tzinfo=UTC)) - _EPOCH
    return max(since_epoch // timedelta(microseconds=1), 0) * 1000 or None


@lru_cache
def _time_pattern(pattern: str) -> "tuple[re.Pattern[str], list[str]]":
    parts = re.split(r"(%.|\{\w+\}|\*)", pattern)
    fields = [part for part in parts if part[:1] == "%" and part[1:] in _STRPTIME]
    expressions = (
        f"({_STRPTIME[part[1:]]})" if part in fields else ".*?" if part == "*" or part[:1] == "{" else re.escape(part)
        for part in parts
    )  # fmt: skip
    return re.compile("".join(expressions)), fields


def check_name_pattern(pattern: str, recordings: Sequence[str]) -> None:
    """Raise SettingError for a pattern that does not match the file name of any of the recordings."""
    if not any(start_from_name(recording, pattern) for recording in recordings):
        example = f": {PurePath(recordings[0]).name} does not match it" if recordings else ""
        raise SettingError(
            "", "start_time", f" {pattern}{example}; write file, or names with a time, as '*-%Y%m%d-%H%M%S.data'"
        )


def _tag_reader(source: str) -> Callable[[str], Tags]:
    if "{" in source:
        pattern = _path_pattern(source)
        return lambda recording: match.groupdict() if (match := pattern.search(recording.replace(os.sep, "/"))) else {}
    if source.endswith(".csv"):
        table = _tags_in_csv(source)
        return lambda recording: table.get(recording) or table.get(PurePath(recording).name, {})
    if source.startswith("."):
        return lambda recording: _tags_in_json(recording + source)
    raise SettingError("", "tag_from", f" {source}: write a path with {{names}}, FILE.csv, .json, env:NAME or cgroup")


@lru_cache
def _path_pattern(source: str) -> "re.Pattern[str]":
    """Match a whole path or URL, or the last parts of a path."""
    literal, *parts = _KEY_OR_STAR.split(source)
    expression = re.escape(literal)
    for key, next_literal in zip(parts[::2], parts[1::2], strict=True):
        expression += (f"(?P<{key}>[^/]+)" if key else "[^/]*") + re.escape(next_literal)
    try:
        pattern = re.compile(f"{'^' if source.startswith('/') or '://' in source else '(?:^|/)'}{expression}$")
    except re.error:
        pattern = None
    if pattern is None or not pattern.groups or {"{", "}"} & set("".join([literal, *parts[1::2]])):
        raise SettingError("", "tag_from", f" {source}: write each name once in braces, of letters, digits and _")
    return pattern


@lru_cache
def _tags_in_csv(name: str) -> Mapping[str, Tags]:
    try:
        text = read_file(Path(name), _MAX_FILE_SIZE).decode()
        rows = list(csv.DictReader(text.splitlines(), restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError("", "tag_from", f" {name}: {getattr(error, 'strerror', None) or error}") from None
    if rows and "recording" not in rows[0]:
        raise FormatError("", "tag_from", f" {name}: its first line names no column recording")
    return {row.pop("recording"): {key: value for key, value in row.items() if key and value} for row in rows}


def _tags_in_json(name: str) -> Tags:
    try:
        with local_copy(name) as path:
            values = json.decode(read_file(path, _MAX_FILE_SIZE), type=dict[str, str | int | float | bool | None])
    except FileNotFoundError:
        return {}
    except FormatError as error:
        if isinstance(error.__context__, FileNotFoundError):  # a URL; see as_format_errors
            return {}
        raise
    except (DecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{name}: {error}") from None
    return {key: str(value) for key, value in values.items() if value is not None and value != ""}
