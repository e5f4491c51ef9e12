"""Finds the files of a recorded object where perf looks for them and in perf's order, by build id first.

Source of truth: tools/perf/util/symbol.c dso__load, util/dso.c dso__read_binary_type_filename. A file is refused if its
build id is not the recorded one or, where no build id was recorded, if `RecordedFiles` refuses it; messages say why.
Nothing is executed.
"""

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from perf2x.base.binaries.elf.build_id_notes import same_build_id, unpadded
from perf2x.base.binaries.elf.debug_link import debug_link, has_crc, mini_debug_info
from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.binaries.find.untrusted_paths import RecordedFiles
from perf2x.base.files.sysroot import is_file
from perf2x.base.frozen_struct import Frozen
from perf2x.base.mapping_names import without_deleted
from perf2x.errors import ObjectError

TAKEN, ABSENT, OTHER_BUILD = "taken", "not there", "another build"
OTHER_CHECKSUM, UNREADABLE, OTHER_FILE = "another checksum", "cannot be read", "perhaps another file"


class SearchedPath(Frozen):
    """A path that was searched, and the result: TAKEN, ABSENT, OTHER_BUILD …"""

    path: str
    result: str


class ObjectFiles(Struct):
    """All files of one object, opened, in the order in which they were found; and why other files were refused."""

    files: list[ElfObject] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """A sentence for each file that exists but was refused, with the reason."""
    mismatched: bool = False
    """A file was taken although its build id differs, or although nothing shows that it is the recorded one."""
    doubtful: bool = False
    """No build id identifies the recorded files, and other evidence shows that this machine's are different."""
    searched: list[SearchedPath] = field(default_factory=list)
    """Every path that was searched, in order; archives and servers come last."""

    def note(self, path: Path | str, outcome: str, why: str = "") -> None:
        """Note the outcome of a search, and the reason where a file was refused."""
        self.searched.append(SearchedPath(str(path), outcome))
        self.refused += [why] if why else []

    @property
    def code(self) -> ElfObject | None:
        """The first file with code: the one that was mapped, whose program headers are right."""
        return next((file for file in self.files if has_code(file)), None)

    @property
    def symbols(self) -> ElfObject | None:
        """The first file with a ``.symtab``, else the first with a ``.dynsym``."""
        return self._first_with(".symtab") or self._first_with(".dynsym")

    @property
    def dwarf(self) -> ElfObject | None:
        """The first file with ``.debug_info``."""
        return self._first_with(".debug_info")

    def _first_with(self, section: str) -> ElfObject | None:
        return next((file for file in self.files if file.section(section)), None)

    @property
    def reason(self) -> str:
        """Why no file was found; "" if one was."""
        if self.files:
            return ""
        return self.refused[0] if self.refused else "file not found"


def has_code(file: ElfObject) -> bool:
    """Return whether the file contains instructions; in a debug-only file ``.text`` is SHT_NOBITS."""
    if not file.sections:
        return any(segment.type == "PT_LOAD" and segment.file_size for segment in file.segments)
    return any(s.type == "SHT_PROGBITS" and s.flags & 0x6 == 0x6 and s.size for s in file.sections)


_ANY_RECORDING = RecordedFiles()
# Returns why the file at a recorded path is refused; "" if it is taken.
_Refusal = Callable[[Path], str]
# Yields files of a kind (``executable`` or ``debuginfo``) by build id, from archives or debuginfod; called last, and
# only for kinds that no other place has.
Fetcher = Callable[[str, bytes], Iterator[ElfObject]]


