"""Defaults for options from a file, so that CI need not repeat them: ``[tool.perf2x]`` of pyproject.toml, perf2x.toml.

::

    [tool.perf2x]               # for every command that has such options
    symfs = "sysroot"
    [tool.perf2x.convert]       # for one command
    to = "pprof"
    fail-if = "lost=1"

A key is the option as the command line spells it, without the dashes in front. The nearest such file counts, from the
current directory upwards to the repository's root. The command line wins over PERF2X_* variables, they win over the
file.
"""

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.base.did_you_mean import close_names, did_you_mean
from perf2x.base.errors import OptionError
from perf2x.base.files.read_file import read_file
from perf2x.base.files.sysroot import SYSROOT, is_file
from perf2x.cli.plain_parameters import NO, YES

if TYPE_CHECKING:
    from typer.core import TyperCommand, TyperOption

ENVIRONMENT = "PERF2X_"
"""Prefix of environment variables: ``PERF2X_STATS=json`` is ``--stats json`` of any command."""

_MOST = 1 << 20
"""Bytes of a file."""
_NEVER_IN_FILES = frozenset({"send"})
_LIKE_OURS = 0.8
"""Likeness of a variable to one of ours, from 0 to 1, that makes it a slip: others are somebody's own."""


class Setting(Struct, frozen=True):
    """One spelling of an option."""

    option: "TyperOption"
    negated: bool = False
    """True for the spelling that switches the option off: ``no-inline``."""

    def value(self, where: str, setting: Any) -> Any:
        """Convert a value from TOML for the option; OptionError for one of the wrong type."""
        if self.option.is_flag:
            if not isinstance(setting, bool):
                raise OptionError(f"{where} is a switch: true or false")
            return setting != self.negated
        several = setting if isinstance(setting, list) else [setting]
        if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in several):
            raise OptionError(f"{where} is neither a text nor a number{', nor a list of them' * self.option.multiple}")
        if not self.option.multiple and isinstance(setting, list):
            raise OptionError(f"{where} takes one value, not a list")
        return [str(one) for one in several] if self.option.multiple else str(setting)


def settings(command: "TyperCommand") -> dict[str, Setting]:
    """Every spelling of every option of a command, without the dashes in front."""
    found: dict[str, Setting] = {}
    for option in command.params:
        if option.param_type_name == "option" and option.expose_value:
            named: Any = option
            for names, negated in ((named.opts, False), (named.secondary_opts, True)):
                found |= {name[2:]: Setting(named, negated) for name in names if name.startswith("--")}
    return found


def name_variables(command: "TyperCommand") -> None:
    """Give every option of a command its environment variable."""
    for spelling, setting in settings(command).items():
        if not setting.negated:
            setting.option.envvar = variable(spelling)
            setting.option.show_envvar = False  # the name follows from the option's


def variable(spelling: str) -> str:
    """``PERF2X_FAIL_IF`` for ``fail-if``."""
    return ENVIRONMENT + spelling.replace("-", "_").upper()


def defaults(
    name: str, names: Iterable[str], load: Callable[[str], "TyperCommand"], start: Path, environment: Mapping[str, str]
) -> dict[str, Any]:
    """The defaults of the command ``name``, by parameter; OptionError for a key that none of ``names`` has.

    ``load`` makes a command; others are made when a key is not one of the command's own options.
    """
    own = settings(load(name))
    found: dict[str, Any] = {}
    path, table = _nearest(start) or (Path(), {})
    others = [other for other in names if other != name]
    for key, value in _of_command(path, table, name, others):
        if _spelling(key) in _NEVER_IN_FILES:
            raise OptionError(f"{path}: {key} is not taken from a file: a recording would go where a repository says")
        setting = own.get(_spelling(key))
        if setting is not None:
            found[str(setting.option.name)] = setting.value(f"{path}: {key}", value)
        elif key in table.get(name, {}):
            raise _unknown(path, key, f"perf2x {name} has no option", own)
        else:
            known = {spelling for other in others for spelling in settings(load(other))}
            if _spelling(key) not in known:
                raise _unknown(path, key, "there is no option", {*known, *own})
    _check_variables(environment, own, lambda: (settings(load(other)) for other in others))
    return found | _switched_off(own, environment)


def _check_variables(
    environment: Mapping[str, str], own: dict[str, Setting], others: Callable[[], Iterable[dict[str, Setting]]]
) -> None:
    """OptionError for a variable that is nearly one of an option; ``others`` makes the other commands' settings."""
    ours = {SYSROOT, *map(variable, own)}
    unknown = [name for name in environment if name.startswith(ENVIRONMENT) and name not in ours]
    if not unknown:
        return
    ours.update(variable(spelling) for known in others() for spelling in known)
    for name in unknown:
        close = close_names(name, ours, 1, _LIKE_OURS) if name not in ours else ()
        if close:
            raise OptionError(f"{name}: no option has this variable; did you mean {close[0]}?")


def _of_command(path: Path, table: dict[str, Any], name: str, others: list[str]) -> Iterator[tuple[str, Any]]:
    """Keys for all commands, then those for this one, which override them."""
    yield from ((key, value) for key, value in table.items() if key != name and key not in others)
    special = table.get(name, {})
    if not isinstance(special, dict):
        raise OptionError(f"{path}: {name} is a command; its options go to a table of that name")
    yield from special.items()


def _switched_off(own: dict[str, Setting], environment: Mapping[str, str]) -> dict[str, Any]:
    """Options switched off by ``PERF2X_NO_INLINE=1`` and the like; typer reads the other variables itself."""
    found: dict[str, Any] = {}
    for spelling, setting in own.items():
        text = environment.get(variable(spelling)) if setting.negated else None
        if text is not None:
            if text.lower() not in YES | NO:
                raise OptionError(f"{variable(spelling)}={text}: it is a switch; set it to 1 or 0")
            found[str(setting.option.name)] = text.lower() in NO
    return found


def _nearest(start: Path) -> tuple[Path, dict[str, Any]] | None:
    for path in filter(is_file, _config_paths(start)):
        try:
            content = _parsed(read_file(path, _MOST).decode())
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise OptionError(f"{path}: {error.strerror}") from None
            continue
        except ValueError as error:  # TOML and UTF-8
            raise OptionError(f"{path}: {error}") from None
        table = content.get("tool", {}).get("perf2x") if path.name == "pyproject.toml" else content
        if isinstance(table, dict):
            return path, table
    return None


@cache
def _parsed(text: str) -> dict[str, Any]:
    """Parse a file once, however many commands a process runs."""
    import tomllib  # most directories have no such file

    return tomllib.loads(text)


def _config_paths(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        yield folder / "perf2x.toml"
        yield folder / "pyproject.toml"
        if (folder / ".git").exists():
            return


def _unknown(path: Path, key: str, problem: str, known: Iterable[str]) -> OptionError:
    advice = did_you_mean(_spelling(key), known) or "; perf2x man lists all"
    return OptionError(f"{path}: {problem} {key!r}{advice}")


def _spelling(key: str) -> str:
    return key.replace("_", "-")
