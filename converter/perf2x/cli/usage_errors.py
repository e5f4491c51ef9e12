"""Usage errors in perf2x's own words, with suggestions, because typer's differ between versions."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import typer

from perf2x.base.did_you_mean import did_you_mean
from perf2x.cli.error_handling import report_errors
from perf2x.errors import OptionError

UsageError: Any = typer.BadParameter.__base__
"""Base class of usage errors, which typer does not export."""

_OTHER_WORDS = {
    "--format": ("--to",),
    "--to": ("--format",),
    "--out": ("--output",),
    "-f": ("--to", "--format"),
    "-t": ("--to", "--type", "--format"),
    "-n": ("--limit",),
    "-p": ("--pid",),
    "-C": ("--cpu",),
}
"""Options of other commands, and of perf, that correspond to an option."""


@contextlib.contextmanager
def report_usage_errors(context: Any) -> Iterator[None]:
    """Run the body; print a sentence and raise SystemExit if it, or parsing of ``context``, fails."""
    with report_errors():
        try:
            yield
        except UsageError as error:
            raise OptionError(_sentence(error, error.ctx or context)) from None


def _sentence(error: Any, context: Any) -> str:
    """Return one sentence, and the command whose help has more."""
    option = getattr(error, "option_name", "")
    if hasattr(error, "possibilities"):
        text = f"there is no option {option}{_suggestion(option, context)}"
    elif option:
        off = "".join(
            f"; {name} turns it off"
            for one in context.command.params
            if option in one.opts
            for name in one.secondary_opts
        )
        text = f"{option} takes no value{off}" if "not take" in error.message else f"{option} needs a value"
    else:
        extra = re.fullmatch(r"Got unexpected extra .*\((.*)\)", error.message)
        text = f"too many arguments: {extra[1]}" if extra else error.message[:1].lower() + error.message[1:].rstrip(".")
    return f"{text} ({context.command_path} --help)"


def takes_format(command: Any) -> bool:
    """Return whether a command has the options of the typed format."""
    return any("--set" in one.opts for one in command.params)


def _suggestion(option: str, context: Any) -> str:
    """Return the suggested option: a synonym, one of another format, else one that looks similar."""
    from perf2x.cli.format_parameters import options_of_formats

    command = context.command
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    options = [name for parameter in shown for name in (*parameter.opts, *parameter.secondary_opts)]
    words = [name for name in _OTHER_WORDS.get(option, ()) if name in options]
    if words:
        return f"; did you mean {' or '.join(words)}?"
    of_formats = options_of_formats() if takes_format(command) else {}
    if option in of_formats:
        typed, formats = of_formats[option]
        return f"; {typed} is an option of {', '.join(formats)}"
    spelled = {name.lstrip("-"): name for name in (*options, *of_formats) if name.startswith("--")}
    return did_you_mean(option.lstrip("-"), spelled).replace("mean ", "mean --").replace(" or ", " or --")
