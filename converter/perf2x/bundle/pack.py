"""Bundles: a recording and what names its samples as one tarball, to be converted on any machine.

Beside the pipeline, which opens them (bundle/unpack.py). Names of members are plain ASCII and differ by more than case,
whatever was recorded; the recorded names stand in the list at the end. A bundle is also a tarball of ``perf archive``
(debugfiles/archive.py)::

    perf.data                    the recording, byte for byte; perf.data/data … for one that is a directory
    objects/BUILDID/elf          what was mapped (or vdso: what the kernel lent)
    objects/BUILDID/debug        its debug info or symbols, where they are in another file; what dwz moved out of them
    objects/BUILDID/kallsyms     the kernel's symbols
    maps/perf-PID.map            code of just-in-time compilers; maps/jit-PID.dump
    bundle.json                  what each of them is, and what is missing

BUILDID is a hash of the recorded name where no build id was recorded.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field, to_builtins

from perf2x.binary.elf.compressed_sections import inflate_file
from perf2x.binary.elf.file import ElfObject
from perf2x.binary.elf.skeleton import keep_symbols_only
from perf2x.bundle.unpack import MAPS, RECORDING
from perf2x.debugfiles.archive import name_key
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.debugfiles.split_debug import has_supplementary, supplementary_file
from perf2x.files.rooted_paths import is_file
from perf2x.files.tarball import tarball_errors
from perf2x.files.unpack_limit import memory_limit, too_large
from perf2x.symbolize.mapped_objects import MappedObject, dso_of, mapped_objects
from perf2x.symbolize.sources.contract import Context, DsoKind
from perf2x.symbolize.sources.jit_names import is_jitdump
from perf2x.symbolize.sources.jitdump_files import dump_paths
from perf2x.symbolize.sources.kernel import KernelSource
from perf2x.symbolize.sources.modules import ModuleSource, VmlinuxSource
from perf2x.symbolize.sources.perf_map import PerfMapSource
from perf2x.symbolize.sources.vdso import find_running_vdso
from perf2x.tables.errors import ObjectError
from perf2x.tables.profile import Profile
from perf2x.unwind.aarch64 import AARCH64
from perf2x.unwind.x86_64 import I386, X86_64

LIST = "bundle.json"
SCHEMA = 1
_TRAMPOLINES = [code for machine in (X86_64, I386, AARCH64) for code, _ in machine.trampolines]
_FILES = re.compile(r"data(\.\d{1,9})?|kcore_dir/(kallsyms|modules)")


class BundledObject(Struct, frozen=True):
    """One object of the bundle."""

    name: str
    """As recorded."""
    build_id: str
    """In hex; "" where none was recorded."""
    members: tuple[str, ...]


class BundleContents(Struct):
    """What goes into a bundle, and the objects that could not, with the reason."""

    objects: list[BundledObject] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    contents: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    """How to get the bytes of each member but the recording's."""


def pack(profile: Profile, context: Context, *, only_symbols: bool) -> BundleContents:
    """Everything that a conversion of the recording asks for; ``profile`` has no names yet (LoadOptions.look_up)."""
    packer = _BundlePacker(profile, context, only_symbols)
    for mapped in mapped_objects(profile, context.session.build_ids):
        packer.add(mapped)
    return packer.packed


def write_bundle(recording: Path, packed: BundleContents, out: BinaryIO, *, only_symbols: bool) -> None:
    """Write the tarball (gzip, without times and owners: equal contents are equal bytes)."""
    listed = {
        "schema": SCHEMA,
        "only_symbols": only_symbols,
        "objects": [to_builtins(entry) for entry in packed.objects],
        "left_out": dict(sorted(packed.left_out.items())),
    }
    with gzip.GzipFile("", "wb", 6, out, mtime=0) as whole, tarfile.open(fileobj=whole, mode="w") as tar:
        for name, path in recorded_files(recording):
            info = tarfile.TarInfo(name)
            info.size = path.stat().st_size
            with path.open("rb") as stream:
                tar.addfile(info, stream)
        for name in sorted(packed.contents):
            _add(tar, name, packed.contents[name]())
        _add(tar, LIST, (json.dumps(listed, indent=1, ensure_ascii=True) + "\n").encode())


def recorded_files(recording: Path) -> Iterator[tuple[str, Path]]:
    """Members of the recording: itself, or, of a directory, what belongs to it (but not the kernel's code)."""
    if not recording.is_dir():
        yield RECORDING, recording
        return
    found = [path.relative_to(recording).as_posix() for path in recording.rglob("*") if is_file(path)]
    for name in sorted(name for name in found if _FILES.fullmatch(name)):
        yield f"{RECORDING}/{name}", recording / name


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


