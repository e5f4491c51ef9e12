"""The options that say what is written, and where."""

from typing import Annotated

import typer
from msgspec import Struct

from perf2x.pipeline.output_names import default_output
from perf2x.tables.errors import OptionError

_PANEL = "Output"
DEFAULT_FORMAT = "pprof"


def installed_formats(incomplete: str) -> list[str]:
    """Complete the name of an output format, plugins included."""
    from perf2x.plugins.registry import EMITTERS, available

    return [name for name in available(EMITTERS) if name.startswith(incomplete)]


To = Annotated[
    str | None,
    typer.Option(
        "--to",
        "-t",
        metavar="FORMAT",
        help="Output format; perf2x formats lists them.",
        show_default=f"by the suffix of -o, else {DEFAULT_FORMAT}",
        autocompletion=installed_formats,
        rich_help_panel=_PANEL,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write; - is standard output.", rich_help_panel=_PANEL
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option of the format.", rich_help_panel=_PANEL),
]


class OutputFlags(Struct, frozen=True):
    """Format, file and the format's own options."""

    to: To = None
    output: Output = None
    settings: Set = None

    def format(self) -> str:
        """The wanted format's name; OptionError when the output's suffix does not tell, which then has to be said."""
        if self.to or self.nothing_said():
            return self.to or DEFAULT_FORMAT
        from perf2x.plugins.suffix import format_of

        return format_of(self.output)

    def nothing_said(self) -> bool:
        """Whether the format is left to perf2x."""
        return self.to is None and self.output in (None, "-")

    def chosen(self, **more: object) -> dict[str, object]:
        """Options of the format, said as ``--set`` or as options of their own; ``more`` where not None."""
        return parsed_settings(self.settings) | {key: value for key, value in more.items() if value is not None}

    def target(self, source: str, suffix: str) -> str:
        """Where to write."""
        return self.output or default_output(source, suffix)


def parsed_settings(settings: list[str] | None) -> dict[str, object]:
    """``--set NAME=VALUE`` as a mapping; OptionError for one without a value."""
    chosen: dict[str, object] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: expected NAME=VALUE")
        chosen[key.replace("-", "_")] = text
    return chosen
