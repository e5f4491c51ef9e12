"""``perf2x explain``: reasons why an object has no names, and remedies."""

from typing import Annotated

import typer

from perf2x.base.errors import ObjectError
from perf2x.cli.error_handling import CANNOT
from perf2x.cli.help import HelpAll
from perf2x.cli.messages import print_message
from perf2x.cli.options import name_options
from perf2x.cli.options.input_options import MaxUnpacked, Quiet
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.table_options import Format, Json
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report_formats import print_report

Objects = Annotated[list[str], typer.Argument(metavar="OBJECT", help="ELF files: programs, libraries, debug files.")]


def explain(
    objects: Objects,
    *,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    symfs: name_options.Symfs = None,
    debug_dir: name_options.DebugDir = None,
    buildid_dir: name_options.BuildidDir = None,
    debuginfod: name_options.Debuginfod = None,
    archive: name_options.Archive = None,
    allow_build_id_mismatch: name_options.AllowBuildIdMismatch = False,
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
    from perf2x.analysis.explain.explain_object import explain_file
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.cli.render.explain_page import explain_report
    from perf2x.model.diagnostics import Diagnostics
    from perf2x.symbolizer.make_finder import make_finder
    from perf2x.symbolizer.symbol_options import SymbolOptions

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
