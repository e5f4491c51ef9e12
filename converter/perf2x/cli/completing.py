"""What a shell may offer: words such as ``plain|compat``, installed formats; and the script that makes a shell ask."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from perf2x.cli.exits import guarded
from perf2x.model.errors import OptionError, OutputError

_WORDS = re.compile(r"[a-z][a-z-]*(\|[a-z][a-z-]*)+")
_VARIABLE = "_PERF2X_COMPLETE"
_ZSH = "fpath+=~/.zfunc; autoload -Uz compinit; compinit"


def offered(name: str, metavar: str | None) -> Sequence[str] | None:
    """The words that a parameter takes; None where only the user knows."""
    if metavar is not None and _WORDS.fullmatch(metavar):
        return metavar.split("|")
    if name != "to":
        return None
    from perf2x.plugins import EMITTERS, available

    return list(available(EMITTERS))


def options() -> list[click.Parameter]:
    """``--install-completion`` and ``--show-completion``."""
    shared: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
    return [
        click.Option(
            ["--install-completion"],
            callback=guarded(_install),
            help="Install completion for the current shell.",
            **shared,
        ),
        click.Option(
            ["--show-completion"],
            callback=guarded(_show),
            help="Show completion for the current shell, to copy it or customize the installation.",
            **shared,
        ),
    ]


def _show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(_script(context)[1])
        context.exit()


def _install(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    shell, script = _script(context)
    home = Path.home()
    place, start = {
        "bash": (home / ".bash_completions" / "perf2x.sh", home / ".bashrc"),
        "zsh": (home / ".zfunc" / "_perf2x", home / ".zshrc"),
        "fish": (home / ".config" / "fish" / "completions" / "perf2x.fish", None),
    }[shell]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(script + "\n")
        if start is not None:
            _add_line(start, f"source '{place}'" if shell == "bash" else _ZSH)
    except OSError as error:
        raise OutputError(f"cannot write {error.filename}: {error.strerror}") from None
    click.echo(f"{shell} completion is in {place}; it works in shells that are opened from now on")
    context.exit()


def _script(context: click.Context) -> tuple[str, str]:
    """The user's shell and its script; OptionError for a shell that is not known."""
    from click.shell_completion import get_completion_class

    shell = Path(os.environ.get("SHELL", "")).name
    known = get_completion_class(shell)
    if known is None:
        raise OptionError(f"completion is for bash, zsh and fish; $SHELL is {shell or 'not set'}")
    return shell, known(context.find_root().command, {}, "perf2x", _VARIABLE).source()


def _add_line(file: Path, line: str) -> None:
    known = file.read_text() if file.exists() else ""
    if line not in known.splitlines():
        with file.open("a") as out:
            out.write(f"{'' if known.endswith(chr(10)) or not known else chr(10)}{line}\n")
