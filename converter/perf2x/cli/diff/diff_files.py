"""Writes the files of ``perf2x diff``: a page in red and blue, a pprof profile with its base, or two-column stacks."""

from typing import BinaryIO

from perf2x.base.files.atomic import STDOUT, open_output
from perf2x.errors import OptionError
from perf2x.kernel.format_suffix import check_output_name
from perf2x.tools.diff.recording_pair import RecordingPair

FORMATS = {
    "html": ((".html", ".htm"), "open {} in a browser"),
    "pprof": ((".pb.gz", ".pb"), "go tool pprof -http=: {}"),
    "collapsed": ((".folded", ".txt"), "flamegraph.pl {} > diff.svg"),
}
"""For each format, the suffixes of its files (the first is the default), and how to open a file, which is ``{}``."""


def format_to_write(to: str | None, output: str | None) -> str | None:
    """Return the format of the file to write, from --to or from the suffix of the output; None if neither was typed.

    Raises OptionError if the two contradict each other, or if no format has the suffix.
    """
    format_name = next((name for name, (suffixes, _) in FORMATS.items() if (output or "").endswith(suffixes)), to)
    if to is not None and format_name != to:
        raise OptionError(
            f"the name {output} means {format_name}, not --to {to}, whose files end with {FORMATS[to][0][0]}"
        )
    if output is None:
        return to
    if to is not None:
        check_output_name(to, output)
    if format_name is None:
        formats = " or ".join(FORMATS)
        raise OptionError(f"--output {output}: the name does not determine the format; choose one with --to: {formats}")
    return format_name


def write_difference(to: str, output: str | None, pair: RecordingPair) -> str:
    """Write the difference; return a sentence that names the file ("" for standard output)."""
    (suffix, _), hint = FORMATS[to]
    target = output or f"diff{suffix}"
    with open_output(target, inputs=pair.sources) as out:
        if to == "html":
            from perf2x.emitters.flame.diff_page import DifferencePage

            page = DifferencePage(
                normalize=pair.normalize, samples=pair.value == "samples", work=pair.work, notes=pair.notes
            )
            page.emit(pair.before.profile, pair.scaled_after(), out)
        else:
            _write_scaled(to, pair, out)
    return "" if target == STDOUT else f"wrote {to} to {target} ({hint.format(target)})"


def _write_scaled(to: str, pair: RecordingPair, out: BinaryIO) -> None:
    """Write pprof or collapsed stacks. The page's script scales costs to shares itself."""
    from perf2x.emitters.collapsed import Collapsed, two_columns
    from perf2x.emitters.pprof.pprof import Pprof
    from perf2x.tools.diff.changes import difference, normalized

    before, after = pair.before.profile, pair.scaled_after()
    if pair.normalize:
        after = normalized(before, after, pair.value)
    if to == "collapsed":
        for line in two_columns(before, after, Collapsed(value="samples" if pair.value == "samples" else "period")):
            out.write(line)
    else:
        Pprof().emit(difference(before, after), out)
