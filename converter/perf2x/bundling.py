"""Bundles: a recording and the objects its samples lie in as one tarball, to be converted on any machine.

Beside the pipeline, which opens them. A bundle is a tarball of ``perf archive`` (objects/archive.py) that begins with
the recording itself::

    perf.data                           the recording, byte for byte
    usr/bin/prog/BUILDID/elf            what was mapped
    usr/bin/prog/BUILDID/debug          its debug info, where that is another file
    [kernel.kallsyms]/BUILDID/kallsyms  the kernel's symbols
"""

import contextlib
import gzip
import io
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, BinaryIO

from perf2x.model.errors import FormatError, ObjectError
from perf2x.model.events import Session
from perf2x.model.profile import Profile
from perf2x.objects.find import Finder, cached_paths
from perf2x.objects.paths import is_file
from perf2x.symbolize.kallsyms import read_kallsyms
from perf2x.symbolize.kernel import running_kernel_build_id
from perf2x.symbolize.objects import mapped_objects
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.source import DsoKind

RECORDING = "perf.data"
_BROKEN = (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error, ValueError)
_KINDS = {DsoKind.FILE: "elf", DsoKind.MODULE: "elf", DsoKind.VDSO: "vdso"}


@dataclass(frozen=True, slots=True)
class Packed:
    """What went into a bundle, by member name, and the objects that could not, with the reason."""

    members: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def write_bundle(
    recording: Path, profile: Profile, session: Session, options: SymbolOptions, finder: Finder, out: BinaryIO
) -> Packed:
    """Write the tarball (gzip, without times and owners: equal contents are equal bytes)."""
    members: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    for mapped in mapped_objects(profile, session.build_ids):
        key = mapped.key
        if key.kind is DsoKind.KERNEL:
            _add_kernel(members, left_out, key.build_id or _kernel_build_id(session), options)
        elif key.kind in _KINDS:
            _add_object(members, left_out, finder, key.name, key.build_id, _KINDS[key.kind])
    with gzip.GzipFile("", "wb", 6, out, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(RECORDING)
        info.size = recording.stat().st_size
        with recording.open("rb") as stream:
            tar.addfile(info, stream)
        for name in sorted(members):
            info = tarfile.TarInfo(name)
            info.size = len(members[name])
            tar.addfile(info, io.BytesIO(members[name]))
    return Packed((RECORDING, *sorted(members)), tuple(sorted(left_out.items())))


def _add_object(
    members: dict[str, bytes], left_out: dict[str, str], finder: Finder, name: str, build_id: bytes, kind: str
) -> None:
    found = finder.find(name, build_id)
    if not build_id:
        left_out[name] = "no build id was recorded"
        return
    if not found.files:
        left_out[name] = found.reason
        return
    first = found.code or found.symbols or found.files[0]
    folder = f"{name.strip('/')}/{build_id.hex()}"
    members[f"{folder}/{kind}"] = first.read(0, first.size)
    debug = found.dwarf or found.symbols
    if debug is not None and debug is not first:
        members[f"{folder}/debug"] = debug.read(0, debug.size)


def _add_kernel(members: dict[str, bytes], left_out: dict[str, str], build_id: bytes, options: SymbolOptions) -> None:
    name = "[kernel.kallsyms]"
    path = _kallsyms(build_id, options) if build_id else None
    if path is None:
        left_out[name] = (
            "no kallsyms of the recorded kernel found (--kallsyms)" if build_id else "no build id was recorded"
        )
        return
    try:
        read_kallsyms(path)  # refuses one whose addresses are hidden
        members[f"{name}/{build_id.hex()}/kallsyms"] = _plain(path)
    except (ObjectError, *_BROKEN) as error:
        left_out[name] = str(error)


def _kallsyms(build_id: bytes, options: SymbolOptions) -> Path | None:
    if options.kallsyms is not None:
        return options.kallsyms
    directory = options.places().buildid_dir
    cached = cached_paths(directory, build_id, ("kallsyms",)) if directory is not None else iter(())
    running = options.symfs is None and running_kernel_build_id() == build_id
    here = [Path("/proc/kallsyms")] if running else []
    return next((path for path in (*cached, *here) if is_file(path)), None)


def _plain(path: Path) -> bytes:
    data = path.read_bytes()
    if data.startswith(b"\xfd7zXZ"):
        return lzma.decompress(data)
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def _kernel_build_id(session: Session) -> bytes:
    return session.build_ids.get("[kernel.kallsyms]", b"")


@contextlib.contextmanager
def unbundled(names: Sequence[str], options: SymbolOptions | None) -> Iterator[tuple[list[str], SymbolOptions | None]]:
    """The inputs with every bundle's recording in a temporary file, and its objects among the archives."""
    bundles = [name for name in names if name != "-" and is_bundle(Path(name))]
    if not bundles:
        yield list(names), options
        return
    with tempfile.TemporaryDirectory(prefix="perf2x-", ignore_cleanup_errors=True) as folder:
        places = {name: Path(folder) / f"{number}-{RECORDING}" for number, name in enumerate(bundles)}
        for name, place in places.items():
            _take_out(name, place)
        if options is not None:
            options = replace(options, archives=(*options.archives, *(Path(name) for name in bundles)))
        yield [str(places.get(name, name)) for name in names], options


def is_bundle(path: Path) -> bool:
    """Whether a file is a tarball that begins with a recording."""
    try:
        if not path.is_file() or not _looks_packed(path):
            return False
        with tarfile.open(path) as tar:
            first = tar.next()
            return first is not None and first.name == RECORDING and first.isreg()
    except _BROKEN:
        return False


def _looks_packed(path: Path) -> bool:
    """Cheap: perf.data itself begins with PERFILE2."""
    with path.open("rb") as stream:
        head = stream.read(512)
    return head.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"BZh")) or head[257:262] == b"ustar"


def _take_out(name: str, place: Path) -> None:
    try:
        with tarfile.open(name) as tar:
            stream: IO[bytes] | None = tar.extractfile(RECORDING)
            if stream is None:
                raise FormatError(f"{name}: {RECORDING} in it is no file")
            with place.open("wb") as out:
                shutil.copyfileobj(stream, out)
    except (KeyError, *_BROKEN) as error:
        raise FormatError(f"{name}: cannot be read as a bundle: {error}") from None
