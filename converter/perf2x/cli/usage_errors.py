"""Turns usage errors into sentences with suggestions, because typer's own messages differ between its versions."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import typer

from perf2x.base.did_you_mean import did_you_mean
from perf2x.cli.error_handling import report_errors
from perf2x.errors import OptionError

UsageError: Any = typer.BadParameter.__base__
"""Base class of typer's usage errors; typer does not export it."""

# Options of other commands or of perf, and what to suggest.
_SIMILAR_OPTIONS = {
    "--format": ("--to",),
    "--to": ("--format",),
    "--out": ("--output",),
    "-f": ("--to", "--format"),
    "-t": ("--to", "--type", "--format"),
    "-n": ("--limit",),
    "-p": ("--pid",),
    "-C": ("--cpu",),
}


@contextlib.contextmanager
def report_usage_errors(context: Any) -> Iterator[None]:
    """Run the body of the ``with`` statement; if it fails, print a sentence and raise SystemExit."""
    with report_errors():
        try:
            yield
        except UsageError as error:
            raise OptionError(_sentence(error, error.ctx or context)) from None


def _sentence(error: Any, context: Any) -> str:
    """Return a sentence on a usage error.

    Errors are told apart by their attributes and texts, because typer does not export their classes.
    """
    option = getattr(error, "option_name", "")
    if hasattr(error, "possibilities"):  # NoSuchOption
        text = f"there is no option {option}{_suggestion(option, context)}"
    elif option:  # a missing value, or a switch with a value
        how_to_turn_off = "".join(
            f"; {name} turns it off"
            for parameter in context.command.params
            if option in parameter.opts
            for name in parameter.secondary_opts
        )
        text = f"{option} takes no value{how_to_turn_off}" if "not take" in error.message else f"{option} needs a value"
    else:
        extra = re.fullmatch(r"Got unexpected extra .*\((.*)\)", error.message)
        text = f"too many arguments: {extra[1]}" if extra else error.message[:1].lower() + error.message[1:].rstrip(".")
    return f"{text} ({context.command_path} --help)"


def takes_format(command: Any) -> bool:
    """Return whether a command also takes the options of its output format."""
    return any("--set" in parameter.opts for parameter in command.params)


def _suggestion(option: str, context: Any) -> str:
    from perf2x.cli.format_parameters import options_of_formats

    command = context.command
    visible = [parameter for parameter in command.get_params(context) if not getattr(parameter, "hidden", False)]
    options = [name for parameter in visible for name in (*parameter.opts, *parameter.secondary_opts)]
    synonyms = [name for name in _SIMILAR_OPTIONS.get(option, ()) if name in options]
    if synonyms:
        return f"; did you mean {' or '.join(synonyms)}?"
    format_options = options_of_formats() if takes_format(command) else {}
    if option in format_options:
        how_to_type, formats = format_options[option]
        return f"; {how_to_type} is an option of {', '.join(formats)}"
    # compared without hyphens, which all names have in common
    names_without_hyphens = {name.lstrip("-") for name in (*options, *format_options) if name.startswith("--")}
    return did_you_mean(option.lstrip("-"), names_without_hyphens).replace("mean ", "mean --").replace(" or ", " or --")
