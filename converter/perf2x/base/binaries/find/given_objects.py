"""Objects that the user names, arranged as a build-id cache of links, so that they are found by build id."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.find.object_finder import has_code
from perf2x.base.files.temporary import private_directory
from perf2x.errors import ObjectError


@contextlib.contextmanager
def given_objects(names: Iterable[str]) -> Iterator[tuple[list[str], Path]]:
    """Give the build ids of files, and of the ELF files below folders, and a folder with links to all of them.

    The folder is like ``~/.debug``, and goes at the end. ObjectError for a file that is not ELF or has no build id, and
    for a folder without one that has.
    """
    with private_directory() as cache:
        found = [link for name in names for link in _links(Path(name), cache)]
        for link, path in found:
            if not os.path.lexists(link):  # the first counts
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path.absolute())
        yield sorted({f"{link.parent.parent.name}{link.parent.name}" for link, _ in found}), cache


def _links(path: Path, cache: Path) -> list[tuple[Path, Path]]:
    """Names that a file, or each below a folder, has in the cache."""
    if not path.is_dir():
        return [(_link(open_object(path), cache), path)]
    found = []
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with contextlib.suppress(ObjectError):
                found.append((_link(open_object(file), cache), file))
    if not found:
        raise ObjectError(f"{path}: no ELF file with a build id is below it")
    return found


def _link(file: ElfObject, cache: Path) -> Path:
    build_id = file.build_id.hex()
    if not build_id:
        raise ObjectError(f"{file.name}: it has no build id (linker option --build-id)")
    return cache / ".build-id" / build_id[:2] / build_id[2:] / ("elf" if has_code(file) else "debug")
