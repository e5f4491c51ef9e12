"""The options that say what is written, and where."""

from pathlib import Path
from typing import Annotated

from perf2x.classes import dataclass
from perf2x.cli.parameters import Option
from perf2x.model.errors import OptionError

_PANEL = "Output"
_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".tar", ".data")


@dataclass(frozen=True, slots=True)
class OutputFlags:
    """Format, file and the format's own options."""

    to: Annotated[
        str | None,
        Option("--to", "-t", metavar="FORMAT", help="Output format; see: perf2x formats.", panel=_PANEL),
    ] = None
    output: Annotated[
        str | None,
        Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output.", panel=_PANEL),
    ] = None
    value: Annotated[
        str | None,
        Option(metavar="period|samples", help="collapsed: what the numbers are [period].", panel=_PANEL),
    ] = None
    kernel_suffix: Annotated[
        bool, Option("--kernel-suffix", help="collapsed: mark kernel frames with _[k].", panel=_PANEL)
    ] = False
    settings: Annotated[
        list[str] | None,
        Option("--set", "-s", metavar="NAME=VALUE", help="An option of the format.", panel=_PANEL),
    ] = None

    def format(self) -> str:
        """The wanted format's name; OptionError when it is not said and the output's suffix does not tell."""
        return self.to or format_of(self.output)

    def chosen(self, **more: object) -> dict[str, object]:
        """Options of the format, said as ``--set`` or as options of their own; ``more`` where not None."""
        named = {"value": self.value, "kernel_suffix": self.kernel_suffix or None, **more}
        return parsed_settings(self.settings) | {key: value for key, value in named.items() if value is not None}

    def target(self, source: str, suffix: str) -> str:
        """Where to write."""
        return self.output or default_output(source, suffix)


def format_of(output: str | None) -> str:
    """The format that the output's suffix names; OptionError when none or several do."""
    from perf2x.plugins import suffixes

    known = suffixes()
    if output is None or output == "-":
        raise OptionError(f"say what to convert to with --to: {', '.join(known)}")
    matching = [name for name, suffix in known.items() if _bare(output).endswith(_bare(suffix))]
    longest = max((len(_bare(known[name])) for name in matching), default=0)
    best = [name for name in matching if len(_bare(known[name])) == longest]
    if len(best) != 1:
        shown = ", ".join(f"{name} ({suffix})" for name, suffix in known.items())
        raise OptionError(f"the name {output} does not tell the format; say --to: {shown}")
    return best[0]


def default_output(source: str, suffix: str) -> str:
    """``perf.data`` becomes ``perf`` and the suffix, in the current directory."""
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def compress(target: str, suffix: str) -> bool:
    """Whether the output name asks for gzip that the format does not already do itself."""
    return target.endswith(".gz") and not suffix.endswith(".gz")


def parsed_settings(settings: list[str] | None) -> dict[str, object]:
    """``--set NAME=VALUE`` as a mapping; OptionError for one without a value."""
    chosen: dict[str, object] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: expected NAME=VALUE")
        chosen[key.replace("-", "_")] = text
    return chosen


def _bare(name: str) -> str:
    return name.removesuffix(".gz")
