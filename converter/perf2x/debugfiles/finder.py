"""Which file on this machine is the object that a recording names: perf's places, in perf's order, by build id first.

Source of truth: tools/perf/util/symbol.c binary_type_symtab and dso__load, util/dso.c dso__read_binary_type_filename.
A file with another build id than the recorded one is refused and remembered as the reason; nothing is executed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct, field

from perf2x.binary.elf.compressed_sections import inflate
from perf2x.binary.elf.file import ElfObject, open_elf, open_object
from perf2x.binary.elf.notes import same_build_id, unpadded
from perf2x.files import sysroot as machine
from perf2x.files.rooted_paths import below, is_file, is_folder
from perf2x.files.unpack_limit import allowed_in_memory
from perf2x.tables.errors import ObjectError
from perf2x.tables.mapping_names import is_real_path, without_deleted


class SearchPlaces(Struct, frozen=True):
    """Where objects may lie; everything that a user can say about it."""

    symfs: Path | None = None
    """Root of the recorded machine's file system (perf's --symfs); None: this machine's."""
    symfs_flat: bool = False
    """Files lie in ``symfs`` by their last name alone (perf's ``--symfs DIR,flat``)."""
    debug_dirs: tuple[Path, ...] = ()
    """More directories like /usr/lib/debug, looked into before it."""
    buildid_dir: Path | None = None
    """perf's build-id cache (``~/.debug``); None: there is none."""
    allow_mismatch: bool = False
    """Take files whose build id differs, and say so."""
    system_debug_dir: Path | None = field(default_factory=lambda: Path(machine.DEBUG_DIR))
    """Under symfs when there is one, as every path of the recorded machine; None: not asked."""
    proc: Path | None = field(default_factory=lambda: machine.on_this_machine(machine.PROC))
    """For files of running containers: PROC/PID/root."""


TAKEN, ABSENT, OTHER_BUILD = "taken", "not there", "another build"
OTHER_CHECKSUM, UNREADABLE = "another checksum", "cannot be read"


class Tried(NamedTuple):
    """A place where a file was looked for, and what came of it: TAKEN, ABSENT, OTHER_BUILD …"""

    place: str
    outcome: str


class Found(Struct):
    """All files of one object, in the order of search, opened headers only; and why others were refused."""

    files: list[ElfObject] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Sentences: which file was there and why it was not taken."""
    mismatched: bool = False
    """A file was taken although its build id differs."""
    tried: list[Tried] = field(default_factory=list)
    """Every path that was looked at, in order; archives and servers last."""

    @property
    def code(self) -> ElfObject | None:
        """The file that was mapped: it has the instructions' bytes and program headers that tell the truth."""
        return next((file for file in self.files if has_code(file)), None)

    @property
    def symbols(self) -> ElfObject | None:
        """The first file with a ``.symtab``, else the first with a ``.dynsym``."""
        return next((f for f in self.files if f.section(".symtab")), None) or next(
            (f for f in self.files if f.section(".dynsym")), None
        )

    @property
    def dwarf(self) -> ElfObject | None:
        """The first file with ``.debug_info``."""
        return next((f for f in self.files if f.section(".debug_info") or f.section(".zdebug_info")), None)

    @property
    def reason(self) -> str:
        """Why there is no file at all, "" when there is one."""
        if self.files:
            return ""
        return self.refused[0] if self.refused else "file not found"


Fetcher = Callable[[str, bytes], Iterator[ElfObject]]
"""More files by (``executable`` or ``debuginfo``, build id): archives, a debuginfod client. Asked last, and only for
what is still missing.
"""


def no_files(name: str) -> Iterator[ElfObject]:
    """Nothing is bundled."""
    return iter(())


def has_code(file: ElfObject) -> bool:
    """Whether the file holds instructions; a file with debug info alone has its ``.text`` as SHT_NOBITS."""
    if not file.sections:
        return any(segment.type == "PT_LOAD" and segment.file_size for segment in file.segments)
    return any(s.type == "SHT_PROGBITS" and s.flags & 0x6 == 0x6 and s.size for s in file.sections)


