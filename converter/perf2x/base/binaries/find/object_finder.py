"""Finds the files of a recorded object where perf looks for them and in perf's order, by build id first.

A file is refused if its build id is not the recorded one. If no build id was recorded, `RecordedFileCheck` decides.

Source of truth: tools/perf/util/symbol.c dso__load, util/dso.c dso__read_binary_type_filename.
"""

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from perf2x.base.binaries.elf.build_id_notes import same_build_id, strip_build_id_padding
from perf2x.base.binaries.elf.debug_link import debug_link, has_crc, mini_debug_info
from perf2x.base.binaries.elf.elf_file import ElfObject, open_object
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.files.sysroot import is_file
from perf2x.base.frozen_struct import Frozen
from perf2x.base.mapping_names import without_deleted
from perf2x.errors import ObjectError

# results of the search at one path; users see these words
TAKEN, ABSENT, OTHER_BUILD = "taken", "not there", "another build"
OTHER_CHECKSUM, UNREADABLE, PERHAPS_OTHER_FILE = "another checksum", "cannot be read", "perhaps another file"


class SearchedPath(Frozen):
    """A place that was searched, and the result."""

    path: str
    """The path or, for archives and servers, a description."""
    result: str
    """TAKEN, ABSENT, OTHER_BUILD …"""


class ObjectFiles(Struct):
    """All files of one object, and why other files were refused."""

    files: list[ElfObject] = field(default_factory=list)
    """Opened, in the order in which they were found."""
    refused: list[str] = field(default_factory=list)
    """Messages about files that were refused, or could not be read."""
    is_mismatched: bool = False
    """The user allows other files than the recorded ones, and such a file was taken."""
    is_doubtful: bool = False
    """No build id was recorded, and this machine's files are probably not the recorded ones.

    Debug files are then taken only from folders that the user named, and from where a debug link leads.
    """
    searched: list[SearchedPath] = field(default_factory=list)
    """In the order of the search."""

    def note(self, path: Path | str, result: str, why: str = "") -> None:
        """Add a path to ``searched``, and ``why``, if it is not "", to ``refused``."""
        self.searched.append(SearchedPath(str(path), result))
        self.refused += [why] if why else []

    @property
    def code(self) -> ElfObject | None:
        """The first file with code. Its program headers are those that were mapped; a debug file's may differ."""
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
        """Why no file was found; "" if a file was found."""
        if self.files:
            return ""
        return self.refused[0] if self.refused else "file not found"


def has_code(file: ElfObject) -> bool:
    """Return whether the file contains instructions; in a debug-only file ``.text`` is SHT_NOBITS."""
    if not file.sections:
        return any(segment.type == "PT_LOAD" and segment.file_size for segment in file.segments)
    # 6 is SHF_ALLOC | SHF_EXECINSTR
    return any(s.type == "SHT_PROGBITS" and s.flags & 0x6 == 0x6 and s.size for s in file.sections)


# trusts all paths
_ANY_RECORDING = RecordedFileCheck()
# Returns why the file at a path is refused; "" if it may be taken.
_Refusal = Callable[[Path], str]
# (kind, build id) → files in an archive or on debuginfod servers; the kind is ``executable`` or ``debuginfo``.
Fetcher = Callable[[str, bytes], Iterator[ElfObject]]


