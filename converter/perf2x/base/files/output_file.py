"""Output files: their names, standard output, gzip; they appear complete or not at all (base/files/atomic.py)."""

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, cast

from perf2x.base.errors import OptionError, OutputError
from perf2x.base.files.atomic import atomic_file

STDOUT = "-"


@contextlib.contextmanager
def open_output(path: str, *, inputs: tuple[str, ...], compress: bool = False) -> Iterator[BinaryIO]:
    """Open a binary output file; ``-`` is standard output.

    On an error the new file is discarded and an existing output stays unchanged. ``compress`` adds gzip without name
    and time, so that equal contents give equal bytes. OptionError when ``path`` is one of ``inputs``; OutputError when
    it cannot be written.
    """
    with _open_target(path, inputs) as plain, _with_gzip(plain, compress) as out:
        yield out


def _open_target(path: str, inputs: tuple[str, ...]) -> AbstractContextManager[BinaryIO]:
    if path == STDOUT:
        return _standard_output()
    _refuse_inputs(path, inputs)
    target = Path(path)
    # renaming would replace a device or a named pipe, so these are written directly
    return _write_directly(target) if target.exists() and not target.is_file() else _replace_atomically(target)


@contextlib.contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # the reader closed the pipe early
        raise
    except OSError as error:
        raise _cannot_write("to standard output", error) from None


@contextlib.contextmanager
def _write_directly(target: Path) -> Iterator[BinaryIO]:
    try:
        with target.open("wb") as device:
            yield device
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(target, error) from None


@contextlib.contextmanager
def _replace_atomically(target: Path) -> Iterator[BinaryIO]:
    try:
        with atomic_file(target.resolve() if target.is_symlink() else target) as new:
            yield new.file
            new.commit()
    except OSError as error:
        raise _cannot_write(target, error) from None


def _cannot_write(target: Path | str, error: OSError) -> OutputError:
    return OutputError(f"cannot write {target}: {error.strerror or error}")


@contextlib.contextmanager
def _with_gzip(out: BinaryIO, compress: bool) -> Iterator[BinaryIO]:
    if not compress:
        yield out
        return
    from perf2x.base.files.background_writer import BackgroundGzipWriter

    with BackgroundGzipWriter(out) as packed:
        yield cast(BinaryIO, packed)


def _refuse_inputs(path: str, inputs: tuple[str, ...]) -> None:
    for name in inputs:
        with contextlib.suppress(OSError):
            if name != STDOUT and Path(name).samefile(path):
                raise OptionError(f"the output {path} is the input; name another with -o")


_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".tar", ".data")


def default_output(source: str, suffix: str) -> str:
    """Name the output for ``perf.data`` ``perf`` and the suffix, in the current directory."""
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def wants_gzip(target: str, suffix: str) -> bool:
    """Whether to compress the output: its name ends with ``.gz`` and the format does not compress by itself."""
    return target.endswith(".gz") and not suffix.endswith(".gz")
