"""Finds files with further debug info of an object: supplementary files made by dwz, ``.dwo`` and ``.dwp`` files.

dwz moves debug info that several files have in common to a supplementary file. With ``-gsplit-dwarf``, most debug info
is in ``.dwo`` files, one per compilation unit, or in one package, a ``.dwp`` file. Under a symfs, paths in debug info
never lead out of it.

Source of truth: dwz(1) and elfutils libdw/dwarf_getalt.c for ``.gnu_debugaltlink``; gdb/dwarf2/read.c lookup_dwo_file
and try_open_dwop_file for ``.dwo`` and ``.dwp``.
"""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.binaries.elf.build_id_notes import same_build_id
from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import debug_dir_paths
from perf2x.base.files.sysroot import is_file, paths_in_root
from perf2x.base.mapping_names import is_real_path
from perf2x.errors import ObjectError


def has_supplementary_file(file: ElfObject) -> bool:
    """Return whether dwz moved part of the debug info to a supplementary file."""
    return file.section(".gnu_debugaltlink") is not None


def find_supplementary_file(finder: Finder, file: ElfObject) -> ElfObject | None:
    """Find the supplementary file that ``.gnu_debugaltlink`` of ``file`` names; None when it is missing.

    Its build id must be the one in that section. Raises ObjectError when the section cannot be read, or names ``file``.
    """
    section = file.section(".gnu_debugaltlink")
    data = file.data(section) if section is not None else b""
    name, _, build_id = data.partition(b"\0")
    if not name or len(build_id) < 2:
        raise ObjectError(f"{file.name}: its link to a dwz file is cut off")
    if same_build_id(build_id, file.build_id):
        raise ObjectError(f"{file.name}: its link to a dwz file names the file itself")
    link = name.decode(errors="surrogateescape")
    for path in _supplementary_paths(finder, file, link, build_id):
        if is_file(path):
            try:
                candidate = open_object(path)
            except ObjectError:
                continue
            if same_build_id(build_id, candidate.build_id):
                return candidate
    return next((f for f in finder.fetch("debuginfo", build_id) if same_build_id(build_id, f.build_id)), None)


def _supplementary_paths(finder: Finder, file: ElfObject, link: str, build_id: bytes) -> Iterator[Path]:
    yield from finder.search_paths.buildid_cache_paths(build_id, "debug", "elf")
    for directory in finder.search_paths.debug_directories():
        yield from debug_dir_paths(directory, "", build_id)
    yield from _recorded_paths(finder, file, "", link)
    for directory in finder.search_paths.debug_directories():  # where distributions put them: /usr/lib/debug/.dwz
        dwz_path = link[link.find("/.dwz/") :] if "/.dwz/" in link else f"/.dwz/{link.rpartition('/')[2]}"
        yield from paths_in_root(directory, dwz_path)


def find_package_file(finder: Finder, found: ObjectFiles, recorded_path: str) -> ElfObject | None:
    """Find an object's DWARF package next to its files or the recorded path, or in debug directories.

    Raises ObjectError if the package cannot be read.
    """
    for path in _package_paths(finder, found, recorded_path):
        if is_file(path):
            return open_object(path)
    return None


def _package_paths(finder: Finder, found: ObjectFiles, recorded_path: str) -> Iterator[Path]:
    for file in found.files:
        if file.path is not None:
            yield file.path.with_name(f"{file.path.name}.dwp")
            yield file.path.with_name(f"{file.path.name.removesuffix('.debug')}.dwp")
    if is_real_path(recorded_path):
        yield from finder.search_paths.local_paths(f"{recorded_path}.dwp")
        for directory in finder.search_paths.debug_directories():
            yield from paths_in_root(directory, f"{recorded_path}.dwp")


def dwo_paths(finder: Finder, file: ElfObject, comp_dir: str, name: str) -> Iterator[Path]:
    """Yield candidates for a unit's ``.dwo`` file: where debug info says, next to ``file``, in debug directories.

    ``comp_dir`` and ``name`` are the unit's DW_AT_comp_dir and DW_AT_dwo_name.
    """
    yield from _recorded_paths(finder, file, comp_dir, name)
    base_name = name.rpartition("/")[2]
    if file.path is not None and base_name.strip("."):
        yield file.path.with_name(base_name)
    for directory in finder.search_paths.debug_directories():
        yield from paths_in_root(directory, posixpath.join(comp_dir, name), base_name)


def _recorded_paths(finder: Finder, file: ElfObject, folder: str, name: str) -> Iterator[Path]:
    """Yield candidates for ``folder``/``name`` in debug info: relative paths start at the folder of ``file``."""
    path, symfs = posixpath.join(folder, name), finder.search_paths.symfs
    if path.startswith("/"):
        yield from finder.search_paths.local_paths(path)
    elif file.path is not None and symfs is None:
        yield file.path.parent / path
    elif file.path is not None and symfs is not None and file.path.is_relative_to(symfs):
        # a relative path that starts elsewhere could lead out of the symfs
        folder_in_symfs = file.path.parent.relative_to(symfs)
        yield from paths_in_root(symfs, f"/{folder_in_symfs.as_posix()}/{path}")
