"""Directories of the user's caches, and files that appear there whole or not at all."""

import os
import sys
from collections.abc import Callable
from pathlib import Path


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


def write_whole(path: Path, write: Callable[[Path], object]) -> bool:
    """Let ``write`` fill a temporary file beside ``path``, then rename it; False when the place cannot be written."""
    import tempfile  # mostly there is nothing new to keep

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError:
        return False
    temporary = Path(name)
    try:
        write(temporary)
        temporary.replace(path)
    except OSError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True
