"""Candidate paths for the files of an object, in perf's order; nothing is opened here.

Source of truth: tools/perf/util/symbol.c binary_type_symtab, util/dso.c dso__read_binary_type_filename.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import field

from perf2x.base.files.sysroot import DEBUG_DIR, PROC, host_path, is_directory, paths_in_root, resolve_in_root
from perf2x.base.frozen_struct import Frozen
from perf2x.base.mapping_names import is_real_path


class SearchPaths(Frozen):
    """The directories to search for objects, as the user's options set them."""

    symfs: Path | None = None
    """Root of the recorded machine's file system (perf's --symfs); None: this machine's."""
    symfs_flat: bool = False
    """Files lie in ``symfs`` by their base name alone (perf's ``--symfs DIR,flat``)."""
    debug_dirs: tuple[Path, ...] = ()
    """Further directories like /usr/lib/debug, which are searched first."""
    buildid_dir: Path | None = None
    """perf's build-id cache (``~/.debug``); None: there is none."""
    allow_mismatch: bool = False
    """Accept files with another build id, and files that may not be the recorded ones, and report them."""
    system_debug_dir: Path | None = field(default_factory=lambda: Path(DEBUG_DIR))
    """/usr/lib/debug of the recorded machine, and so under symfs if there is one; None: not searched."""
    proc: Path | None = field(default_factory=lambda: host_path(PROC))
    """/proc, where PID/root is the root directory of a process, for files in running containers; None: not searched."""

    def local_paths(self, recorded_path: str) -> Iterator[Path]:
        """Yield the paths on this machine where the file with a recorded path may be.

        With a symfs, they are below it.
        """
        if self.symfs is None:
            yield host_path(recorded_path)
            return
        path_in_symfs = recorded_path.rpartition("/")[2] if self.symfs_flat else recorded_path
        yield from paths_in_root(self.symfs, path_in_symfs)

    def debug_directories(self) -> Iterator[Path]:
        """Yield directories like /usr/lib/debug, in the order of search."""
        yield from self.debug_dirs
        if self.system_debug_dir is not None:
            yield from self.local_paths(str(self.system_debug_dir))

    def buildid_cache_paths(self, build_id: bytes, *kinds: str) -> Iterator[Path]:
        """Yield .build-id/xx/rest/KIND of the build-id cache for each kind: elf, debug, kallsyms or vdso.

        xx is the first two hexadecimal digits of the build id. Before Linux 4.3, perf made .build-id/xx/rest a symbolic
        link to the file itself, not to a directory.
        """
        if not build_id or self.buildid_dir is None:
            return
        digits = build_id.hex()
        entry = self.buildid_dir.joinpath(".build-id", digits[:2], digits[2:])
        if is_directory(entry):
            yield from map(entry.joinpath, kinds)
        elif "elf" in kinds:
            yield entry

    def runtime_paths(self, name: str, build_id: bytes, pid: int) -> Iterator[Path]:
        """Yield candidates for the file that was mapped as ``name``.

        With a build id, they include the file that the process ``pid`` sees under this name.
        """
        yield from self.buildid_cache_paths(build_id, "elf", "vdso")
        if is_real_path(name):
            if build_id and self.symfs is None and self.proc is not None and pid > 0:
                yield from paths_in_root(self.proc / str(pid) / "root", name)
            yield from self.local_paths(name)
        elif self.symfs is not None:  # not a path, such as a memfd: a copy may lie under symfs
            yield from self.local_paths(name)
            yield from self.local_paths(f"{name} (deleted)")

    def debug_link_paths(self, name: str, link: str) -> Iterator[Path]:
        """Yield candidates for the debug file that object ``name`` calls ``link`` (BINARY_TYPE__DEBUGLINK)."""
        link = link.rpartition("/")[2]
        folder = name.rpartition("/")[0] if is_real_path(name) else ""
        yield from self.local_paths(f"{folder}/{link}")
        yield from self.local_paths(f"{folder}/.debug/{link}")
        for directory in self.debug_directories():
            yield from paths_in_root(directory, f"{folder}/{link}")

    def debug_paths(self, name: str, build_id: bytes) -> Iterator[Path]:
        """Yield candidates for the separate debug file, by build id and by recorded name."""
        yield from self.buildid_cache_paths(build_id, "debug")
        for directory in self.debug_directories():
            yield from debug_dir_paths(directory, name, build_id)
        if is_real_path(name):  # OpenEmbedded: .debug next to the file
            folder, _, base_name = name.rpartition("/")
            yield from self.local_paths(f"{folder}/.debug/{base_name}")


def debug_dir_paths(directory: Path, name: str, build_id: bytes) -> Iterator[Path]:
    """Yield candidates for an object's debug file in a directory like /usr/lib/debug: by build id, then by name."""
    if build_id:
        digits = build_id.hex()
        yield directory.joinpath(".build-id", digits[:2], f"{digits[2:]}.debug")
    # most objects have no debug file, so one check of the folder saves many
    if is_real_path(name) and _has_directory_of(directory, name):
        # kernel modules may be compressed, their debug files are not
        decompressed = name.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst")
        names = (f"{name}.debug", name, f"{decompressed}.debug", decompressed)
        yield from paths_in_root(directory, *dict.fromkeys(names))
    # MIXEDUP_UBUNTU_DEBUGINFO: debug files of some objects in /usr/lib are where those of /lib would be
    if name.startswith("/usr/lib/"):
        yield from paths_in_root(directory, name.removeprefix("/usr"))


def _has_directory_of(directory: Path, name: str) -> bool:
    folder = resolve_in_root(directory, name.rpartition("/")[0])
    return folder is not None and is_directory(folder)
