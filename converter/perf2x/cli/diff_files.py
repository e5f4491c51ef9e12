"""What ``perf2x diff`` writes beside its table: a page in red and blue, a pprof that carries its base, two columns."""

from typing import TYPE_CHECKING, BinaryIO

from perf2x.files.output import STDOUT, open_output
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.pipeline.result import Loaded
    from perf2x.tables.profile import Profile

FORMATS = {"html": ".html", "pprof": ".pb.gz", "collapsed": ".folded"}
_SUFFIXES = {**{suffix: name for name, suffix in FORMATS.items()}, ".pb": "pprof", ".htm": "html", ".txt": "collapsed"}
_HINTS = {
    "html": "open {} in a browser",
    "pprof": "go tool pprof -http=: {}",
    "collapsed": "flamegraph.pl {} > diff.svg",
}


def format_to_write(to: str | None, output: str | None) -> str | None:
    """The format that was said or that the output's suffix names; None for the table alone. OptionError otherwise."""
    known = " or ".join(FORMATS)
    if to is not None and to not in FORMATS:
        raise OptionError(f"--to {to}: a difference can be {known}")
    if to is not None or output is None:
        return to
    found = next((name for suffix, name in _SUFFIXES.items() if output.endswith(suffix)), None)
    if found is None:
        raise OptionError(f"--output {output}: the name does not tell the format; say --to {known}")
    return found


def write_difference(
    to: str, output: str | None, old: "Loaded", new: "Loaded", value: str, normalize: bool, sources: tuple[str, str]
) -> str:
    """Write one format; what to say about it, nothing for standard output."""
    target = output or f"diff{FORMATS[to]}"
    with open_output(target, inputs=sources) as out:
        if to == "html":
            from perf2x.emit.flame.diff_page import DifferencePage

            page = DifferencePage(normalize=normalize, samples=value == "samples")
            page.emit(old.profile, new.profile, out)
        else:
            _write_scaled(to, old.profile, new.profile, value, normalize, out)
    return "" if target == STDOUT else f"wrote {to} to {target} ({_HINTS[to].format(target)})"


def _write_scaled(to: str, before: "Profile", after: "Profile", value: str, normalize: bool, out: BinaryIO) -> None:
    """Formats that cannot scale for themselves."""
    from perf2x.analysis.diff import difference, normalized
    from perf2x.emit.collapsed import Collapsed
    from perf2x.emit.collapsed_diff import two_columns
    from perf2x.emit.pprof.emitter import Pprof

    if normalize:
        after = normalized(before, after, value)
    if to == "collapsed":
        for line in two_columns(before, after, Collapsed(value=value)):
            out.write(line)
    else:
        Pprof().emit(difference(before, after), out)
