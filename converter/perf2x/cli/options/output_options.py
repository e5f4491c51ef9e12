"""Options for format, name and labels of the output."""

from collections.abc import Sequence
from typing import Annotated, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError
from perf2x.model.setting import Setting

DEFAULT_FORMAT = "pprof"


def installed_formats(incomplete: str) -> list[str]:
    """Complete the name of an output format, including plugins."""
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS

    return [name for name in sorted(available(EMITTERS)) if name.startswith(incomplete)]


class OutputFlags(Frozen):
    """Format, file, and options of the format."""

    PANEL = "Output"

    to: Annotated[
        str | None,
        Setting(
            "Output format; perf2x formats lists them.",
            ("--to", "-t"),
            "FORMAT",
            shown_default=f"by the suffix of -o, else {DEFAULT_FORMAT}",
            complete=installed_formats,
        ),
    ] = None
    output: Annotated[str | None, Setting("Name of the output; - is standard output.", ("--output", "-o"), "FILE")] = (
        None
    )
    settings: Annotated[tuple[str, ...], Setting("An option of the format.", ("--set", "-s"), "NAME=VALUE")] = ()
    tags: Annotated[
        tuple[str, ...],
        Setting(
            "pprof: a label, otlp: an attribute; for all inputs, or given once per input.",
            ("--tag",),
            "KEY=VALUE",
            rare=True,
        ),
    ] = ()

    def part_of(self, inputs: int) -> dict[str, Any]:
        """Return fields of LoadOptions for this number of inputs."""
        return {"tags": tuple(parse_tags(self.tags, inputs)) if self.tags else ()}

    def format(self) -> str:
        """The name of the format.

        Raises OptionError if the output's suffix does not determine it, or contradicts it.
        """
        if self.is_default():
            return DEFAULT_FORMAT
        from perf2x.kernel.format_suffix import check_output_name, format_of

        if self.to:
            check_output_name(self.to, self.output or "")
            return self.to
        return format_of(self.output)

    def is_default(self) -> bool:
        """Return whether neither --to nor -o determines the format."""
        return self.to is None and self.output in (None, "-")

    def format_settings(self) -> dict[str, object]:
        """The values of ``--set``. Raises OptionError for a text that is not NAME=VALUE."""
        chosen: dict[str, object] = {}
        for setting in self.settings:
            key, equals, text = setting.partition("=")
            if not equals:
                raise OptionError(f"--set {setting}: expected NAME=VALUE")
            chosen[key.replace("-", "_")] = text
        return chosen


def parse_tags(texts: Sequence[str], inputs: int) -> list[dict[str, str]]:
    """Parse the values of ``--tag`` into one mapping per input.

    A key given once applies to all inputs; given once per input, its values are assigned in order. Raises OptionError
    for any other number, and for a text that is not KEY=VALUE.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise OptionError(f"--tag {text}: expected KEY=VALUE")
        values.setdefault(key, []).append(value)
    for key, items in values.items():
        if len(items) not in (1, inputs):
            raise OptionError(
                f"--tag {key}=…: given {len(items)} times for {inputs} inputs; pass it once, or once for each"
            )
    return [{key: items[row % len(items)] for key, items in values.items()} for row in range(inputs)]
