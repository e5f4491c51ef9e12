"""Names of output files: the default name, and whether the name asks for gzip."""

from pathlib import Path

_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".tar", ".data")


def default_output(source: str, suffix: str) -> str:
    """Name the output for ``perf.data`` ``perf`` and the suffix, in the current directory."""
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def wants_gzip(target: str, suffix: str) -> bool:
    """Whether to compress the output: its name ends with ``.gz`` and the format does not compress by itself."""
    return target.endswith(".gz") and not suffix.endswith(".gz")
