"""Defaults for options from a file, so that CI need not repeat them: ``[tool.perf2x]`` of pyproject.toml, perf2x.toml.

::

    [tool.perf2x]               # for every command that has such options
    symfs = "sysroot"
    [tool.perf2x.convert]       # for one command
    to = "pprof"
    fail-if-lost = 1

The nearest such file counts, from the current directory upwards to the repository's root. The command line wins over
PERF2X_* variables, they win over the file. Inputs and outputs are never taken from it.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perf2x.model.errors import OptionError

_NEVER = frozenset({"inputs", "source", "output", "before", "after", "help"})


def defaults(make_commands: Callable[[], Mapping[str, Any]], start: Path) -> dict[str, dict[str, Any]]:
    """For each command its options' defaults, as click's ``default_map``; OptionError for names that no command has.

    ``make_commands`` gives all commands by name; it is called when there is a file with defaults.
    """
    found = _nearest(start)
    if found is None:
        return {}
    path, table = found
    commands = make_commands()
    known = {name: {option.name for option in command.params} - _NEVER for name, command in commands.items()}
    special = {name: table[name] for name in known if isinstance(table.get(name), dict)}
    common = {key: value for key, value in table.items() if key not in special}
    _check(path, common, {option for options in known.values() for option in options})
    for name, own in special.items():
        _check(path, own, known[name])
    return {
        name: {_field(key): value for key, value in (common | special.get(name, {})).items() if _field(key) in options}
        for name, options in known.items()
    }


def _nearest(start: Path) -> tuple[Path, dict[str, Any]] | None:
    for path in _candidates(start):
        try:
            text = path.read_bytes().decode()
            import tomllib  # most directories have no such file

            content = tomllib.loads(text)
        except OSError:
            continue
        except ValueError as error:  # TOML and UTF-8
            raise OptionError(f"{path}: {error}") from None
        table = content.get("tool", {}).get("perf2x") if path.name == "pyproject.toml" else content
        if isinstance(table, dict):
            return path, table
    return None


def _candidates(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        yield folder / "perf2x.toml"
        yield folder / "pyproject.toml"
        if (folder / ".git").exists():
            return


def _check(path: Path, table: Mapping[str, Any], known: set[str]) -> None:
    for key, value in table.items():
        if _field(key) not in known:
            shown = ", ".join(sorted(name.replace("_", "-") for name in known))
            raise OptionError(f"{path}: no option {key!r}; there are: {shown}")
        if not isinstance(value, str | int | float | list):
            raise OptionError(f"{path}: {key} is no text, number, truth or list of texts")


def _field(key: str) -> str:
    return key.replace("-", "_")
