"""``perf2x bundle``: packs a recording with the objects that its symbols need into one file, for another machine."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from perf2x.base.files.temporary import private_directory, set_shown_name
from perf2x.base.files.unpack_limit import Spool, limit_unpacking, link_or_copy
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import DEFAULT_INPUT, Input, Quiet, existing_inputs
from perf2x.cli.parameters import Only, Without
from perf2x.cli.progress import progress_bar
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Setting
from perf2x.symbolizer.symbol_options import SymbolOptions

Output = Annotated[
    str | None,
    Setting(
        "Name of the bundle; - is standard output.",
        ("--output", "-o"),
        "FILE",
        shown_default="INPUT.tar.gz",
        panel="Output",
    ),
]
SymbolsOnly = Annotated[
    bool, Setting("Leave code, data and debug info out of the objects: names, but no lines.", panel="Output")
]


def bundle(
    source: Input = DEFAULT_INPUT,
    *,
    output: Output = None,
    symbols_only: SymbolsOnly = False,
    load_options: Annotated[
        LoadOptions, Only(SymbolOptions, "allow_empty", "max_unpacked"), Without("names", "inline")
    ],
    quiet: Quiet = False,
) -> None:
    """Pack a recording with the objects it needs, to convert it on any machine.

    The bundle contains the recording and the programs themselves: publish it only if you would publish those.

    ::

        perf2x bundle perf.data
        perf2x bundle perf.data --symbols-only -o small.tar.gz
    """
    from perf2x.base.files.atomic import open_output
    from perf2x.kernel.load import load
    from perf2x.kernel.open_bundle import is_bundle
    from perf2x.symbolizer.make_object_finder import make_context, make_finder
    from perf2x.tools.bundle.collect_files import collect_contents
    from perf2x.tools.bundle.write_bundle import write_bundle

    existing_inputs([source])  # raises the error for a missing recording
    options = load_options.symbols or SymbolOptions()
    if source != "-" and is_bundle(Path(source)):
        raise OptionError(f"{source} is already a bundle")
    target = output or f"{Path(source).resolve().name if source != '-' else 'perf.data'}.tar.gz"
    with limit_unpacking(load_options.max_unpacked), progress_bar(quiet) as progress, _rereadable_file(source) as path:
        loaded = load(str(path), load_options.with_values(symbolize=False), progress)
        finder = make_finder(options, loaded.diagnostics, progress)
        session, sideband = loaded.recording.session, loaded.recording.sideband
        context = make_context(loaded.profile, session, options, loaded.diagnostics, finder, sideband)
        contents = collect_contents(loaded.profile, context, only_symbols=symbols_only)
        with open_output(target, inputs=(source,)) as out:
            write_bundle(path, contents, out, only_symbols=symbols_only)
    if quiet:
        return
    for name, reason in sorted(contents.left_out.items()):
        print_message(f"left out: {name}: {reason}")
    prefix = "the symbols of " if symbols_only else ""
    print_message(
        f"wrote {source} and {prefix}{len(contents.objects)} objects to {target}"
        f" (read it anywhere: perf2x convert {target} -t html)"
    )


@contextlib.contextmanager
def _rereadable_file(source: str) -> Iterator[Path]:
    """Provide the path of a file or folder that can be read several times: copy pipes and standard input to a file."""
    path = Path(source)
    if source != "-" and (path.is_file() or path.is_dir()):
        yield path
        return
    from perf2x.reader.containers.input_file import input_name, stream_chunks

    name = input_name(source)
    with Spool(name) as spooled, private_directory() as folder:
        try:
            with contextlib.ExitStack() as stack:
                stream = sys.stdin.buffer if source == "-" else stack.enter_context(path.open("rb"))
                for chunk in stream_chunks(stream, name):
                    spooled.write(chunk)
        except OSError as error:
            raise FormatError(f"{name}: {error.strerror or error}") from None
        yield link_or_copy(spooled.done(), set_shown_name(folder / "perf.data", name))
