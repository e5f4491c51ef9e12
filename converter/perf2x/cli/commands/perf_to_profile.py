"""``perf_to_profile``: the command that ``pprof perf.data`` runs, with perf_data_converter's options.

pprof calls ``perf_to_profile -i IN -o OUT -f`` (internal/driver/fetch.go in google/pprof). perf_data_converter has the
other options, too (src/perf_to_profile_lib.cc).
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perf2x.cli import program_environment
from perf2x.cli.parameters import make_command
from perf2x.errors import OptionError, OutputError
from perf2x.model.setting import Setting

if TYPE_CHECKING:
    from perf2x.kernel.registry import Emitter
    from perf2x.model.profile import View

Source = Annotated[str, Setting("The recording.", ("-i", "--input"), "FILE")]
Target = Annotated[str, Setting("The pprof profile to write.", ("-o", "--output"), "FILE")]
Overwrite = Annotated[bool, Setting("Overwrite the output.", ("-f", "--overwrite"))]
JitMappings = Annotated[bool, Setting("No effect: JIT-compiled code is always included.", ("-j", "--jit"))]


def perf_to_profile(
    source: Source = "perf.data", target: Target = "profile.pb", overwrite: Overwrite = False, jit: JitMappings = False
) -> None:
    """Convert a perf.data recording to a pprof profile (perf2x as a replacement for perf_data_converter)."""
    from perf2x.base.files.atomic import STDOUT
    from perf2x.kernel.conversion import convert_recordings
    from perf2x.kernel.load_options import LoadOptions
    from perf2x.kernel.registry import build_emitter
    from perf2x.symbolizer.symbol_options import SymbolOptions

    exists = target != STDOUT and Path(target).exists()
    if exists and not overwrite:
        raise OutputError(f"{target} exists; -f overwrites it")
    options = LoadOptions(allow_empty=False, symbols=SymbolOptions())
    write = _overwrite if exists else None
    convert_recordings(
        lambda profile: [(target, profile)], (source,), "pprof", build_emitter("pprof"), options, write=write
    )


def _overwrite(emitter: "Emitter", profile: "View", target: str, inputs: Sequence[str]) -> None:
    """Overwrite the file ``target`` in place: pprof creates it and reads it through the handle that it keeps open."""
    content = io.BytesIO()
    emitter.emit(profile, content)
    for source in inputs:
        if source != "-" and Path(source).exists() and Path(target).samefile(source):
            raise OptionError(f"the output {target} is the input; name another with -o")
    try:
        Path(target).write_bytes(content.getvalue())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from None


def main() -> None:
    """Run the ``perf_to_profile`` command."""
    with program_environment():
        make_command("perf_to_profile", perf_to_profile)(prog_name="perf_to_profile")
