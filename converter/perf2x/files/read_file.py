"""Whole files that stand beside a recording: symbol tables, maps, dumps."""

from pathlib import Path

from perf2x.tables.errors import ObjectError


def read_object_file(path: Path, most: int | None = None) -> bytes:
    """Read a file; ObjectError when it cannot be read, or has more than ``most`` bytes, where that is given."""
    try:
        if most is not None and path.stat().st_size > most:
            raise ObjectError(f"{path}: larger than {most} bytes")
        return path.read_bytes()
    except OSError as error:
        raise ObjectError(f"{path}: {error.strerror or error}") from None
