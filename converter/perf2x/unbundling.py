"""Opens bundles for the pipeline: the recording in a temporary place, the objects where they are (objects/archive.py).

The layout is told in bundling.py, which writes it. Nothing but the recording and the files of just-in-time compilers
is unpacked, under names that are checked first: a bundle comes from elsewhere.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perf2x.model.errors import FormatError
from perf2x.objects.archive import damage
from perf2x.symbolize.options import SymbolOptions

if TYPE_CHECKING:
    import tarfile

RECORDING = "perf.data"
MAPS = "maps"
_RECORDED = re.compile(r"perf\.data(/data(\.\d{1,9})?|/kcore_dir/(kallsyms|modules))?")
_MAP = re.compile(rf"{MAPS}/(perf-\d{{1,10}}\.map|jit-\d{{1,10}}\.dump)")


@contextlib.contextmanager
def unbundled(names: Sequence[str], options: SymbolOptions | None) -> Iterator[tuple[list[str], SymbolOptions | None]]:
    """The inputs with every bundle's recording in a temporary place, and its objects among the archives."""
    bundles = [name for name in names if name != "-" and is_bundle(Path(name))]
    if not bundles:
        yield list(names), options
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="perf2x-", ignore_cleanup_errors=True) as folder:
        places = {name: Path(folder) / f"{number}-{RECORDING}" for number, name in enumerate(bundles)}
        maps = Path(folder) / MAPS
        maps.mkdir()
        for name, place in places.items():
            _unpack(name, place, maps)
        if options is not None:
            archives = (*options.archives, *(Path(name) for name in bundles))
            options = replace(options, archives=archives, perf_map_dir=options.perf_map_dir or _filled(maps))
        yield [str(places.get(name, name)) for name in names], options


def is_bundle(path: Path) -> bool:
    """Whether a file is a tarball that begins with a recording."""
    try:
        if not path.is_file() or not _looks_packed(path):
            return False
        import tarfile

        with tarfile.open(path) as tar:
            first = tar.next()
            return first is not None and first.isreg() and _RECORDED.fullmatch(first.name) is not None
    except damage():
        return False


def _looks_packed(path: Path) -> bool:
    """Cheap: perf.data itself begins with PERFILE2."""
    with path.open("rb") as stream:
        head = stream.read(512)
    return head.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"BZh")) or head[257:262] == b"ustar"


def _filled(directory: Path) -> Path | None:
    return directory if any(directory.iterdir()) else None


def _unpack(name: str, place: Path, maps: Path) -> None:
    import tarfile

    try:
        with tarfile.open(name) as tar:
            for member in tar:
                if not member.isreg():
                    continue
                if _RECORDED.fullmatch(member.name):
                    _copy(tar, member, place.joinpath(*member.name.split("/")[1:]))
                elif _MAP.fullmatch(member.name):
                    _copy(tar, member, maps / member.name.rpartition("/")[2])
    except damage() as error:
        raise FormatError(f"{name}: cannot be read as a bundle: {error}") from None


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    stream = tar.extractfile(member)
    if stream is None:
        return
    if target.exists():
        raise ValueError(f"{member.name} of two bundles would be mixed up; convert them one by one")
    target.parent.mkdir(parents=True, exist_ok=True)
    import shutil

    with target.open("wb") as out:
        shutil.copyfileobj(stream, out)
