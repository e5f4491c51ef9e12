"""Reads tarballs of ``perf archive``, which contain the objects of a recording, without extracting them.

The members are those of ``~/.debug``: ``usr/bin/prog/BUILDID/elf``, ``[kernel.kallsyms]/BUILDID/kallsyms`` and links in
``.build-id``. Source of truth: tools/perf/builtin-archive.c and perf-archive.sh.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.files.tarball import open_tarball, tarball_errors
from perf2x.base.files.unpack_limit import memory_limit
from perf2x.errors import ObjectError, prefixed_args

if TYPE_CHECKING:
    import tarfile


def substitute_build_id(name: str) -> bytes:
    """Return 20 bytes that stand for a build id in perf2x's own archives (bundles), for objects without one."""
    from hashlib import sha1  # loads OpenSSL

    return sha1(b"no build id:" + name.encode(errors="surrogateescape"), usedforsecurity=False).digest()


class Archive(Struct):
    """One tarball, plain or compressed by gzip, bzip2 or xz; its table of contents is read on first use."""

    path: Path
    _members: dict[tuple[str, str], tarfile.TarInfo] | None = None

    def member(self, build_id: bytes, kinds: Iterable[str]) -> tuple[str, bytes] | None:
        """Return the member with this build id and one of these kinds, as (its name for messages, its contents).

        ``kinds`` (elf, debug, vdso, kallsyms) are tried in order. Raises ObjectError when the tarball cannot be read.
        """
        try:
            members = self._index()
            for kind in kinds:
                info = members.get((build_id.hex(), kind))
                if info is not None:
                    return f"{self.path}, {info.name}", self._read(info)
        except tarball_errors() as error:
            raise ObjectError(*prefixed_args(f"{self.path}: cannot be read as a tarball", error)) from None
        return None

    def _index(self) -> dict[tuple[str, str], tarfile.TarInfo]:
        """Return {(build id in hexadecimal digits, kind): member} of all regular files."""
        if self._members is None:
            self._members = {}
            with open_tarball(self.path) as tar:
                for info in tar.members():
                    parts = info.name.split("/")
                    if not info.isreg() or len(parts) < 2:
                        continue
                    # The name ends with build id and kind or, in older caches, with the build id of an ELF file. The
                    # longest kind, kallsyms, has 8 characters; a build id has more.
                    key = (parts[-2], parts[-1]) if len(parts[-1]) < 10 else (parts[-1], "elf")
                    self._members.setdefault(key, info)
        return self._members

    def _read(self, info: tarfile.TarInfo) -> bytes:
        with open_tarball(self.path) as tar:
            return b"".join(tar.chunks(info, memory_limit(self.path.stat().st_size)))