class Finder:
    """Finds the files of objects and remembers the answers; shared by unwinder and symbolizer."""

    def __init__(
        self,
        places: SearchPlaces,
        fetchers: tuple[Fetcher, ...] = (),
        bundled: Callable[[str], Iterator[ElfObject]] = no_files,
    ) -> None:
        """``bundled`` has files by recorded name, for recordings without build ids; it is asked before this machine."""
        self.places = places
        self._fetchers = fetchers
        self._bundled = bundled
        self._known: dict[tuple[str, bytes], Found] = {}

    @property
    def is_local(self) -> bool:
        """Whether files on this machine are all that there is to ask: no archives, which are open, no servers."""
        return not self._fetchers

    def find(self, name: str, build_id: bytes, pid: int = -1) -> Found:
        """Every file of the object recorded as ``name`` with ``build_id`` (b"": not recorded) in process ``pid``."""
        build_id = unpadded(build_id)
        key = (name, build_id)
        if key not in self._known:
            self._known[key] = self._search(without_deleted(name), build_id, pid)
        return self._known[key]

    def provide(self, name: str, file: ElfObject) -> None:
        """Answer with ``file`` where ``name`` is asked for without a build id: an object that stands in no file."""
        self._known[name, b""] = Found([file])

    def _search(self, name: str, build_id: bytes, pid: int) -> Found:
        found = Found()
        self._by_path(found, name, build_id, pid)
        build_id = build_id or (found.files[0].build_id if found.files else b"")
        taken = {file.name for file in found.files}
        for path in self._debug_paths(found, name, build_id):
            if str(path) not in taken and _is_there(found, path):
                self._take(found, path, build_id)
                taken.add(str(path))
        self._add_mini_debug_info(found)
        self._fetch(found, build_id)
        return found

    def _by_path(self, found: Found, name: str, build_id: bytes, pid: int) -> None:
        """The file itself: the recorded path (under symfs, in the process's root), the build-id cache."""
        if not build_id:
            self._keep_all(found, self._bundled(name), build_id)
            if found.files:
                return
        for path in self._runtime_paths(name, build_id, pid):
            if _is_there(found, path) and self._take(found, path, build_id):
                return

    def _runtime_paths(self, name: str, build_id: bytes, pid: int) -> Iterator[Path]:
        if build_id and self.places.buildid_dir:
            yield from cached_paths(self.places.buildid_dir, build_id, ("elf", "vdso"))
        if is_real_path(name):
            if build_id and self.places.symfs is None and self.places.proc is not None and pid > 0:
                yield from filter(None, [below(self.places.proc / str(pid) / "root", name)])
            yield from self.on_disk(name)

    def on_disk(self, recorded: str) -> Iterator[Path]:
        """Where a recorded path lies on this machine: under symfs (hierarchy or flat), or as it is."""
        symfs = self.places.symfs
        if symfs is None:
            yield machine.on_this_machine(recorded)
        elif self.places.symfs_flat:
            yield from filter(None, [below(symfs, recorded.rpartition("/")[2])])
        else:
            yield from filter(None, [below(symfs, recorded)])

    def _debug_paths(self, found: Found, name: str, build_id: bytes) -> Iterator[Path]:
        links = (debug_link(file) for file in list(found.files))
        for link_name, crc in filter(None, links):
            for path in self._linked(name, link_name):
                if build_id or not is_file(path) or _has_crc(path, crc):
                    yield path
                else:
                    found.tried.append(Tried(str(path), OTHER_CHECKSUM))
        if build_id and self.places.buildid_dir:
            yield from cached_paths(self.places.buildid_dir, build_id, ("debug",))
        for directory in self.debug_dirs():
            yield from in_debug_dir(directory, name, build_id)
        if is_real_path(name):  # OpenEmbedded: .debug beside the file
            folder, _, last = name.rpartition("/")
            yield from self.on_disk(f"{folder}/.debug/{last}")

    def _linked(self, name: str, link: str) -> Iterator[Path]:
        """dso__read_binary_type_filename, DSO_BINARY_TYPE__DEBUGLINK: beside the file, in .debug, in /usr/lib/debug."""
        link = link.rpartition("/")[2]
        folder = name.rpartition("/")[0] if is_real_path(name) else ""
        yield from self.on_disk(f"{folder}/{link}")
        yield from self.on_disk(f"{folder}/.debug/{link}")
        for directory in self.debug_dirs():
            yield from filter(None, [below(directory, f"{folder}/{link}")])

    def debug_dirs(self) -> Iterator[Path]:
        """Directories like /usr/lib/debug, in the order of search."""
        yield from self.places.debug_dirs
        system = self.places.system_debug_dir
        if system is not None:
            yield from self.on_disk(str(system))

    def _take(self, found: Found, path: Path, build_id: bytes) -> bool:
        """Open a file and keep it when its build id is the recorded one."""
        try:
            file = open_object(path)
        except ObjectError as error:
            found.refused.append(str(error))
            found.tried.append(Tried(str(path), UNREADABLE))
            return False
        kept = self._keep(found, file, build_id)
        found.tried.append(Tried(str(path), TAKEN if kept else OTHER_BUILD))
        return kept

    def _keep(self, found: Found, file: ElfObject, build_id: bytes) -> bool:
        if build_id and not same_build_id(build_id, file.build_id):
            other = f"build id {file.build_id.hex()}" if file.build_id else "no build id"
            if not self.places.allow_mismatch:
                found.refused.append(f"{file.name} is another build: it has {other}")
                return False
            found.mismatched = True
        found.files.append(file)
        return True

    def _add_mini_debug_info(self, found: Found) -> None:
        """The symbol table that strip left out, where no file has a whole one."""
        for file in list(found.files):
            if any(f.section(".symtab") for f in found.files):
                return
            try:
                inner = mini_debug_info(file)
            except ObjectError as error:
                found.refused.append(str(error))
            else:
                found.files += [inner] if inner is not None else []

    def fetch(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """Files from archives and servers: ``executable`` or ``debuginfo`` by build id, not checked yet."""
        for fetch in self._fetchers:
            yield from fetch(kind, build_id)

    def _fetch(self, found: Found, build_id: bytes) -> None:
        for fetch in self._fetchers if build_id else ():
            if found.code is None:
                self._fetch_kind(found, fetch, "executable", build_id)
            if found.dwarf is None:
                self._fetch_kind(found, fetch, "debuginfo", build_id)

    def _fetch_kind(self, found: Found, fetch: Fetcher, kind: str, build_id: bytes) -> None:
        before = len(found.files)
        self._keep_all(found, fetch(kind, build_id), build_id)
        outcome = TAKEN if len(found.files) > before else ABSENT
        found.tried.append(Tried(f"{kind} of this build id in archives and on servers", outcome))

    def _keep_all(self, found: Found, files: Iterator[ElfObject], build_id: bytes) -> None:
        try:
            for file in files:
                self._keep(found, file, build_id)
        except ObjectError as error:
            found.refused.append(str(error))


def _is_there(found: Found, path: Path) -> bool:
    if is_file(path):
        return True
    found.tried.append(Tried(str(path), ABSENT))
    return False


def mini_debug_info(file: ElfObject) -> ElfObject | None:
    """.gnu_debugdata: an xz-compressed ELF file with the symbol table that strip left out (Fedora and others).

    None without one; ObjectError when it cannot be read.
    """
    section = file.section(".gnu_debugdata")
    if section is None:
        return None
    packed = file.data(section)
    return open_elf(inflate("xz", packed, allowed_in_memory(len(packed))), f"{file.name}, .gnu_debugdata")


def cached_paths(directory: Path, build_id: bytes, kinds: tuple[str, ...]) -> Iterator[Path]:
    """DIR/.build-id/xx/rest/{elf,debug,kallsyms,vdso}; before Linux 4.3 the link was the file."""
    text = build_id.hex()
    place = directory.joinpath(".build-id", text[:2], text[2:])
    if is_folder(place):
        for kind in kinds:
            yield place / kind
    elif "elf" in kinds:
        yield place


def in_debug_dir(directory: Path, name: str, build_id: bytes) -> Iterator[Path]:
    """An object's debug files in a directory like /usr/lib/debug: by build id, then by recorded name."""
    if build_id:
        text = build_id.hex()
        yield directory.joinpath(".build-id", text[:2], f"{text[2:]}.debug")
    if is_real_path(name) and _has_folder_of(directory, name):
        plain = (
            name.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst")
        )  # modules are packed, not their debug files
        for tail in dict.fromkeys((f"{name}.debug", name, f"{plain}.debug", plain)):
            yield from filter(None, [below(directory, tail)])
    if name.startswith("/usr/lib/"):  # MIXEDUP_UBUNTU_DEBUGINFO: packaged before /lib moved
        yield from filter(None, [below(directory, name.removeprefix("/usr"))])


def _has_folder_of(directory: Path, name: str) -> bool:
    """Whether there can be a file of that name; most machines have debug files of next to nothing."""
    folder = below(directory, name.rpartition("/")[0])
    return folder is not None and is_folder(folder)


def debug_link(file: ElfObject) -> tuple[str, int] | None:
    """.gnu_debuglink: a file name, and the CRC-32 of that file; None without one."""
    section = file.section(".gnu_debuglink")
    if section is None:
        return None
    try:
        data = file.data(section)
    except ObjectError:
        return None
    name, _, _ = data.partition(b"\0")
    order = "little" if file.byte_order == "<" else "big"
    crc = int.from_bytes(data[-4:], order) if len(data) >= 5 else -1  # type: ignore[arg-type]
    return (name.decode(errors="surrogateescape"), crc) if name and crc >= 0 else None


def _has_crc(path: Path, crc: int) -> bool:
    """Whether the file's CRC-32 is the one in the debug link; only asked where no build id can be compared."""
    total = 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                total = crc32(block, total)
    except (OSError, ValueError):
        return False
    return total == crc
