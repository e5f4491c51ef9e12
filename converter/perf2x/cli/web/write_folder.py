"""Writes the folder of the page of ``perf2x web``: the page, perf2x as source code, and Pyodide (Python for browsers).

Equal inputs give equal bytes. The browser checks every file's digest.
"""

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator
from importlib.metadata import distribution
from importlib.resources import files
from pathlib import Path

import perf2x
from perf2x.base.files.atomic import open_output
from perf2x.base.frozen_struct import Frozen
from perf2x.emitters.flame.page_template import write_page
from perf2x.errors import OutputError, SettingError

SOURCES = "perf2x.sources"
"""Name of a gzipped tarball with the Python code. It has no suffix .gz, with which some servers would unpack it."""
# perf2x, and packages in pure Python that conversions import; Pyodide has those with compiled code.
_PACKAGES = ("annotated-doc", "demangle", "perf2x", "shellingham", "typer", "typing-extensions")
_PAGE_FILES = ("command_words.js", "drop.js", "web.css", "worker.js", "example.gzipped")
# Suffixes of perf2x's files in the tarball.
_SOURCE_SUFFIXES = (".py", ".js", ".css", ".html", ".json")


class _PageFile(Frozen):
    url: str  # relative to the page if the file is in the folder
    integrity: str  # SHA-256 digest, as browsers expect it: ``sha256-`` and base64
    content: bytes | None = None  # None: the browser gets the file elsewhere


def write_folder(folder: Path, pyodide: str) -> int:
    """Write the folder and return its size in bytes; ``pyodide`` is a folder, a URL, or "" for Pyodide's CDN.

    Raises SettingError if files of Pyodide are missing or have another version, OutputError if ``folder`` has other
    files or cannot be written.
    """
    try:
        # an earlier version may be overwritten
        if folder.is_dir() and any(folder.iterdir()) and not (folder / SOURCES).exists():
            raise OutputError(f"{folder} has other files; choose a new folder")
        page_files = dict(_pyodide(pyodide))
        (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror}") from None
    own_contents = {name: _page_file(name) for name in _PAGE_FILES} | {"index.html": _index_page(), SOURCES: _sources()}
    page_files |= {name: _file_in_folder(name, content) for name, content in own_contents.items()}
    contents = {name: file.content for name, file in page_files.items() if file.content is not None}
    contents["service_worker.js"] = _list_of_cached_files(page_files) + _page_file("service_worker.js")
    for name, content in contents.items():
        with open_output(str(folder / name), inputs=()) as out:
            out.write(content)
    return sum(map(len, contents.values()))


def _page_file(name: str) -> bytes:
    return (files("perf2x.cli.web") / "page" / name).read_bytes()


def _file_in_folder(name: str, content: bytes) -> _PageFile:
    return _PageFile(name, _integrity(hashlib.sha256(content).digest()), content)


def _integrity(digest: bytes) -> str:
    return f"sha256-{base64.b64encode(digest).decode()}"


def _list_of_cached_files(page_files: dict[str, _PageFile]) -> bytes:
    """Return a line of JavaScript that defines KEPT: what the service worker caches, and the name of its cache."""
    listed = {name: {"url": file.url, "integrity": file.integrity} for name, file in sorted(page_files.items())}
    version = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    return f"const KEPT = {json.dumps({'name': f'perf2x-{version}', 'files': listed})};\n".encode()


def _index_page() -> bytes:
    """Return index.html with a Content-Security-Policy that allows the scripts and styles of flame graphs."""
    # all flame graphs have the scripts and styles of an empty one
    page, out = _page_file("index.html"), io.BytesIO()
    write_page("", iter([b"{}"]), out, compress=False)
    for name in (b"style", b"script"):
        texts = re.findall(rb"<%s[^>]*>(.*?)</%s>" % (name, name), out.getvalue(), re.DOTALL)
        digests = " ".join(f"'{_integrity(hashlib.sha256(text).digest())}'" for text in texts)
        page = page.replace(b"{{%s}}" % name, digests.encode())
    return page


def _sources() -> bytes:
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, content in sorted(_source_files()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _source_files() -> Iterator[tuple[str, bytes]]:
    root = Path(perf2x.__file__).parent
    for path in root.rglob("*.*"):
        if path.suffix in _SOURCE_SUFFIXES:
            yield f"perf2x/{path.relative_to(root).as_posix()}", path.read_bytes()
    for name in _PACKAGES:
        package = distribution(name)
        for metadata in ("METADATA", "entry_points.txt"):
            yield f"{name}-{package.version}.dist-info/{metadata}", (package.read_text(metadata) or "").encode()
        for file in package.files or ():
            # perf2x's modules are those above; files in .. are scripts
            if "licenses" in file.parts or (file.suffix == ".py" and name != "perf2x" and ".." not in file.parts):
                yield file.as_posix(), file.read_binary()


def _pyodide(source: str) -> Iterator[tuple[str, _PageFile]]:
    """Yield the path below the page, and the file, of each of Pyodide's own files and of its packages.

    Raises SettingError for files with other digests than in pyodide.json.
    """
    pinned = json.loads(_page_file("pyodide.json"))
    base, lock = source and f"{source.rstrip('/')}/", pinned["lock"]
    packages = {
        package["file_name"]: _integrity(bytes.fromhex(package["sha256"])) for package in lock["packages"].values()
    }
    for url, digests in ((pinned["core_url"], pinned["core"]), (pinned["packages_url"], packages)):
        for file_name, integrity in digests.items():
            name, page_file = f"pyodide/{file_name}", _PageFile((base or url) + file_name, integrity)
            if source and not re.match("https?://", source):
                page_file = _file_in_folder(name, _content(Path(source, file_name)))
            if page_file.integrity != integrity:
                refusal = f"{file_name} is not that of Pyodide {pinned['version']}, which the page needs"
                raise SettingError("", "pyodide", f" {source}: {refusal}")
            yield name, page_file
    name = "pyodide/pyodide-lock.json"
    yield name, _file_in_folder(name, json.dumps(lock).encode())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingError("", "pyodide", f" {path.parent}: {path.name}: {error.strerror}") from None
