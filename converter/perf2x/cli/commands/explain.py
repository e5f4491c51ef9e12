"""``perf2x explain``: what an ELF file has for names, lines and unwinding, and how to get what is missing."""

from typing import Annotated

import typer

from perf2x.cli.error_handling import EXIT_FAILURE
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.table_options import PrintFlags
from perf2x.cli.parameters import Only, Without
from perf2x.cli.progress import progress_bar
from perf2x.errors import ObjectError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Argument
from perf2x.symbolizer.symbol_options import SymbolOptions

Objects = Annotated[tuple[str, ...], Argument("ELF files: programs, libraries, debug files.", metavar="OBJECT")]


def explain(
    objects: Objects,
    *,
    print_flags: Annotated[PrintFlags, Without("wide")],
    load_options: Annotated[
        LoadOptions,
        Only(SymbolOptions, "max_unpacked"),
        Without("kallsyms", "vmlinux", "perf_map_dir", "names", "inline"),
    ],
    quiet: Quiet = False,
) -> None:
    """Show which symbols, lines and unwinding information ELF files have, and what would help.

    Debug files are searched for in the same places as in a conversion; every path that was searched is listed.

    ::

        perf2x explain /usr/bin/myserver
        perf2x explain /lib/x86_64-linux-gnu/libc.so.6 --debug-dir debug
        perf2x explain symfs/usr/bin/myserver --symfs symfs --json
    """
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.cli.render.explain_page import explain_report
    from perf2x.symbolizer.make_object_finder import make_finder
    from perf2x.tools.explain.explain_object import explain_file

    explanations, refused = [], {}  # refused: the reason by path
    with limit_unpacking(load_options.max_unpacked), progress_bar(quiet) as progress:
        finder = make_finder(load_options.symbols or SymbolOptions(), Diagnostics(), progress)
        for path in objects:
            try:
                explanations.append(explain_file(path, finder))
            except ObjectError as error:
                refused[path] = str(error)
    print_flags.show(explain_report(explanations, refused))
    for sentence in refused.values():
        print_message(f"perf2x: {sentence}")
    if refused:
        raise typer.Exit(EXIT_FAILURE)
