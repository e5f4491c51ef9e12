"""``perf2x explain``: reasons why an object has no names, and remedies."""

from typing import Annotated

import typer

from perf2x.cli.error_handling import CANNOT
from perf2x.cli.help import HelpAll
from perf2x.cli.messages import print_message
from perf2x.cli.options import symbols
from perf2x.cli.options.inputs import MaxUnpacked, Quiet
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.cli.options.table import Format, Json
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report import print_report
from perf2x.tables.errors import ObjectError

Objects = Annotated[list[str], typer.Argument(metavar="OBJECT", help="ELF files: programs, libraries, debug files.")]


def explain(
    objects: Objects,
    *,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    symfs: symbols.Symfs = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    allow_build_id_mismatch: symbols.AllowBuildIdMismatch = False,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
) -> None:
    """Say what ELF files can tell about addresses, what is missing, and what would help.

    Debug files are looked for where a conversion looks for them; every path that was looked at is listed.
    """
    names = SymbolFlags(
        symfs=symfs, debug_dir=debug_dir, buildid_dir=buildid_dir, debuginfod=debuginfod, archive=archive,
        allow_build_id_mismatch=allow_build_id_mismatch, max_unpacked=max_unpacked,
    )  # fmt: skip
    options = names.options()
    from perf2x.cli.render.explain_page import explain_report
    from perf2x.explain.object import explain_file
    from perf2x.files.unpack_limit import limit_unpacking
    from perf2x.symbolize.make_finder import make_finder
    from perf2x.symbolize.options import SymbolOptions
    from perf2x.tables.diagnostics import Diagnostics

    known, refused = [], {}
    with limit_unpacking(names.unpacked()), progress_bar(quiet) as progress:
        finder = make_finder(options or SymbolOptions(), Diagnostics(), progress)
        for path in objects:
            try:
                known.append(explain_file(path, finder))
            except ObjectError as error:
                refused[path] = str(error)
    print_report(explain_report(known, refused), "json" if as_json else format)
    for sentence in refused.values():
        print_message(f"perf2x: {sentence}")
    if refused:
        raise typer.Exit(CANNOT)
