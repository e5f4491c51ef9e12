"""Options for the format, the name and the tags of the output."""

from collections.abc import Sequence
from typing import Annotated, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError
from perf2x.model.setting import Setting

DEFAULT_FORMAT = "pprof"


def installed_formats(incomplete: str) -> list[str]:
    """Return the output formats, plugins included, whose names begin with ``incomplete``."""
    from perf2x.base.installed_packages import entry_points_by_name
    from perf2x.kernel.registry import EMITTERS

    return [name for name in sorted(entry_points_by_name(EMITTERS)) if name.startswith(incomplete)]


class OutputFlags(Frozen):
    """Format and name of the output, options of the format, and tags."""

    PANEL = "Output"

    to: Annotated[
        str | None,
        Setting(
            "Output format; perf2x formats lists them.",
            ("--to", "-t"),
            "FORMAT",
            shown_default=f"by the suffix of -o; {DEFAULT_FORMAT} without -o",
            complete=installed_formats,
        ),
    ] = None
    output: Annotated[str | None, Setting("Name of the output; - is standard output.", ("--output", "-o"), "FILE")] = (
        None
    )
    """None: a name made from the first input's and the format's suffix."""
    set_texts: Annotated[tuple[str, ...], Setting("An option of the format.", ("--set", "-s"), "NAME=VALUE")] = ()
    tags: Annotated[
        tuple[str, ...],
        Setting(
            "Label (pprof) or attribute (otlp) to add to samples: once for all inputs, or once for each, in order.",
            ("--tag",),
            "KEY=VALUE",
            rare=True,
        ),
    ] = ()

    def load_option_fields(self, input_count: int) -> dict[str, Any]:
        """Return the field of LoadOptions for ``--tag``."""
        return {"tags": tuple(parse_tags(self.tags, input_count)) if self.tags else ()}

    def format(self) -> str:
        """Return the name of the output format, from --to or from the suffix of -o.

        Raises OptionError if the two contradict each other, or if the suffix determines no format.
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

    def set_values(self) -> dict[str, object]:
        """Return the values of ``--set``, as text, by the format's field. Raises OptionError without ``=``."""
        values: dict[str, object] = {}
        for text in self.set_texts:
            name, equals, value = text.partition("=")
            if not equals:
                raise OptionError(f"--set {text}: expected NAME=VALUE")
            values[name.replace("-", "_")] = value
        return values


def parse_tags(texts: Sequence[str], input_count: int) -> list[dict[str, str]]:
    """Parse the values of ``--tag`` into one mapping of keys to values per input.

    A key that is typed once applies to all inputs; typed as often as there are inputs, to one each, in order. Raises
    OptionError for any other number of times, and for a text that is not KEY=VALUE.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise OptionError(f"--tag {text}: expected KEY=VALUE")
        values.setdefault(key, []).append(value)
    for key, typed in values.items():
        if len(typed) not in (1, input_count):
            raise OptionError(
                f"--tag {key}=…: given {len(typed)} times for {input_count} inputs; pass it once, or once for each"
            )
    return [{key: typed[index % len(typed)] for key, typed in values.items()} for index in range(input_count)]
