"""Makes a temporary build-id cache of links to the objects that the user names, so that they are found by build id."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.find.object_finder import has_code
from perf2x.base.files.temporary import private_directory
from perf2x.errors import ObjectError


@contextlib.contextmanager
def temporary_buildid_cache(names: Iterable[str]) -> Iterator[tuple[list[str], Path]]:
    """Yield the build ids of the ELF files that are named or lie below named folders, and a folder with links to them.

    The folder has the layout of ``~/.debug``, and is removed at the end. Raises ObjectError for a file that is not ELF
    or has no build id, and for a folder without any file that has one.
    """
    with private_directory() as cache:
        found = [link for name in names for link in _links(Path(name), cache)]
        for link, path in found:
            if not os.path.lexists(link):  # the first one wins
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path.absolute())
        yield sorted({f"{link.parent.parent.name}{link.parent.name}" for link, _ in found}), cache


def _links(path: Path, cache: Path) -> list[tuple[Path, Path]]:
    """Return the links in the cache, with their targets, for a file or for each file below a folder."""
    if not path.is_dir():
        return [(_link(open_object(path), cache), path)]
    found = []
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with contextlib.suppress(ObjectError):
                found.append((_link(open_object(file), cache), file))
    if not found:
        raise ObjectError(f"{path}: it contains no ELF file with a build id")
    return found


def _link(file: ElfObject, cache: Path) -> Path:
    build_id = file.build_id.hex()
    if not build_id:
        raise ObjectError(f"{file.name}: it has no build id (linker option --build-id)")
    return cache / ".build-id" / build_id[:2] / build_id[2:] / ("elf" if has_code(file) else "debug")
