"""``--help`` with the common options, ``--help-all`` with all of them, both with examples."""

import contextlib
import os
from collections.abc import Mapping, Set
from textwrap import indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from perf2x.cli.plain_parameters import leave_as_typed
from perf2x.cli.typed_options import as_typed, option_of
from perf2x.cli.usage_errors import UsageError, report_usage_errors, takes_format

CONTEXT = {"help_option_names": ["--help", "-h"], "max_content_width": 100}
_ALL, _OF_FORMAT, _WORDS = "perf2x.help_all", "perf2x.of_format", "perf2x.words"


class PlainHelp:
    """Help as plain text, because rich, which typer uses, takes longer to import than everything else."""

    rare: Set[str] = frozenset()
    """Parameters that only ``--help-all`` shows."""

    def lines(self) -> Mapping[str, str]:
        """Return the descriptions of the commands of a group by name."""
        return {}

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the parameters below the headings of their groups, then the commands of a group."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row and (parameter.name not in self.rare or ctx.meta.get(_ALL)):
                heading = parameter.rich_help_panel or f"{parameter.param_type_name.capitalize()}s"
                words = row[1].replace(r"\[", "[")  # parameter_of escaped them for completions
                groups.setdefault(heading, []).append((row[0], words))
        groups["Commands"] = list(self.lines().items())
        for heading, rows in groups.items():
            if rows:
                with formatter.section(_emphasized(heading)):
                    formatter.write_dl(rows)


def _emphasized(heading: str) -> str:
    """Return the heading in bold, which typer removes if the output is not a terminal."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return heading if is_plain else typer.style(heading, bold=True)


class HelpfulCommand(PlainHelp, TyperCommand):
    """A command whose ``--help`` omits its rare options."""

    def get_params(self, ctx: Any) -> Any:
        """Return the command's parameters, including help and those of the typed format."""
        return [*leave_as_typed(super().get_params(ctx)), *ctx.meta.get(_OF_FORMAT, ())]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options."""
        with report_usage_errors(ctx):
            if takes_format(self):
                ctx.meta[_WORDS] = [*args]
                if "--help-all" not in args:
                    with contextlib.suppress(UsageError):
                        return super().parse_args(ctx, [*args])  # most options are the command's own
                self._add_options_of_format(ctx)
            return super().parse_args(ctx, args)

    def _add_options_of_format(self, ctx: Any) -> None:
        from perf2x.cli.format_parameters import parameters_of_format

        if _WORDS in ctx.meta:
            ctx.meta[_OF_FORMAT] = parameters_of_format(self, ctx, ctx.meta.pop(_WORDS))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors name options as they are typed."""

        def option(setting: str) -> str:
            self._add_options_of_format(ctx)
            return option_of(self.get_params(ctx), setting)

        with as_typed(option):
            return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples unwrapped, so that they can be copied."""
        if self.epilog:
            with formatter.section(_emphasized("Examples")):
                formatter.write(indent(f"{self.epilog}\n", "  "))


def show_all(context: typer.Context, is_set: bool) -> None:
    """Print the help with all options, and exit."""
    if is_set and not context.resilient_parsing:
        context.meta[_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, expose_value=False, callback=show_all, help="Show all options."),
]
