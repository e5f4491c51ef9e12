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
def temporary_buildid_cache(paths: Iterable[str]) -> Iterator[tuple[list[str], Path]]:
    """Make a build-id cache of links to ELF files; ``paths`` are files, and folders that are searched for files.

    Yields (build ids in hexadecimal digits, sorted; the folder of the cache), and removes the folder at the end. Raises
    ObjectError for a file of ``paths`` that is not ELF or has no build id, and for a folder without any file that has
    one.
    """
    with private_directory() as cache:
        links = [link for name in paths for link in _links_and_targets(Path(name), cache)]
        for link, target in links:
            if not os.path.lexists(link):  # of files with the same build id, the first wins
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target.absolute())
        yield sorted({f"{link.parent.parent.name}{link.parent.name}" for link, _ in links}), cache


def _links_and_targets(path: Path, cache: Path) -> list[tuple[Path, Path]]:
    if not path.is_dir():
        return [(_link_path(open_object(path), cache), path)]
    links = []
    for file in sorted(path.rglob("*")):
        if file.is_file():
            with contextlib.suppress(ObjectError):
                links.append((_link_path(open_object(file), cache), file))
    if not links:
        raise ObjectError(f"{path}: it contains no ELF file with a build id")
    return links


def _link_path(file: ElfObject, cache: Path) -> Path:
    build_id = file.build_id.hex()
    if not build_id:
        raise ObjectError(f"{file.name}: it has no build id (linker option --build-id)")
    return cache / ".build-id" / build_id[:2] / build_id[2:] / ("elf" if has_code(file) else "debug")
