"""Commands inside the page of ``perf2x web``, called by the worker (page/worker.js)."""

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

_USED = ("cli.render.stats_json", "cli.render.summary", "emitters.flame.html", "kernel.conversion",
         "kernel.sample_pass", "kernel.open_bundle", "symbolizer.symbolize")  # fmt: skip
"""Modules that most conversions import on demand."""


def prepare() -> None:
    """Import what the first conversion needs, ahead of time."""
    for name in _USED:
        import_module(f"perf2x.{name}")
    command("convert")
    load_symbol_sources()
    write_page("", iter(()), io.BytesIO(), compress=False)


def run(words: Sequence[str], listener: Progress) -> tuple[int, str]:
    """Run a command; return its exit code and its standard error. ``listener`` is called with progress."""
    errors, code = io.StringIO(), 0
    progress.listener = listener
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            with report_errors():
                app(list(words), prog_name="perf2x")
        except SystemExit as end:
            code = int(end.code or 0)
    return code, errors.getvalue()


def link_by_build_id(folder: str, cache: str) -> None:
    """Link the ELF files of ``folder`` into perf's build-id cache layout, so that their names do not matter."""
    for path in sorted(Path(folder).iterdir()):
        with contextlib.suppress(ObjectError):
            file = open_object(path)
            text = file.build_id.hex()
            entry = Path(cache, ".build-id", text[:2], text[2:])
            entry.mkdir(parents=True, exist_ok=True)
            link = entry / ("elf" if has_code(file) else "debug")
            link.unlink(missing_ok=True)
            link.symlink_to(path)
