"""Settings in errors by the option that the user typed: what is below the command line knows fields, not options."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perf2x.base.errors import OptionError, SettingError

if TYPE_CHECKING:
    from perf2x.cli.options.format_options import FormatFlags
    from perf2x.cli.options.output_options import OutputFlags

_OPTION = {
    "choice.comms": "--comm",
    "choice.dsos": "--dso",
    "choice.symbols": "--symbol",
    "latency": "--value",
    "listings.as_recorded": "--source",
    "listings.source_dirs": "--source-dir",
    "merge_callchains": "--no-merge-callchains",
    "symbols": "--no-symbols",
    "symbols.inline": "--no-inline",
    "tags": "--tag",
}
"""Options that are not called as the setting is."""


@contextmanager
def as_typed(option: Callable[[str], str]) -> Iterator[None]:
    """Turn a SettingError into an OptionError with the option of the setting."""
    try:
        yield
    except SettingError as error:
        raise OptionError(error.named(option(error.setting))) from None


def option_of(setting: str) -> str:
    """Return the option of a setting of LoadOptions; of ``pairs=VALUE`` the one for this value."""
    name, _, value = setting.partition("=")
    if name == "pairs":
        return "--pair" if ":" in value else f"--{value}"
    return _OPTION.get(name) or f"--{name.rpartition('.')[2].replace('_', '-')}"


def setting_as_typed(formatting: "FormatFlags", written: "OutputFlags") -> Callable[[str], str]:
    """Return what names a field of the format: the option that set it, or --set."""
    own, said = {"event": "--event all", **formatting.typed()}, written.settings_with()

    def option(field: str) -> str:
        return f"--set {field}" if field in said or field not in own else own[field]

    return option
