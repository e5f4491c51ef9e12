"""Opens bundles: tarballs of a recording and all files that its symbols need, to be converted on any machine.

The recording and the files of JIT compilers are unpacked to a temporary directory. As a bundle is untrusted, only
members with names of a known form are unpacked. Objects are read from the tarball
(base/binaries/find/perf_archive.py). The members are::

    perf.data                    the recording, byte for byte; perf.data/data … if it is a directory
    objects/BUILDID/elf          a mapped file (or vdso: the kernel's vDSO)
    objects/BUILDID/debug        its debug info or symbols, if separate; also a file that dwz shares between objects
    objects/BUILDID/kallsyms     the kernel's symbols
    maps/perf-PID.map            symbols of JIT-compiled code
    maps/jit-PID.dump            JIT-compiled code and its symbols
    bundle.json                  list of all members, and of missing files

BUILDID is the object's build id, or a hash of its recorded name. Names of members are plain ASCII and differ by more
than case; bundle.json has the recorded names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.base.files.tarball import Tarball, open_tarball, tarball_errors
from perf2x.base.files.temporary import private_directory, set_shown_name, shown_name
from perf2x.base.files.unpack_limit import Spool, link_or_copy, unpacked_limit
from perf2x.base.files.unpackers import compression_of
from perf2x.base.mapping_names import is_jitdump
from perf2x.errors import FormatError, prefixed_args
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    import tarfile

RECORDING = "perf.data"
JIT_FOLDER = "maps"
LIST = "bundle.json"
SCHEMA = 1
"""Version of the format of bundle.json."""
MAX_OPEN = 50
"""After this many unpacked members, files of JIT compilers are unpacked to plain files, which need not stay open.

Earlier members, and all files of the recording, are unpacked to unnamed files, each of which stays open.
"""
RECORDED = re.compile(r"perf\.data(/data(\.\d{1,9})?|/kcore_dir/(kallsyms|modules))?")
"""Names of members that are the recording or, if it is a directory, its files; but not the kernel's code (kcore)."""
_PERF_MAP = re.compile(rf"{JIT_FOLDER}/perf-\d{{1,10}}\.map")
_JITDUMP = re.compile(rf"{JIT_FOLDER}/[\w.-]{{1,64}}", re.ASCII)


@contextlib.contextmanager
def open_bundles(
    names: Sequence[str], options: SymbolOptions | None
) -> Iterator[tuple[list[str], SymbolOptions | None]]:
    """Yield all inputs, with the unpacked recording in place of each bundle, and symbol options.

    The bundles become archives in the options, and the directory of unpacked files of JIT compilers becomes
    ``perf_map_dir``, if the user gave none. Unpacked files are removed at the end of the block. Raises FormatError if a
    bundle cannot be read.
    """
    bundles = [name for name in names if name != "-" and is_bundle(Path(name))]
    if not bundles:
        yield list(names), options
        return
    with contextlib.ExitStack() as open_files:
        directory = open_files.enter_context(private_directory())
        recordings = {name: directory / f"{number}-{RECORDING}" for number, name in enumerate(bundles)}
        maps = directory / JIT_FOLDER
        maps.mkdir()
        for name, recording in recordings.items():
            set_shown_name(recording, f"{name}, {RECORDING}")
            _unpack(name, recording, maps, open_files)
        if options is not None:
            archives = (*options.archives, *(Path(name) for name in bundles))
            perf_maps = options.perf_map_dir or (maps if any(maps.iterdir()) else None)
            options = replace(options, archives=archives, perf_map_dir=perf_maps)
        yield [str(recordings.get(name, name)) for name in names], options


def is_bundle(path: Path) -> bool:
    """Return whether the first member of a tarball is a recording."""
    try:
        if not path.is_file() or not _may_be_tarball(path):
            return False
        with open_tarball(path) as tar:
            first = next(tar.members(), None)
            return first is not None and first.isreg() and RECORDED.fullmatch(first.name) is not None
    except tarball_errors():
        return False


def _may_be_tarball(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(512)
    return compression_of(head) != "" or head[257:262] == b"ustar"  # the magic of a tar header


def _unpack(name: str, recording: Path, maps: Path, open_files: contextlib.ExitStack) -> None:
    try:
        with open_tarball(Path(name)) as tar:
            bytes_left = unpacked_limit(Path(name).stat().st_size)
            unpacked_members = 0
            for member in tar.members():
                target = _target(member, recording, maps)
                if target is not None:
                    is_plain_file = target.parent == maps and unpacked_members >= MAX_OPEN
                    set_shown_name(target, f"{name}, {member.name}")
                    _copy(tar, member, target, bytes_left, None if is_plain_file else open_files)
                    bytes_left -= member.size
                    unpacked_members += 1
    except tarball_errors() as error:
        raise FormatError(*prefixed_args(f"{name}: cannot be read as a bundle", error)) from None


def _target(member: tarfile.TarInfo, recording: Path, maps: Path) -> Path | None:
    """None for members that stay in the tarball."""
    if member.isreg() and RECORDED.fullmatch(member.name):
        return recording.joinpath(*member.name.split("/")[1:])
    is_dump = _JITDUMP.fullmatch(member.name) and is_jitdump(member.name)
    if member.isreg() and (is_dump or _PERF_MAP.fullmatch(member.name)):
        return maps / member.name.rpartition("/")[2]
    return None


def _copy(
    tar: Tarball, member: tarfile.TarInfo, target: Path, bytes_left: int, open_files: contextlib.ExitStack | None
) -> None:
    """Copy a member to ``target``. Raises ValueError if it exists, FormatError for more than ``bytes_left`` bytes.

    A killed process leaves no data in an unnamed file, so ``target`` becomes a link to one, which ``open_files``
    closes. It is a plain file if ``open_files`` is None, and on systems where an open file has no path
    (``/proc/self/fd``).
    """
    if target.is_symlink() or target.exists():
        raise ValueError(f"{member.name} of two bundles would be mixed up; convert them one by one")
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as until_copied:
        spool = (open_files or until_copied).enter_context(Spool(shown_name(target)))
        for chunk in tar.chunks(member, bytes_left):
            spool.write(chunk)
        link_or_copy(spool.done(), target, link=open_files is not None)
