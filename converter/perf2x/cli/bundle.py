"""``perf2x bundle``: a recording and the objects it needs as one file, for another machine."""

from pathlib import Path
from typing import Annotated

import typer

from perf2x.cli import console
from perf2x.cli.common import Input, Quiet
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.errors import OptionError

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to [INPUT.tar.gz]; - is standard output."),
]


def bundle(source: Input = "perf.data", *, output: Output = None, names: SymbolFlags, quiet: Quiet = False) -> None:
    """Pack a recording with the objects it needs, to convert it on any machine.

    The recording and the programs themselves are in it: do not publish it unless you would publish those.
    """
    from perf2x import pipeline
    from perf2x.bundling import write_bundle
    from perf2x.cli.output import writing
    from perf2x.symbolize.finders import make_finder
    from perf2x.symbolize.options import SymbolOptions

    if source == "-" or Path(source).is_dir():
        raise OptionError("only a recording that is one file can be bundled; record with: perf record -o FILE")
    options = names.options() or SymbolOptions()
    target = output or f"{Path(source).name}.tar.gz"
    with console.progress(quiet) as progress:
        loaded = pipeline.load(source, pipeline.LoadOptions(), progress)
        finder = make_finder(options, loaded.diagnostics, progress)
        with writing(target, inputs=(source,)) as out:
            packed = write_bundle(Path(source), loaded.profile, loaded.recording.session, options, finder, out)
    if quiet:
        return
    for name, reason in packed.left_out:
        console.note(f"left out: {name}: {reason}")
    objects = len({member.rpartition("/")[0] for member in packed.members[1:]})
    console.note(
        f"wrote {source} and {objects} objects to {target} (read it anywhere: perf2x convert {target} -t html)"
    )