class _BundlePacker:
    """Asks for each object what the symbolizer's sources would ask for."""

    def __init__(self, profile: Profile, context: Context, only_symbols: bool) -> None:
        self.packed = BundleContents()
        self._profile, self._context, self._only_symbols = profile, context, only_symbols
        self._perf_maps = PerfMapSource(context)

    def add(self, mapped: MappedObject) -> None:
        """One object; what cannot be had is noted."""
        kind, name = mapped.key.kind, mapped.key.name
        try:
            if kind is DsoKind.KERNEL:
                self._add_kernel(name)
            elif kind is DsoKind.ANONYMOUS:
                self._add_perf_map(mapped)
            elif kind is DsoKind.FILE and is_jitdump(name):
                self._add_dump(mapped)
            elif kind is not DsoKind.SYMBOL and name != "[vsyscall]":
                self._add_files(mapped)
        except tarball_errors(ObjectError) as error:
            self.packed.left_out[name] = str(error)

    def _add_files(self, mapped: MappedObject) -> None:
        key, found = mapped.key, self._found(mapped)
        if not found.files:
            self.packed.left_out[key.name] = found.reason
            return
        kind = "vdso" if key.kind is DsoKind.VDSO else "elf"
        self._keep_object(key.name, key.build_id, found, kind)

    def _found(self, mapped: MappedObject) -> ObjectFiles:
        key, context = mapped.key, self._context
        found = context.finder.find(key.name, key.build_id, mapped.pid)
        if key.kind is DsoKind.VDSO and not found.files:
            return find_running_vdso(context, key.name, key.build_id)
        if key.kind is DsoKind.MODULE:
            return ModuleSource(context).files(dso_of(self._profile, mapped, found)) or found
        return found

    def _keep_object(self, name: str, build_id: bytes, found: ObjectFiles, kind: str) -> None:
        first = found.code or found.symbols or found.files[0]
        further = found.symbols if self._only_symbols else (found.dwarf or found.symbols)
        members = {kind: first} | ({"debug": further} if further is not None and further is not first else {})
        self._keep(name, build_id, {kind: self._contents(file) for kind, file in members.items()})
        if found.dwarf is not None and not self._only_symbols and has_supplementary(found.dwarf):
            self._keep_supplementary(name, found.dwarf)

    def _keep_supplementary(self, name: str, file: ElfObject) -> None:
        """What dwz moved out of debug info, under its own build id."""
        try:
            other = supplementary_file(self._context.finder, file)
            reason = "the dwz file of its debug info was not found"
        except ObjectError as error:
            other, reason = None, str(error)
        if other is None:
            self.packed.left_out[f"{name} (dwz)"] = reason
        else:
            self._keep(f"{name} (dwz)", other.build_id, {"debug": self._contents(other)})

    def _contents(self, file: ElfObject) -> Callable[[], bytes]:
        """A function that gets an object's bytes; ObjectError for a file with holes, much larger than it is on disk."""
        on_disk = _on_disk(file)
        if file.size > (limit := memory_limit(on_disk)):
            raise ObjectError(f"{file.name}: {too_large(on_disk, limit)}")
        return lambda: keep_symbols_only(file, _TRAMPOLINES) if self._only_symbols else file.read(0, file.size)

    def _keep(self, name: str, build_id: bytes, members: dict[str, Callable[[], bytes]]) -> None:
        folder = f"objects/{(build_id or name_key(name)).hex()}"
        named = {f"{folder}/{kind}": contents for kind, contents in members.items()}
        self.packed.contents |= named
        self.packed.objects.append(BundledObject(name, build_id.hex(), tuple(named)))

    def _add_kernel(self, name: str) -> None:
        """vmlinux where there is one, and kallsyms; of a guest's kernel nothing is known here."""
        context, build_id = self._context, self._context.kernel_build_id
        if name.startswith("[guest"):
            self.packed.left_out[name] = "a guest's kernel"
            return
        members: dict[str, Callable[[], bytes]] = {}
        source = VmlinuxSource(context)
        given = context.options.vmlinux is not None or context.options.kallsyms is None
        files = source.files if given else None
        if files is not None and files.files:
            members["elf"] = self._contents(files.symbols or files.files[0])
        kallsyms, reason = KernelSource(context).file()
        if kallsyms is not None and not context.session.kcore_dir:
            try:
                text = inflate_file(kallsyms.read_bytes() if isinstance(kallsyms, Path) else kallsyms[1])
                members["kallsyms"] = lambda: text
            except tarball_errors(ObjectError) as error:
                self.packed.left_out["[kernel.kallsyms]"] = str(error)
        if members:
            self._keep("[kernel.kallsyms]", build_id, members)
        elif kallsyms is None:
            self.packed.left_out["[kernel.kallsyms]"] = reason

    def _add_perf_map(self, mapped: MappedObject) -> None:
        address = self._profile.locations.lookup[mapped.locations]
        path, _ = self._perf_maps.file(mapped.pid, address)
        if path is None:
            self.packed.left_out[f"//anon of process {mapped.pid}"] = f"no perf-{mapped.pid}.map (--perf-map-dir)"
        else:
            self._keep_map(f"perf-{mapped.pid}.map", str(path), path)

    def _add_dump(self, mapped: MappedObject) -> None:
        context = self._context
        paths = dump_paths(mapped.key.name, mapped.pid, context.options, context.finder)
        path = next(filter(is_file, paths), None)
        if path is not None:
            self._keep_map(mapped.key.name.rpartition("/")[2], mapped.key.name, path)

    def _keep_map(self, member: str, name: str, path: Path) -> None:
        self.packed.contents[f"{MAPS}/{member}"] = path.read_bytes
        self.packed.objects.append(BundledObject(name, "", (f"{MAPS}/{member}",)))


def _on_disk(file: ElfObject) -> int:
    """Bytes of the file without its holes; what was unpacked has none."""
    if file.path is None:
        return file.size
    found = file.path.stat()
    return getattr(found, "st_blocks", found.st_size // 512 + 1) * 512
