"""Output files by name: the format that a suffix stands for, the name that a recording's output gets, gzip."""

from pathlib import Path

from perf2x.tables.errors import OptionError

_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".tar", ".data")


def format_of(output: str | None) -> str:
    """The format that the output's suffix names; OptionError when none or several do."""
    from perf2x.plugins.registry import suffixes

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


def _bare(name: str) -> str:
    return name.removesuffix(".gz")
