"""Open bundles: the recording in a temporary place, the objects where they are (debugfiles/archive.py).

The layout is told in bundle/pack.py, which writes it. Nothing but the recording and the files of just-in-time compilers
is unpacked, under names that are checked first: a bundle comes from elsewhere.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.files.tarball import Tarball, open_tarball, tarball_errors
from perf2x.files.temporary import private_directory
from perf2x.files.unpack_limit import link_or_copy, spool, unpacked_limit
from perf2x.symbolize.options import SymbolOptions
from perf2x.tables.errors import FormatError

if TYPE_CHECKING:
    import tarfile

RECORDING = "perf.data"
MAPS = "maps"
MOST_OPEN = 50
"""Files of a bundle that are kept open without a name."""
_RECORDED = re.compile(r"perf\.data(/data(\.\d{1,9})?|/kcore_dir/(kallsyms|modules))?")
_MAP = re.compile(rf"{MAPS}/(perf-\d{{1,10}}\.map|jit-\d{{1,10}}\.dump)")


@contextlib.contextmanager
def open_bundles(
    names: Sequence[str], options: SymbolOptions | None
) -> Iterator[tuple[list[str], SymbolOptions | None]]:
    """The inputs with every bundle's recording in a temporary place, and its objects among the archives."""
    bundles = [name for name in names if name != "-" and is_bundle(Path(name))]
    if not bundles:
        yield list(names), options
        return
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private_directory())
        places = {name: folder / f"{number}-{RECORDING}" for number, name in enumerate(bundles)}
        maps = folder / MAPS
        maps.mkdir()
        for name, place in places.items():
            _unpack(name, place, maps, stack)
        if options is not None:
            archives = (*options.archives, *(Path(name) for name in bundles))
            options = replace(options, archives=archives, perf_map_dir=options.perf_map_dir or _filled(maps))
        yield [str(places.get(name, name)) for name in names], options


def is_bundle(path: Path) -> bool:
    """Whether a file is a tarball that begins with a recording."""
    try:
        if not path.is_file() or not _looks_packed(path):
            return False
        with open_tarball(path) as tar:
            first = next(tar.members(), None)
            return first is not None and first.isreg() and _RECORDED.fullmatch(first.name) is not None
    except tarball_errors():
        return False


def _looks_packed(path: Path) -> bool:
    """Cheap: perf.data itself begins with PERFILE2."""
    with path.open("rb") as stream:
        head = stream.read(512)
    return head.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"BZh")) or head[257:262] == b"ustar"


def _filled(directory: Path) -> Path | None:
    return directory if any(directory.iterdir()) else None


def _unpack(name: str, place: Path, maps: Path, stack: contextlib.ExitStack) -> None:
    try:
        with open_tarball(Path(name)) as tar:
            room = unpacked_limit(Path(name).stat().st_size)
            opened_files = 0
            for member in tar.members():
                target = _target(member, place, maps)
                if target is not None:
                    named = target.parent == maps and opened_files >= MOST_OPEN
                    _copy(tar, member, target, room, None if named else stack)
                    room -= member.size
                    opened_files += 1
    except tarball_errors() as error:
        raise FormatError(f"{name}: cannot be read as a bundle: {error}") from None


def _target(member: tarfile.TarInfo, place: Path, maps: Path) -> Path | None:
    """The place of a member in the temporary directory; None for what stays in the tarball."""
    if member.isreg() and _RECORDED.fullmatch(member.name):
        return place.joinpath(*member.name.split("/")[1:])
    if member.isreg() and _MAP.fullmatch(member.name):
        return maps / member.name.rpartition("/")[2]
    return None


def _copy(tar: Tarball, member: tarfile.TarInfo, target: Path, room: int, whole: contextlib.ExitStack | None) -> None:
    """The contents of a member, in a file without a name to which ``target`` leads.

    So a process that is killed leaves nothing of them behind, where the system has paths to open files. ``whole`` is
    left when nothing is needed any more; without it, ``target`` is a plain file: a process may not open as many files
    as a bundle may have maps.
    """
    if target.is_symlink() or target.exists():
        raise ValueError(f"{member.name} of two bundles would be mixed up; convert them one by one")
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as own:
        copy = (whole or own).enter_context(spool(member.name))
        for chunk in tar.chunks(member, room):
            copy.write(chunk)
        if whole is not None:
            link_or_copy(copy.done(), target)
            return
        import shutil

        with target.open("wb") as out:
            shutil.copyfileobj(copy.done(), out)
