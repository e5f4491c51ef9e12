"""Collects the contents of a bundle: for each object, the files that the symbol sources would read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.dwo_and_dwz_files import find_supplementary_file, has_supplementary_file
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.find.perf_archive import substitute_build_id
from perf2x.base.files.tarball import tarball_errors
from perf2x.base.files.temporary import shown_name
from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.base.frozen_struct import Frozen
from perf2x.base.mapping_names import is_jitdump, is_vdso
from perf2x.errors import ObjectError
from perf2x.kernel.open_bundle import JIT_FOLDER
from perf2x.model.profile import Profile
from perf2x.stitcher.unwind.aarch64 import AARCH64
from perf2x.stitcher.unwind.x86_64 import I386, X86_64
from perf2x.symbolizer.mapped_objects import MappedObject, dso_of, mapped_objects, vdso_files
from perf2x.symbolizer.sources.jitdump_mappings import JitdumpFiles
from perf2x.symbolizer.sources.kernel_source import KernelSource
from perf2x.symbolizer.sources.module_source import ModuleSource, VmlinuxSource
from perf2x.symbolizer.sources.perf_map_source import PerfMapSource
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind
from perf2x.tools.bundle.keep_symbols import without_code_and_data

# Code that the unwinder recognizes by its bytes.
_KNOWN_CODE = [known.pattern for machine in (X86_64, I386, AARCH64) for known in machine.known_code]


class BundledObject(Frozen):
    """One object of the bundle."""

    name: str
    build_id: str
    """Lower-case hex; "" if none was recorded."""
    members: tuple[str, ...]
    """Names of its files in the tarball."""


class BundleContents(Struct):
    """Contents of a bundle other than the recording."""

    objects: list[BundledObject] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Reasons why objects are not included, by object name."""
    members: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    """Functions that read members' bytes, by member name; called when the member is written."""


def collect_contents(profile: Profile, context: Context, *, only_symbols: bool) -> BundleContents:
    """Collect the files that a conversion of the recording would read; ``profile`` is not symbolized yet."""
    collector = _ContentsCollector(profile, context, only_symbols)
    for mapped in mapped_objects(profile, context.session):
        collector.add(mapped)
    return collector.contents


