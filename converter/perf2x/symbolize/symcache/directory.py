"""Directories of the user's caches, and files that appear there whole or not at all.

A sealed file ends in a magic word and the CRC-32 of its contents, so that a damaged one is noticed. CRC-32 finds every
flipped bit and takes 0.4 ms a megabyte; BLAKE2, which withstands forgery too, takes four times as long, and whoever
can write to the user's cache can do worse.
"""

import os
import sys
from pathlib import Path
from zlib import crc32

import numpy as np

from perf2x.columnar.arrays import U8
from perf2x.files.atomic import atomic_file

SEAL = b"p2x-crc\n"
"""Stands behind the bytes of a sealed file, before their CRC-32 as a 64-bit number."""


def user_cache_dir() -> Path | None:
    """Where perf2x may keep what it can make again, as each platform wants it; None where there is no home."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "perf2x" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "perf2x"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "perf2x"


def write_sealed(path: Path, data: bytes) -> bool:
    """Keep ``data`` for ``read_sealed``; False when the place cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, 0o600) as new:
            new.file.write(data + SEAL + crc32(data).to_bytes(8, "little"))
            new.commit()
    except OSError:
        return False
    return True


def read_sealed(path: Path) -> U8 | None:
    """The bytes that ``write_sealed`` kept, mapped; None when there is no such file, or it is damaged."""
    try:
        if not path.is_file():
            return None
        whole = np.asarray(np.memmap(path, np.uint8, "r"))
    except (OSError, ValueError):
        return None
    data, seal = whole[:-16], whole[-16:].tobytes()
    return data if seal == SEAL + crc32(data.data).to_bytes(8, "little") else None