class Finder(Struct, eq=False):
    """Finds the files of objects and caches the results."""

    search_paths: SearchPaths
    # asked last, for what was found nowhere else
    _fetchers: tuple[Fetcher, ...] = ()
    # yields files of a bundle by recorded name, for objects without a build id; searched before this machine
    _bundled_files: Callable[[str], Iterator[ElfObject]] = lambda _: iter(())
    # results by recorded name, build id, `RecordedFileCheck.key` and, if there is no file, the process
    _cache: dict[Hashable, ObjectFiles] = {}
    _provided: dict[str, ObjectFiles] = {}

    @property
    def is_local(self) -> bool:
        """Whether only this machine is searched: no archives and no servers."""
        return not self._fetchers

    def find(
        self, name: str, build_id: bytes, pid: int = -1, file_check: RecordedFileCheck = _ANY_RECORDING
    ) -> ObjectFiles:
        """Find all files of the object that was mapped as ``name``.

        ``build_id`` is b"" if it was not recorded; ``file_check`` then decides which files may be taken. With a build
        id, the root directory of the process ``pid`` is searched, too.
        """
        build_id = strip_build_id_padding(build_id)
        if not build_id and name in self._provided:
            return self._provided[name]
        if build_id or self.search_paths.symfs is not None:
            file_check = _ANY_RECORDING
        key = (name, build_id, file_check.key(name))
        found = self._cache.get(key) or self._cache.get((*key, pid))
        if found is None:
            refusal, is_doubtful = partial(file_check.refusal, name), file_check.was_made_elsewhere
            # the kernel appends " (deleted)" to names of deleted files, but a file's own name may end like that
            exists = any(map(is_file, self.search_paths.local_paths(name)))
            searched_name = name if exists else without_deleted(name)
            found = self._search(searched_name, build_id, pid, refusal, is_doubtful)
            self._cache[key if found.files else (*key, pid)] = found
        return found

    def provide(self, name: str, file: ElfObject) -> None:
        """Make `find` return ``file`` for ``name`` without a build id: for code without a file, such as JIT code."""
        self._provided[name] = ObjectFiles([file])

    def fetch(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """Yield files of a kind (``executable`` or ``debuginfo``) from archives and servers.

        The caller must check that they have this build id.
        """
        for fetch in self._fetchers:
            yield from fetch(kind, build_id)

    def _search(self, name: str, build_id: bytes, pid: int, refusal: _Refusal, is_doubtful: bool) -> ObjectFiles:
        found = ObjectFiles(is_doubtful=is_doubtful)
        self._find_mapped_file(found, name, build_id, pid, refusal)
        # debug files must have the build id of the mapped file, even if none was recorded
        build_id = build_id or (found.files[0].build_id if found.files else b"")
        opened = {file.name for file in found.files}
        for path in self._debug_paths(found, name, build_id):
            if str(path) not in opened and _exists(found, path):
                self._add(found, path, build_id)
                opened.add(str(path))
        _add_mini_debug_info(found)
        self._fetch_missing(found, build_id)
        return found

    def _find_mapped_file(self, found: ObjectFiles, name: str, build_id: bytes, pid: int, refusal: _Refusal) -> None:
        if not build_id:
            self._add_all(found, self._bundled_files(name), build_id)
            if found.files:
                return
        for path in self.search_paths.runtime_paths(name, build_id, pid):
            if _exists(found, path) and not self._is_refused(found, path, refusal) and self._add(found, path, build_id):
                return

    def _is_refused(self, found: ObjectFiles, path: Path, refusal: _Refusal) -> bool:
        why = refusal(path)
        if not why or self.search_paths.allow_mismatch:
            found.is_mismatched = found.is_mismatched or bool(why)
            return False
        found.is_doubtful = True
        found.note(path, PERHAPS_OTHER_FILE, why)
        return True

    def _debug_paths(self, found: ObjectFiles, name: str, build_id: bytes) -> Iterator[Path]:
        links = (debug_link(file) for file in list(found.files))
        for link_name, crc in filter(None, links):
            for path in self.search_paths.debug_link_paths(name, link_name):
                if build_id or not is_file(path) or has_crc(path, crc):
                    yield path
                else:
                    found.note(path, OTHER_CHECKSUM)
        named_folders = self.search_paths.debug_dirs
        for path in self.search_paths.debug_paths(name, build_id):
            if not found.is_doubtful or any(map(path.is_relative_to, named_folders)):
                yield path

    def _add(self, found: ObjectFiles, path: Path, build_id: bytes) -> bool:
        try:
            file = open_object(path)
        except ObjectError as error:
            found.note(path, UNREADABLE, str(error))
            return False
        is_added = self._add_file(found, file, build_id)
        found.note(path, TAKEN if is_added else OTHER_BUILD)
        return is_added

    def _add_file(self, found: ObjectFiles, file: ElfObject, build_id: bytes) -> bool:
        if build_id and not same_build_id(build_id, file.build_id):
            other = f"build id {file.build_id.hex()}" if file.build_id else "no build id"
            if not self.search_paths.allow_mismatch:
                found.refused.append(f"{file.name} is another build: it has {other}")
                return False
            found.is_mismatched = True
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
        self._add_all(found, fetch(kind, build_id), build_id)
        result = TAKEN if len(found.files) > before else ABSENT
        found.note(f"{kind} of this build id in archives and on servers", result)

    def _add_all(self, found: ObjectFiles, files: Iterator[ElfObject], build_id: bytes) -> None:
        try:
            for file in files:
                self._add_file(found, file, build_id)
        except ObjectError as error:
            found.refused.append(str(error))


def _exists(found: ObjectFiles, path: Path) -> bool:
    if is_file(path):
        return True
    found.note(path, ABSENT)
    return False


def _add_mini_debug_info(found: ObjectFiles) -> None:
    for file in list(found.files):
        if any(f.section(".symtab") for f in found.files):
            return
        try:
            inner = mini_debug_info(file)
        except ObjectError as error:
            found.refused.append(str(error))
        else:
            found.files += [inner] if inner is not None else []
