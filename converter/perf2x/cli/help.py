"""``--help`` with the common options, ``--help-all`` with all of them, both with examples."""

import copy
import inspect
import os
from collections.abc import Callable
from functools import partial
from textwrap import dedent, indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from perf2x.cli.as_typed import as_typed, option_of
from perf2x.cli.options import Rare
from perf2x.cli.plain_parameters import take_plain_values
from perf2x.cli.usage_errors import report_usage_errors, takes_format

_ALL, _OF_FORMAT = "perf2x.help_all", "perf2x.of_format"


class PlainHelp:
    """Help as plain text: typer draws it with rich, which takes longer to import than all the rest."""

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the parameters below the headings of their groups, and the commands of a group of commands."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            row = _help_row(parameter, ctx)
            if row is not None:
                heading = parameter.rich_help_panel or f"{parameter.param_type_name.capitalize()}s"
                groups.setdefault(heading, []).append(row)
        groups["Commands"] = [(name, one.help) for name, one in getattr(self, "commands", {}).items()]
        for heading, rows in groups.items():
            if rows:
                with formatter.section(_emphasized(heading)):
                    formatter.write_dl(rows)


def _help_row(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Names and description of a parameter; None for a hidden one."""
    row = parameter.get_help_record(context)
    return row and (row[0], row[1].replace(r"\[", "["))  # which descriptions in completions of zsh and fish need


def _emphasized(heading: str) -> str:
    """The heading in bold, which typer takes off where it prints on no terminal."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return heading if is_plain else typer.style(heading, bold=True)


class HelpfulCommand(PlainHelp, TyperCommand):
    """A command whose ``--help`` leaves out its rare options."""

    rare: frozenset[str | None] = frozenset()
    help_names: list[str] = ["--help"]  # noqa: RUF012 - replaced, never changed
    """A command keeps the help option of its first context, so whoever made that must not name it."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Return the names of the help option."""
        return self.help_names

    def get_params(self, ctx: Any) -> Any:
        """Return the command's parameters, with that of help."""
        return [*take_plain_values(super().get_params(ctx), self.callback), *ctx.meta.get(_OF_FORMAT, ())]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options."""
        with report_usage_errors(ctx):
            if takes_format(self) and not set(self.help_names) & set(args):
                from perf2x.cli.format_parameters import parameters_of_format

                ctx.meta[_OF_FORMAT] = parameters_of_format(self, ctx, args)
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors name options as they are typed."""
        with as_typed(partial(option_of, self.get_params(ctx))):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; with the rare options after ``--help-all``."""
        shown = self
        if not ctx.meta.get(_ALL):
            ctx.meta.pop(_OF_FORMAT, None)
            shown = copy.copy(self)
            shown.params = [parameter for parameter in self.params if parameter.name not in self.rare]
        super(HelpfulCommand, shown).format_help(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, which are not wrapped: users copy them."""
        if self.epilog:
            with formatter.section(_emphasized("Examples")):
                formatter.write(indent(f"{self.epilog}\n", "  "))


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, expose_value=False, callback=_show_all, help="Show all options."),
]


def rare_options(function: Callable[..., None]) -> frozenset[str | None]:
    """Names of the parameters that are marked as Rare."""
    hints = inspect.get_annotations(function, eval_str=True)
    return frozenset(name for name, hint in hints.items() if Rare in getattr(hint, "__metadata__", ()))


def help_texts(function: Callable[..., None]) -> tuple[str, str]:
    """A docstring without line breaks inside paragraphs, which are wrapped; and the examples behind its ``::``."""
    text, _, examples = (inspect.getdoc(function) or "").partition("\n\n::\n\n")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")), dedent(examples)
