"""``--help`` with the common options, ``--help-all`` with all of them, both with examples."""

import contextlib
import os
from collections.abc import Mapping, Set
from textwrap import indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from perf2x.cli.option_names import option_of, options_in_errors
from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.cli.usage_errors import UsageError, report_usage_errors, takes_format

CONTEXT_SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 100}
# Key in typer's ``Context.meta``: whether ``--help-all`` was typed.
_SHOW_ALL = "perf2x.help_all"
# Key in ``Context.meta``: the parameters of the output format, once they are added.
_FORMAT_PARAMETERS = "perf2x.format_parameters"
# Key in ``Context.meta``: the typed arguments, until the parameters of the format are added.
_ARGUMENTS = "perf2x.arguments"


class PlainHelp:
    """Help as plain text, because rich, which typer uses, takes longer to import than everything else."""

    rare_parameters: Set[str] = frozenset()
    """Names of parameters that only ``--help-all`` shows."""

    def help_lines(self) -> Mapping[str, str]:
        """Return a line of help for each command of a group, by name."""
        return {}

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the parameters, each under the heading of its panel; then, for a group, its commands."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row and (parameter.name not in self.rare_parameters or ctx.meta.get(_SHOW_ALL)):
                heading = parameter.rich_help_panel or f"{parameter.param_type_name.capitalize()}s"
                text = row[1].replace(r"\[", "[")  # parameter_of escaped brackets for completions
                panels.setdefault(heading, []).append((row[0], text))
        panels["Commands"] = list(self.help_lines().items())
        for heading, rows in panels.items():
            if rows:
                with formatter.section(_emphasized(heading)):
                    formatter.write_dl(rows)


def _emphasized(heading: str) -> str:
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return heading if is_plain else typer.style(heading, bold=True)


class HelpfulCommand(PlainHelp, TyperCommand):
    """A command whose ``--help`` omits rare options. If it has ``--set``, it also takes the output format's options."""

    def get_params(self, ctx: Any) -> Any:
        """Return the command's parameters and, once added, those of the output format."""
        return [*leave_as_typed(super().get_params(ctx)), *ctx.meta.get(_FORMAT_PARAMETERS, ())]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments. Importing the output format takes time, so its options are added only if needed."""
        with report_usage_errors(ctx):
            if takes_format(self):
                ctx.meta[_ARGUMENTS] = [*args]
                if "--help-all" not in args:
                    with contextlib.suppress(UsageError):
                        return super().parse_args(ctx, [*args])  # a copy, since parsing consumes it
                self._add_options_of_format(ctx)
            return super().parse_args(ctx, args)

    def _add_options_of_format(self, ctx: Any) -> None:
        from perf2x.cli.format_parameters import parameters_of_format

        if _ARGUMENTS in ctx.meta:
            ctx.meta[_FORMAT_PARAMETERS] = parameters_of_format(self, ctx, ctx.meta.pop(_ARGUMENTS))

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Where an error names a setting of the library, replace it by its option."""

        def option_name(setting: str) -> str:
            self._add_options_of_format(ctx)
            return option_of(self.get_params(ctx), setting)

        with options_in_errors(option_name):
            return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples unwrapped, so that they can be copied."""
        if self.epilog:
            with formatter.section(_emphasized("Examples")):
                formatter.write(indent(f"{self.epilog}\n", "  "))


def print_full_help(context: typer.Context, is_set: bool) -> None:
    """Print the help with all options, and exit."""
    if is_set and not context.resilient_parsing:
        context.meta[_SHOW_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, expose_value=False, callback=print_full_help, help="Show all options."),
]
