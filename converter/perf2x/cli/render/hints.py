"""Completes the commands in advice with the symbol options typed for the recording, so that they can be copied."""

import shlex
import sys

from msgspec.structs import replace

from perf2x.kernel.load_result import Loaded
from perf2x.model.advice import Advice
from perf2x.model.setting import settings_in
from perf2x.symbolizer.symbol_options import SymbolOptions


def advice_with_inputs(loaded: Loaded) -> list[Advice]:
    """Return the advice on a recording; the commands in it have the symbol options that the user typed."""
    settings = settings_in(SymbolOptions).values()
    known = {name: one for one in settings for name in one.names or (f"--{one.name.replace('_', '-')}",)}
    words, typed = iter(sys.argv[1:]), list[str]()
    for word in words:
        if setting := known.get(word.partition("=")[0]):
            typed += [word] if "=" in word or setting.kind is bool else [word, next(words, "")]
    return [
        replace(one, command=f"{one.command} {shlex.join(typed)}".rstrip()) if one.command else one
        for one in loaded.advice
    ]
