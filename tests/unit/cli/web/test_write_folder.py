"""``perf2x web``: the folder is whole, its digests are those of its files, and its sources run by themselves."""

import base64
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from perf2x.cli.web import write_folder
from perf2x.kernel.registry import build_emitter
from perf2x.testing import ProfileBuilder
from tests.support.command import perf2x, recording
from tests.support.pinned_pyodide import packages, pin


def integrity(content: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}"


def kept(folder: Path) -> dict[str, dict[str, str]]:
    """Files that the service worker keeps, as it knows them."""
    first, _, _ = (folder / "service_worker.js").read_text().partition(";\n")
    return json.loads(first.removeprefix("const KEPT = "))["files"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without the sources: packing them takes its time."""
    folder = tmp_path_factory.mktemp("web") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write_folder, "_sources", lambda: b"sources")
        ran = perf2x("web", folder)
    assert ran.code == 0, ran.err
    return folder


def pyodide(folder: Path) -> Path:
    """A folder with the names of Pyodide's files."""
    folder.mkdir()
    names = {name: f"{name}.whl" for name in packages()}
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", *names.values()):
        (folder / name).write_text(name)
    lock = {
        "info": {},
        "packages": {name: {"file_name": file} for name, file in {**names, "scipy": "scipy.whl"}.items()},
    }
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    return folder


def test_every_file_has_its_digest(site: Path) -> None:
    listed = kept(site)
    here = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    assert set(here) - set(listed) == {"service_worker.js"}
    assert {name: listed[name]["integrity"] for name in listed if name in here} == {
        name: integrity(path.read_bytes()) for name, path in here.items() if name in listed
    }
    away = {name: part["url"] for name, part in listed.items() if name not in here}
    assert {url.partition("/npm/")[0].partition("/pyodide/")[0] for url in away.values()} == {
        "https://cdn.jsdelivr.net"
    }
    assert all(name.startswith("pyodide/") for name in away) and len(away) == 7


def test_files_of_the_page_are_all_there(site: Path) -> None:
    page = (site / "index.html").read_text() + "".join(path.read_text() for path in site.glob("*.js"))
    named = set(re.findall(r'(?:src|href)="(?!data:)([^"]+)"|new URL\("([^"/]+\.js)"|from "\./([^"]+)"', page))
    assert {name for names in named for name in names if name} <= {path.name for path in site.iterdir()}


@pytest.mark.slow
def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    once, again = tmp_path / "once", tmp_path / "again"
    assert [perf2x("web", folder, "-q").code for folder in (once, again, again)] == [0, 0, 0]
    for path in once.rglob("*.*"):
        assert path.read_bytes() == (again / path.relative_to(once)).read_bytes()


def test_the_policy_lets_the_flame_graph_run(site: Path) -> None:
    out = io.BytesIO()
    build_emitter("html", {"title": "<a>"}).emit(ProfileBuilder().build(), out)
    (policy,) = re.findall(r'Security-Policy" content="([^"]+)"', (site / "index.html").read_text())
    for name in ("style", "script"):
        (text,) = re.findall(f"<{name}>(.*?)</{name}>", out.getvalue().decode(), re.DOTALL)
        assert f"{name}-src 'self'" in policy and f"'{integrity(text.encode())}'" in policy
    (packed,) = re.findall(b'<script id="scripts"[^>]*>(.*?)</script>', out.getvalue(), re.DOTALL)
    assert f"'{integrity(gzip.decompress(base64.b64decode(packed)))}'" in policy
    assert "http" not in policy and "default-src 'none'" in policy and "unsafe-inline" not in policy


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing takes its time."""
    monkeypatch.setattr(write_folder, "_sources", lambda: b"sources")


@pytest.mark.usefixtures("unpacked")
def test_a_folder_of_pyodide_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(monkeypatch, pyodide(tmp_path / "full"))
    assert perf2x("web", tmp_path / "site", "--pyodide", tmp_path / "full", "-q").err == ""
    listed = kept(tmp_path / "site")
    assert all(part["url"] == name for name, part in listed.items())
    assert (tmp_path / "site/pyodide/pyodide.asm.wasm").read_text() == "pyodide.asm.wasm"
    lock = json.loads((tmp_path / "site/pyodide/pyodide-lock.json").read_text())
    assert set(lock["packages"]) == set(packages())  # and not scipy


@pytest.mark.usefixtures("unpacked")
def test_a_mirror_has_the_pinned_digests(site: Path, tmp_path: Path) -> None:
    assert perf2x("web", tmp_path / "site", "--pyodide", "https://mirror.example/pyodide").code == 0
    mirrored, pinned = kept(tmp_path / "site"), kept(site)
    assert {name: part["integrity"] for name, part in mirrored.items()} == {
        name: part["integrity"] for name, part in pinned.items()
    }
    assert mirrored["pyodide/pyodide.mjs"]["url"] == "https://mirror.example/pyodide/pyodide.mjs"


def test_what_is_missing_is_said_and_another_version_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = perf2x("web", tmp_path / "site", "--pyodide", tmp_path / "none")
    assert (ran.code, "--pyodide" in ran.err, "pyodide.mjs: No such file" in ran.err) == (2, True, True)
    ran = perf2x("web", tmp_path / "site", "--pyodide", pyodide(tmp_path / "other"))
    assert (ran.code, "pyodide.mjs is not that of Pyodide 314.0.7, which the page needs" in ran.said) == (2, True)
    pin(monkeypatch, tmp_path / "other")
    (tmp_path / "other/numpy.whl").unlink()
    ran = perf2x("web", tmp_path / "site", "--pyodide", tmp_path / "other")
    assert (ran.code, "numpy.whl: No such file" in ran.said) == (2, True)
    assert not (tmp_path / "site").exists()


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ran = perf2x("web", tmp_path)
    assert (ran.code, "has other files; choose a new folder" in ran.said) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert perf2x("web", tmp_path / "mine").code == 1


ALONE = """
import sys
from importlib.machinery import PathFinder
sources, *words = sys.argv[1:]
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {*sys.stdlib_module_names, "numpy", "msgspec", "google"} or PathFinder.find_spec(top, [sources]):
            return None
        raise ModuleNotFoundError(f"{name} is not packed")
sys.path.insert(0, sources)
sys.meta_path.insert(0, Refuse())
from perf2x.cli.web.in_browser import run
assert sys.modules["perf2x"].__file__.startswith(sources)
heard = []
code, said = run(words, lambda *stage: heard.append(stage))
print(code, len(heard) > 0)
print(said)
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "pprof"])
def test_the_sources_run_by_themselves(tmp_path: Path, form: str) -> None:
    assert perf2x("web", tmp_path / "site").code == 0
    with tarfile.open(tmp_path / "site" / write_folder.SOURCES, "r:gz") as tar:
        tar.extractall(tmp_path / "sources", filter="data")
    words = ["convert", recording("calls"), "--to", form, "--output", str(tmp_path / "out"), "--no-symbols"]
    command = [sys.executable, "-c", ALONE, str(tmp_path / "sources"), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("0 True\n335 samples"), ran.stdout
    assert perf2x("convert", *words[1:4], "--output", tmp_path / "same", "--no-symbols").code == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "same").read_bytes()
