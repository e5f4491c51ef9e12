"""Recorded paths under a root directory, as a process inside that root would see them, and never outside of it.

A recording is data from elsewhere: ``..`` and symbolic links in it, or in a container's file system, must not lead to
files of the machine that converts.
"""

from pathlib import Path, PurePosixPath

LINKS_AT_MOST = 40
"""As Linux (include/linux/namei.h MAXSYMLINKS)."""


def below(root: Path, recorded: str) -> Path | None:
    """Where ``recorded`` lies under ``root``, symbolic links followed inside it; None when links never end.

    An absolute link target starts again at ``root``, ``..`` stops there: what chroot(2) does. The file need not exist.
    """
    todo = list(PurePosixPath(recorded).parts[::-1])
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part in ("/", ".", "//"):
            continue
        if part == "..":
            del done[-1:]
            continue
        target = _link_target(root.joinpath(*done, part))
        if target is None:
            done.append(part)
            continue
        links += 1
        if links > LINKS_AT_MOST:
            return None
        if target.startswith("/"):
            done = []
        todo.extend(PurePosixPath(target).parts[::-1])
    return root.joinpath(*done)


def _link_target(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except (OSError, ValueError):
        return None


def is_file(path: Path) -> bool:
    """Whether it is a regular file; devices, pipes and names that no file system can hold are not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
