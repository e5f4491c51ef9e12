"""Writes outputs so that nobody ever sees half of one: into a temporary file beside the target, renamed when whole."""

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, cast

from perf2x.files.atomic import atomic_file
from perf2x.tables.errors import OptionError, OutputError

STDOUT = "-"


@contextlib.contextmanager
def open_output(path: str, *, inputs: tuple[str, ...], compress: bool = False) -> Iterator[BinaryIO]:
    """A binary file to write the output to; ``-`` is standard output.

    On an error the temporary file goes and an older output stays as it was. ``compress`` adds gzip without name and
    time, so that equal contents are equal bytes. OptionError when ``path`` is one of ``inputs``; OutputError when it
    cannot be written.
    """
    with _opened(path, inputs) as plain, _compressed(plain, compress) as out:
        yield out


def _opened(path: str, inputs: tuple[str, ...]) -> AbstractContextManager[BinaryIO]:
    if path == STDOUT:
        return _standard_output()
    _refuse_inputs(path, inputs)
    target = Path(path)
    # a device or a named pipe is written as it is: renaming would replace it
    return _written_as_it_is(target) if target.exists() and not target.is_file() else _replaced_when_complete(target)


@contextlib.contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # our reader has seen enough
        raise
    except OSError as error:
        raise _cannot_write("to standard output", error) from None


@contextlib.contextmanager
def _written_as_it_is(target: Path) -> Iterator[BinaryIO]:
    try:
        with target.open("wb") as device:
            yield device
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(target, error) from None


@contextlib.contextmanager
def _replaced_when_complete(target: Path) -> Iterator[BinaryIO]:
    try:
        with atomic_file(target.resolve() if target.is_symlink() else target) as new:
            yield new.file
            new.commit()
    except OSError as error:
        raise _cannot_write(target, error) from None


def _cannot_write(target: Path | str, error: OSError) -> OutputError:
    return OutputError(f"cannot write {target}: {error.strerror or error}")


@contextlib.contextmanager
def _compressed(out: BinaryIO, compress: bool) -> Iterator[BinaryIO]:
    if not compress:
        yield out
        return
    from perf2x.files.background_writer import BackgroundGzipWriter

    with BackgroundGzipWriter(out) as packed:
        yield cast(BinaryIO, packed)


def _refuse_inputs(path: str, inputs: tuple[str, ...]) -> None:
    for name in inputs:
        with contextlib.suppress(OSError):
            if name != STDOUT and Path(name).samefile(path):
                raise OptionError(f"the output {path} is the input; name another with -o")
