"""Recorded paths under a root directory, as a process inside that root would see them, and never outside of it.

A recording is data from elsewhere: ``..`` and symbolic links in it, or in a container's file system, must not lead to
files of the machine that converts.
"""

import os
from pathlib import Path

MAX_LINKS = 40
"""As Linux (include/linux/namei.h MAXSYMLINKS)."""


def resolve_in_root(root: Path, recorded: str) -> Path | None:
    """Where ``recorded`` lies under ``root``, symbolic links followed inside it; None when links never end.

    An absolute link target starts again at ``root``, ``..`` stops there: what chroot(2) does. The file need not exist.
    """
    todo = _parts(recorded)
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part == "..":
            del done[-1:]
            continue
        done.append(part)
        try:
            target = os.readlink("/".join((str(root), *done)))  # noqa: PTH115 - a Path costs more than the call
        except FileNotFoundError:
            if ".." not in todo:  # what lies in a directory that is not there is no link
                return root.joinpath(*done, *todo[::-1])
            continue
        except (OSError, ValueError):
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        done = [] if target.startswith("/") else done[:-1]
        todo.extend(_parts(target))
    return root.joinpath(*done)


def _parts(path: str) -> list[str]:
    """The parts of a path that say something, the last one first."""
    return [part for part in path.split("/")[::-1] if part not in ("", ".")]


def is_file(path: Path) -> bool:
    """Whether it is a regular file; devices, pipes and names that no file system can hold are not."""
    return os.path.isfile(path)  # noqa: PTH113 - the same for names with NUL


def is_directory(path: Path) -> bool:
    """Whether it is a directory; names that no file system can hold are none."""
    return os.path.isdir(path)  # noqa: PTH112 - the same for names with NUL