class Finder(Struct, eq=False):
    """Finds the files of objects and caches the results; the unwinder and the symbolizer share it."""

    search_paths: SearchPaths
    _fetchers: tuple[Fetcher, ...] = ()
    # Yields files of a bundle by recorded name, for objects without a build id; searched before this machine.
    _bundled: Callable[[str], Iterator[ElfObject]] = lambda _: iter(())
    _known: dict[tuple[str, bytes, Hashable], ObjectFiles] = {}
    _provided: dict[str, ObjectFiles] = {}

    @property
    def is_local(self) -> bool:
        """True if the search is limited to files of this machine: no archives and no servers."""
        return not self._fetchers

    def find(self, name: str, build_id: bytes, pid: int = -1, recorded: RecordedFiles = _ANY_RECORDING) -> ObjectFiles:
        """Find every file of the object that process ``pid`` mapped as ``name``; ``build_id``: b"" if not recorded."""
        build_id = unpadded(build_id)
        if not build_id and name in self._provided:
            return self._provided[name]
        recorded = _ANY_RECORDING if build_id or self.search_paths.symfs is not None else recorded
        key = (name, build_id, recorded.key(name))
        if key not in self._known:
            refusal, doubtful = partial(recorded.refusal, name), recorded.made_elsewhere
            is_there = any(map(is_file, self.search_paths.on_disk(name)))  # some files' own names end with " (deleted)"
            searched = name if is_there else without_deleted(name)
            self._known[key] = self._search(searched, build_id, pid, refusal, doubtful)
        return self._known[key]

    def provide(self, name: str, file: ElfObject) -> None:
        """Make ``find`` return ``file`` for ``name`` without a build id: the object is not a file of its own."""
        self._provided[name] = ObjectFiles([file])

    def fetch(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """Yield files of a kind (``executable`` or ``debuginfo``) from archives and servers; build ids unchecked."""
        for fetch in self._fetchers:
            yield from fetch(kind, build_id)

    def _search(self, name: str, build_id: bytes, pid: int, refusal: _Refusal, doubtful: bool) -> ObjectFiles:
        found = ObjectFiles(doubtful=doubtful)
        self._find_mapped_file(found, name, build_id, pid, refusal)
        build_id = build_id or (found.files[0].build_id if found.files else b"")
        names = {file.name for file in found.files}
        for path in self._debug_paths(found, name, build_id):
            if str(path) not in names and _exists(found, path):
                self._take(found, path, build_id)
                names.add(str(path))
        _add_mini_debug_info(found)
        self._fetch_missing(found, build_id)
        return found

    def _find_mapped_file(self, found: ObjectFiles, name: str, build_id: bytes, pid: int, refusal: _Refusal) -> None:
        """Find the file itself: bundled, in the build-id cache, in the process's root, at the recorded path."""
        if not build_id:
            self._keep_all(found, self._bundled(name), build_id)
            if found.files:
                return
        for path in self.search_paths.runtime_paths(name, build_id, pid):
            if _exists(found, path) and not self._refused(found, path, refusal) and self._take(found, path, build_id):
                return

    def _refused(self, found: ObjectFiles, path: Path, refusal: _Refusal) -> bool:
        """Return whether a file is refused because nothing shows that it is the recorded one.

        Record the outcome if so.
        """
        why = refusal(path)
        if not why or self.search_paths.allow_mismatch:
            found.mismatched = found.mismatched or bool(why)
            return False
        found.doubtful = True
        found.note(path, OTHER_FILE, why)
        return True

    def _debug_paths(self, found: ObjectFiles, name: str, build_id: bytes) -> Iterator[Path]:
        links = (debug_link(file) for file in list(found.files))
        for link_name, crc in filter(None, links):
            for path in self.search_paths.debug_link_paths(name, link_name):
                if build_id or not is_file(path) or has_crc(path, crc):
                    yield path
                else:
                    found.note(path, OTHER_CHECKSUM)
        named = self.search_paths.debug_dirs
        for path in self.search_paths.debug_paths(name, build_id):
            if not found.doubtful or any(map(path.is_relative_to, named)):
                yield path

    def _take(self, found: ObjectFiles, path: Path, build_id: bytes) -> bool:
        """Open a file and keep it if its build id is the recorded one."""
        try:
            file = open_object(path)
        except ObjectError as error:
            found.note(path, UNREADABLE, str(error))
            return False
        kept = self._keep(found, file, build_id)
        found.note(path, TAKEN if kept else OTHER_BUILD)
        return kept

    def _keep(self, found: ObjectFiles, file: ElfObject, build_id: bytes) -> bool:
        if build_id and not same_build_id(build_id, file.build_id):
            other = f"build id {file.build_id.hex()}" if file.build_id else "no build id"
            if not self.search_paths.allow_mismatch:
                found.refused.append(f"{file.name} is another build: it has {other}")
                return False
            found.mismatched = True
        found.files.append(file)
        return True

    def _fetch_missing(self, found: ObjectFiles, build_id: bytes) -> None:
        for fetch in self._fetchers if build_id else ():
            if found.code is None:
                self._fetch_kind(found, fetch, "executable", build_id)
            if found.dwarf is None:
                self._fetch_kind(found, fetch, "debuginfo", build_id)

    def _fetch_kind(self, found: ObjectFiles, fetch: Fetcher, kind: str, build_id: bytes) -> None:
        before = len(found.files)
        self._keep_all(found, fetch(kind, build_id), build_id)
        outcome = TAKEN if len(found.files) > before else ABSENT
        found.note(f"{kind} of this build id in archives and on servers", outcome)

    def _keep_all(self, found: ObjectFiles, files: Iterator[ElfObject], build_id: bytes) -> None:
        try:
            for file in files:
                self._keep(found, file, build_id)
        except ObjectError as error:
            found.refused.append(str(error))


def _exists(found: ObjectFiles, path: Path) -> bool:
    if is_file(path):
        return True
    found.note(path, ABSENT)
    return False


def _add_mini_debug_info(found: ObjectFiles) -> None:
    """Add the symbol table in mini debug info, unless a file has a full symbol table."""
    for file in list(found.files):
        if any(f.section(".symtab") for f in found.files):
            return
        try:
            inner = mini_debug_info(file)
        except ObjectError as error:
            found.refused.append(str(error))
        else:
            found.files += [inner] if inner is not None else []
