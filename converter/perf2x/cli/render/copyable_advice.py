"""Adds the symbol options that the user typed to the commands in advice, so that the commands find the same names."""

import shlex
import sys

from msgspec.structs import replace

from perf2x.kernel.load_result import Loaded
from perf2x.model.advice import Advice
from perf2x.model.setting import settings_in
from perf2x.symbolizer.symbol_options import SymbolOptions


def advice_with_typed_options(loaded: Loaded) -> list[Advice]:
    """Return the advice on a recording, with the typed symbol options in its commands."""
    settings = settings_in(SymbolOptions).values()
    symbol_options = {
        name: setting for setting in settings for name in setting.names or (f"--{setting.name.replace('_', '-')}",)
    }
    arguments, typed = iter(sys.argv[1:]), list[str]()
    for argument in arguments:
        if setting := symbol_options.get(argument.partition("=")[0]):
            # the value follows an equals sign, or is the next argument
            typed += [argument] if "=" in argument or setting.kind is bool else [argument, next(arguments, "")]
    return [
        replace(advice, command=f"{advice.command} {shlex.join(typed)}".rstrip()) if advice.command else advice
        for advice in loaded.advice
    ]