class _ContentsCollector:
    def __init__(self, profile: Profile, context: Context, only_symbols: bool) -> None:
        self.contents = BundleContents()
        self._profile, self._context, self._only_symbols = profile, context, only_symbols
        self._perf_maps = PerfMapSource(context)

    def add(self, mapped: MappedObject) -> None:
        kind, name = mapped.key.kind, mapped.key.name
        try:
            if kind is DsoKind.KERNEL:
                self._add_kernel(name)
            elif kind is DsoKind.ANONYMOUS:
                if mapped.pid >= 0:  # data has no process, and no names
                    self._add_perf_map(mapped)
            elif kind is DsoKind.FILE and is_jitdump(name):
                self._add_jitdump(mapped)
            # BPF programs and trampolines (SYMBOL) have no file, and [vsyscall] needs none
            elif kind is not DsoKind.SYMBOL and name != "[vsyscall]":
                self._add_files(mapped)
        except tarball_errors(ObjectError) as error:
            self.contents.left_out[name] = str(error)

    def _add_files(self, mapped: MappedObject) -> None:
        """Add the main file with the suffix ``elf`` or ``vdso``, and a second one, if any, with ``debug``."""
        key, found = mapped.key, self._find_files(mapped)
        if not found.files:
            self.contents.left_out[key.name] = found.reason
            return
        main_file = found.code or found.symbols or found.files[0]
        second_file = found.symbols if self._only_symbols else (found.dwarf or found.symbols)
        files_by_suffix = {"vdso" if key.kind is DsoKind.VDSO else "elf": main_file}
        if second_file is not None and second_file is not main_file:
            files_by_suffix["debug"] = second_file
        readers = {suffix: self._reader_of(file) for suffix, file in files_by_suffix.items()}
        self._add_members(key.name, key.build_id, readers)
        if found.dwarf is not None and not self._only_symbols and has_supplementary_file(found.dwarf):
            self._add_supplementary(key.name, found.dwarf)

    def _find_files(self, mapped: MappedObject) -> ObjectFiles:
        key, context = mapped.key, self._context
        if is_vdso(key.name):
            return vdso_files(context, mapped)
        found = context.find(key.name, key.build_id, mapped.pid)
        if key.kind is DsoKind.MODULE:
            return ModuleSource(context).files(dso_of(self._profile, mapped, found)) or found
        return found

    def _add_supplementary(self, name: str, file: ElfObject) -> None:
        try:
            dwz_file = find_supplementary_file(self._context.finder, file)
            reason = "the dwz file of its debug info was not found"
        except ObjectError as error:
            dwz_file, reason = None, str(error)
        if dwz_file is None:
            self.contents.left_out[f"{name} (dwz)"] = reason
        else:
            self._add_members(f"{name} (dwz)", dwz_file.build_id, {"debug": self._reader_of(dwz_file)})

    def _reader_of(self, file: ElfObject) -> Callable[[], bytes]:
        """Return a function that reads the file.

        Raises ObjectError for a sparse file much larger than its size on disk.
        """
        on_disk = _size_on_disk(file)
        if file.size > (limit := memory_limit(on_disk)):
            raise ObjectError(*too_large(f"{file.name}: ", on_disk, limit))
        return lambda: without_code_and_data(file, _KNOWN_CODE) if self._only_symbols else file.read(0, file.size)

    def _add_members(self, name: str, build_id: bytes, readers: dict[str, Callable[[], bytes]]) -> None:
        """Add an object with its files; ``readers`` are functions that read them, by suffix."""
        folder = f"objects/{(build_id or substitute_build_id(name)).hex()}"
        members = {f"{folder}/{suffix}": read for suffix, read in readers.items()}
        self.contents.members |= members
        self.contents.objects.append(BundledObject(name, build_id.hex(), tuple(members)))

    def _add_kernel(self, name: str) -> None:
        """Add vmlinux and kallsyms if they are found; a recording with a ``kcore_dir`` has its own kallsyms."""
        context = self._context
        if name.startswith("[guest"):
            self.contents.left_out[name] = "a guest's kernel"
            return
        readers: dict[str, Callable[[], bytes]] = {}
        vmlinux = VmlinuxSource(context)
        files = vmlinux.files if vmlinux.is_searched else None
        if files is not None and files.files:
            readers["elf"] = self._reader_of(files.symbols or files.files[0])
        kallsyms, reason = KernelSource(context).contents()
        if kallsyms is not None and not context.session.kcore_dir:
            readers["kallsyms"] = lambda: kallsyms
        if readers:
            self._add_members("[kernel.kallsyms]", context.kernel_build_id, readers)
        elif kallsyms is None:
            self.contents.left_out["[kernel.kallsyms]"] = reason

    def _add_perf_map(self, mapped: MappedObject) -> None:
        address = self._profile.locations.lookup[mapped.locations]
        path, table = self._perf_maps.file(mapped.pid, address)
        if path is None or table is None:
            reason = f"no perf-{mapped.pid}.map (--perf-map-dir)"
        elif not np.any(table.find(np.sort(address)) >= 0):  # perhaps a link to some other file, not to be packed
            reason = f"{shown_name(path)} names none of the sampled code"
        else:
            self._add_jit_file(f"perf-{mapped.pid}.map", str(path), path)
            return
        self.contents.left_out[f"//anon of process {mapped.pid}"] = reason

    def _add_jitdump(self, mapped: MappedObject) -> None:
        dump = JitdumpFiles.of(self._context).open(mapped.key.name, mapped.pid)
        # its mappings came from the file, so it is missing only if it vanished since
        if dump is not None:
            self._add_jit_file(mapped.key.name.rpartition("/")[2], mapped.key.name, Path(dump.name))

    def _add_jit_file(self, filename: str, name: str, path: Path) -> None:
        member = f"{JIT_FOLDER}/{filename}"
        self.contents.members[member] = path.read_bytes
        self.contents.objects.append(BundledObject(name, "", (member,)))


def _size_on_disk(file: ElfObject) -> int:
    """Return the bytes that a file takes on disk, without holes; a file in memory counts in full."""
    if file.path is None:
        return file.size
    status = file.path.stat()
    return getattr(status, "st_blocks", status.st_size // 512 + 1) * 512
