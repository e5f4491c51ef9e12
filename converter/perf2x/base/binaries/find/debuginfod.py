"""A client for debuginfod servers, which serve executables and debug files by build id.

The cache is shared with elfutils, gdb and others: CACHE/BUILDID/{debuginfo,executable}; an empty file means that no
server had it. Source files are cached under names of perf2x's own.

Source of truth: elfutils' debuginfod(8) for the web API, debuginfod-find(1) for the cache and the variables.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.atomic import atomic_file
from perf2x.base.files.unpack_limit import FreeSpace, download_limit, format_size
from perf2x.errors import FormatError, ObjectError

_BLOCK_SIZE = 1 << 16
# Seconds before servers are asked again for a file that none of them had (debuginfod-find(1), cache_miss_s).
_MISS_SECONDS = 600
# Default of DEBUGINFOD_TIMEOUT.
_TIMEOUT_SECONDS = 90
# Called with (URL, bytes received, total bytes or 0 if unknown).
Progress = Callable[[str, int, int], None]


def cache_directory() -> Path | None:
    """Return the directory of the cache; None if no variable sets it, and there is no home directory."""
    if path := os.environ.get("DEBUGINFOD_CACHE_PATH"):
        return Path(path)
    if path := os.environ.get("XDG_CACHE_HOME"):
        return Path(path) / "debuginfod_client"
    try:
        return Path.home() / ".cache" / "debuginfod_client"
    except RuntimeError:
        return None


def _number_from_environment(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() and int(text) > 0 else default


class Debuginfod(Struct):
    """Asks servers for files, in the order of ``urls``; a server that could not be reached is not asked again."""

    urls: tuple[str, ...]
    # folder of the cache; None: nothing is fetched
    cache: Path | None
    diagnostics: Diagnostics
    progress: Progress | None = None
    timeout: int = field(default_factory=lambda: _number_from_environment("DEBUGINFOD_TIMEOUT", _TIMEOUT_SECONDS))
    """Seconds without data before a request is abandoned."""
    max_size: int = field(default_factory=lambda: _number_from_environment("DEBUGINFOD_MAXSIZE", sys.maxsize))
    """Maximum bytes of a file; the limit of base/files/unpack_limit.py applies, too."""
    max_seconds: int = field(default_factory=lambda: _number_from_environment("DEBUGINFOD_MAXTIME", 3600))
    """Maximum seconds for the download of one file."""
    _unreachable: set[str] = field(default_factory=set)

    def fetch(self, kind: str, build_id: bytes) -> Iterator[ElfObject]:
        """Yield the file of ``kind`` (``executable`` or ``debuginfo``) from the cache or a server, if either has it."""
        path = self._cached_or_downloaded(kind, kind, build_id)
        if path is None:
            return
        try:
            yield open_elf(path)
        except ObjectError as error:
            self._count("debuginfod_unusable", str(error))

    def source(self, build_id: bytes, recorded_path: str) -> Path | None:
        """Return the source file that debug info calls ``recorded_path``, from the cache or a server."""
        import hashlib
        from urllib.parse import quote

        recorded_bytes = recorded_path.encode(errors="surrogateescape")
        # a digest, so that no recording can choose where a file is written
        digest = hashlib.sha256(recorded_bytes).hexdigest()
        return self._cached_or_downloaded(f"source-{digest}", f"source{quote(recorded_bytes)}", build_id)

    def _cached_or_downloaded(self, name: str, resource: str, build_id: bytes) -> Path | None:
        """Return the file ``name`` of the cache, downloaded if necessary; None if no server has it.

        ``resource`` is the part of the URL after the build id.
        """
        if self.cache is None or len(build_id) < 4:
            return None
        path = self.cache / build_id.hex() / name
        if _is_miss(path):
            return None
        if (not path.is_file() or path.stat().st_size == 0) and not self._download(resource, build_id, path):
            return None
        return path

    def _download(self, resource: str, build_id: bytes, path: Path) -> bool:
        # results of `_request`, 0 before it is called; a server that was unreachable before counts as 404
        answers = [404 if url in self._unreachable else 0 for url in self.urls]
        for index, url in enumerate(self.urls):
            if not answers[index]:
                answers[index] = self._request(url, resource, build_id, path)
            if answers[index] == 200:
                return True
        # if all servers are unreachable, one of them may still have the file
        if len(self._unreachable) < len(self.urls) and all(answer == 404 for answer in answers):
            _remember_miss(path)
        return False

    def _request(self, server: str, resource: str, build_id: bytes, path: Path) -> int:
        """Download a file from one server, and store it as ``path``.

        Returns 200 on success, 404 if the server does not have the file, 0 on any other error.
        """
        import urllib.error  # TLS and HTTP take 25 ms to import, so only if there is a server
        import urllib.request
        from http.client import HTTPException

        url = f"{server}/buildid/{build_id.hex()}/{resource}"
        request = urllib.request.Request(url, headers={"User-Agent": "perf2x"})
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return 200 * self._store(response, url, int(response.headers.get("Content-Length") or 0), path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return 404
            self._count("debuginfod_failed", f"{url}: {error.code} {error.reason}")
        except (OSError, HTTPException, ValueError) as error:
            self._unreachable.add(server)
            self._count("debuginfod_failed", f"{server}: {getattr(error, 'reason', error)}")
        return 0

    def _store(self, response: IO[bytes], url: str, size: int, path: Path) -> bool:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as new:
            try:
                reason = self._copy(response, new.file, url, size)
            except FormatError as error:
                reason = str(error)
            if not reason:
                new.commit()
                return True
        self._count("debuginfod_failed", f"{url}: {reason}")
        return False

    def _copy(self, response: IO[bytes], out: IO[bytes], url: str, size: int) -> str:
        """Copy the response to ``out``; return why the copy is incomplete, "" if it is complete.

        ``size`` is 0 if unknown. Raises FormatError if the disk is nearly full.
        """
        deadline, received = time.monotonic() + self.max_seconds, 0
        free_space = FreeSpace(url, str(self.cache), "a download; set DEBUGINFOD_CACHE_PATH to use another folder")
        limit = min(self.max_size, download_limit())
        while block := response.read(_BLOCK_SIZE):
            received += len(block)
            if received > limit or size > limit:
                setting = "DEBUGINFOD_MAXSIZE" if limit == self.max_size else "--max-unpacked SIZE"
                return f"the file is larger than {format_size(limit)}; {setting} raises the limit"
            if time.monotonic() > deadline:
                return f"the download took longer than {self.max_seconds} seconds"
            free_space.take(len(block))
            out.write(block)
            if self.progress is not None:
                self.progress(url, received, size)
        return "" if received >= size else f"the download ended after {received} of {size} bytes"

    def _count(self, name: str, where: str) -> None:
        advice = "a debuginfod server did not deliver a file; names, lines or sources may be missing."
        self.diagnostics.add(name, advice, where=where)


def _is_miss(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    # an empty file says that no server has the file
    return status.st_size == 0 and time.time() - status.st_mtime < _MISS_SECONDS


def _remember_miss(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.touch()
    except OSError:
        pass
