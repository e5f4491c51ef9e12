"""Writes a bundle: the recording and the collected contents, in the layout of open_bundle.py."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from msgspec import to_builtins

from perf2x.base.files.sysroot import is_file
from perf2x.kernel.open_bundle import LIST, RECORDED, RECORDING, SCHEMA
from perf2x.tools.bundle.collect_files import BundleContents


def write_bundle(recording: Path, contents: BundleContents, out: BinaryIO, *, only_symbols: bool) -> None:
    """Write the gzipped tarball, without times and owners, so that equal contents give equal bytes."""
    list_fields = {
        "schema": SCHEMA,
        "only_symbols": only_symbols,
        "objects": [to_builtins(entry) for entry in contents.objects],
        "left_out": dict(sorted(contents.left_out.items())),
    }
    with gzip.GzipFile("", "wb", 6, out, mtime=0) as gzip_stream, tarfile.open(fileobj=gzip_stream, mode="w") as tar:
        for name, path in _recorded_files(recording):
            with path.open("rb") as stream:
                _add_member(tar, name, stream, path.stat().st_size)
        list_bytes = (json.dumps(list_fields, indent=1, ensure_ascii=True) + "\n").encode()
        for name, read in [*sorted(contents.members.items()), (LIST, lambda: list_bytes)]:
            data = read()
            _add_member(tar, name, io.BytesIO(data), len(data))


def _recorded_files(recording: Path) -> Iterator[tuple[str, Path]]:
    if not recording.is_dir():
        yield RECORDING, recording
        return
    for path in sorted(filter(is_file, recording.rglob("*"))):
        name = f"{RECORDING}/{path.relative_to(recording).as_posix()}"
        if RECORDED.fullmatch(name):
            yield name, path


def _add_member(tar: tarfile.TarFile, name: str, stream: IO[bytes], size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size = size
    tar.addfile(info, stream)
