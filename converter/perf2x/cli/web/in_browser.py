"""Runs commands in the page of ``perf2x web``, whose web worker (page/worker.js) calls these functions."""

import contextlib
import io
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from perf2x.base.binaries.elf.elf_file import open_object
from perf2x.base.binaries.find.object_finder import has_code
from perf2x.cli import progress
from perf2x.cli.app import app, command
from perf2x.cli.error_handling import report_errors
from perf2x.emitters.flame.page_template import write_page
from perf2x.errors import ObjectError
from perf2x.kernel.load_options import Progress
from perf2x.kernel.registry import load_symbol_sources

# Modules that most conversions import late.
_PRELOADED_MODULES = (
    "cli.render.stats_json", "cli.render.summary", "emitters.flame.html", "kernel.conversion", "kernel.sample_pass",
    "kernel.open_bundle", "symbolizer.symbolize",
)  # fmt: skip


def prepare() -> None:
    """Import what the first conversion needs, while the user chooses a file."""
    for name in _PRELOADED_MODULES:
        import_module(f"perf2x.{name}")
    command("convert")
    load_symbol_sources()
    write_page("", iter(()), io.BytesIO(), compress=False)  # reads the template of the flame graph


def run(arguments: Sequence[str], listener: Progress) -> tuple[int, str]:
    """Run a command; return its exit code and what it wrote to standard error.

    What the command writes to standard output is discarded.
    """
    stderr, code = io.StringIO(), 0
    progress.listener = listener
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
        try:
            with report_errors():
                app(list(arguments), prog_name="perf2x")
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return code, stderr.getvalue()


def link_by_build_id(folder: str, cache: str) -> None:
    """Link the ELF files in ``folder`` into ``cache``, a build-id cache like perf's."""
    for path in sorted(Path(folder).iterdir()):
        with contextlib.suppress(ObjectError):
            file = open_object(path)
            build_id = file.build_id.hex()
            entry = Path(cache, ".build-id", build_id[:2], build_id[2:])
            entry.mkdir(parents=True, exist_ok=True)
            link = entry / ("elf" if has_code(file) else "debug")  # as perf names programs and debug files
            link.unlink(missing_ok=True)
            link.symlink_to(path)
