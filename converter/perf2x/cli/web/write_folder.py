"""Writes the folder of the page: its own files, perf2x as sources, and Pyodide, next to them or at a URL.

Equal inputs give equal bytes. Every file has a digest, which the browser checks before it caches the file.
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
"""Name of a gzipped tarball; it has no suffix such as .gz, with which some servers would send it unpacked."""
# Other packages that conversions import.
_PURE = ("annotated-doc", "demangle", "perf2x", "shellingham", "typer", "typing-extensions")
_OWN = ("command_words.js", "drop.js", "web.css", "worker.js", "example.gzipped")
_KINDS = (".py", ".js", ".css", ".html", ".json")


class _PageFile(Frozen):
    """One file of the page: its location for browsers, its digest, and its content if it is in the folder."""

    url: str
    integrity: str
    content: bytes | None = None


def write_folder(folder: Path, pyodide: str) -> int:
    """Write the folder and return its size in bytes.

    ``pyodide`` is a folder or URL with Pyodide's files; "": the pinned version at its CDN. Raises SettingError when
    files are missing there, OutputError when ``folder`` has other files or cannot be written.
    """
    try:
        if folder.is_dir() and any(folder.iterdir()) and not (folder / SOURCES).exists():
            raise OutputError(f"{folder} has other files; choose a new folder")
        parts = dict(_pyodide(pyodide))
        (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror}") from None
    own = {name: _page_file(name) for name in _OWN} | {"index.html": _index_page(), SOURCES: _sources()}
    parts |= {name: _part(name, content) for name, content in own.items()}
    contents = {name: part.content for name, part in parts.items() if part.content is not None}
    contents["service_worker.js"] = _kept(parts) + _page_file("service_worker.js")
    for name, content in contents.items():
        with open_output(str(folder / name), inputs=()) as out:
            out.write(content)
    return sum(map(len, contents.values()))


def _page_file(name: str) -> bytes:
    return (files("perf2x.cli.web") / "page" / name).read_bytes()


def _part(name: str, content: bytes) -> _PageFile:
    return _PageFile(name, _integrity(hashlib.sha256(content).digest()), content)


def _integrity(digest: bytes) -> str:
    """Return a digest in the form that browsers expect."""
    return f"sha256-{base64.b64encode(digest).decode()}"


def _kept(parts: dict[str, _PageFile]) -> bytes:
    """Return the list of files for the service worker, under a name that changes whenever a file's digest does."""
    listed = {name: {"url": part.url, "integrity": part.integrity} for name, part in sorted(parts.items())}
    name = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
    return f"const KEPT = {json.dumps({'name': f'perf2x-{name}', 'files': listed})};\n".encode()


def _index_page() -> bytes:
    """Return the page of the folder with a policy that allows only the scripts and styles of the flame graph inside it.

    Among them are the scripts that the graph's page contains as text, and runs once it has unpacked them.
    """
    page, out = _page_file("index.html"), io.BytesIO()
    write_page("", iter([b"{}"]), out, compress=False)
    for name in (b"style", b"script"):
        texts = re.findall(rb"<%s[^>]*>(.*?)</%s>" % (name, name), out.getvalue(), re.DOTALL)
        digests = " ".join(f"'{_integrity(hashlib.sha256(text).digest())}'" for text in texts)
        page = page.replace(b"{{%s}}" % name, digests.encode())
    return page


def _sources() -> bytes:
    """Return perf2x and the pure packages that it needs as a gzipped tarball."""
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
        if path.suffix in _KINDS:
            yield f"perf2x/{path.relative_to(root).as_posix()}", path.read_bytes()
    for name in _PURE:
        package = distribution(name)
        for about in ("METADATA", "entry_points.txt"):
            yield f"{name}-{package.version}.dist-info/{about}", (package.read_text(about) or "").encode()
        for file in package.files or ():
            if "licenses" in file.parts or (file.suffix == ".py" and name != "perf2x" and ".." not in file.parts):
                yield file.as_posix(), file.read_binary()


def _pyodide(source: str) -> Iterator[tuple[str, _PageFile]]:
    """Yield Pyodide's files and packages by their path in the page; SettingError for any version but the pinned one."""
    pinned = json.loads(_page_file("pyodide.json"))
    base, lock = source and f"{source.rstrip('/')}/", pinned["lock"]
    digests = {one["file_name"]: _integrity(bytes.fromhex(one["sha256"])) for one in lock["packages"].values()}
    for url, listed in ((pinned["core_url"], pinned["core"]), (pinned["packages_url"], digests)):
        for file, integrity in listed.items():
            name, part = f"pyodide/{file}", _PageFile((base or url) + file, integrity)
            if source and not re.match("https?://", source):
                part = _part(name, _content(Path(source, file)))
            if part.integrity != integrity:
                refusal = f"{file} is not that of Pyodide {pinned['version']}, which the page needs"
                raise SettingError("", "pyodide", f" {source}: {refusal}")
            yield name, part
    name = "pyodide/pyodide-lock.json"
    yield name, _part(name, json.dumps(lock).encode())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingError("", "pyodide", f" {path.parent}: {path.name}: {error.strerror}") from None
