"""Shell completion, asked for as the shells do; in the shells themselves where they are installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import perf2x

SCRIPT = "from perf2x.cli import main; main()"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """PATH with a command called perf2x."""
    command = tmp_path / "bin" / "perf2x"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n{SCRIPT}\n")
    command.chmod(0o755)
    return f"{command.parent}{os.pathsep}{os.environ['PATH']}"


BASH = """
source <(_PERF2X_COMPLETE=bash_source perf2x)
COMP_WORDS=(%s)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_perf2x_completion perf2x
printf '%%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("perf2x con", ["convert"]),
        ("perf2x convert --fail-if-l", ["--fail-if-lost"]),
        ("perf2x convert --to spe", ["speedscope"]),
        ("perf2x diff --by o", ["object"]),
        ("perf2x top --off-cpu ''", ["apart", "beside", "merged"]),
        ("perf2x diff --to ''", ["html", "pprof", "collapsed"]),
    ],
)
def test_bash_really_completes(typed: str, offered: list[str], path: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    env = {**os.environ, "PATH": path}
    ran = subprocess.run([bash, "-c", BASH % typed], env=env, capture_output=True, text=True, check=True)
    assert sorted(ran.stdout.split()) == sorted(offered), ran.stderr


@pytest.mark.parametrize(("shell", "at"), [("zsh", "2"), ("fish", "--fail-if-l")])
def test_other_shells_are_answered(shell: str, at: str, path: str) -> None:
    words = {"_PERF2X_COMPLETE": f"{shell}_complete", "COMP_WORDS": "perf2x convert --fail-if-l", "COMP_CWORD": at}
    env = {**os.environ, "PATH": path, **words}
    out = subprocess.run(["perf2x"], env=env, capture_output=True, text=True, check=True).stdout
    assert "--fail-if-lost" in out
    assert "--fail-if-unresolved" not in out


def test_where_only_the_user_knows_shells_offer_files(path: str) -> None:
    for typed in ("perf2x convert perf.d", "perf2x convert --symfs sys"):
        words = {"_PERF2X_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        env = {**os.environ, "PATH": path, **words}
        out = subprocess.run(["perf2x"], env=env, capture_output=True, text=True, check=True).stdout
        assert out.startswith("file,")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_their_scripts_are_ones(shell: str, path: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    env = {**os.environ, "PATH": path, "_PERF2X_COMPLETE": f"{shell}_source"}
    script = tmp_path / "script"
    script.write_text(subprocess.run(["perf2x"], env=env, capture_output=True, text=True, check=True).stdout)
    subprocess.run([program, "-n", str(script)], check=True)


@pytest.mark.parametrize(
    ("shell", "script", "start"),
    [
        ("/bin/bash", ".bash_completions/perf2x.sh", ".bashrc"),
        ("/usr/bin/zsh", ".zfunc/_perf2x", ".zshrc"),
        ("/usr/bin/fish", ".config/fish/completions/perf2x.fish", None),
    ],
)
def test_completion_is_installed_once(shell: str, script: str, start: str | None, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "SHELL": shell}
    if start is not None:
        (tmp_path / start).write_text("mine")
    for _ in range(2):
        ran = perf2x("--install-completion", env=env)
        assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / script).read_text() == perf2x("--show-completion", env=env).out
    assert "_PERF2X_COMPLETE" in (tmp_path / script).read_text()
    if start is not None:
        mine, added = (tmp_path / start).read_text().splitlines()
        assert mine == "mine" and {".bashrc": str(tmp_path / script), ".zshrc": ".zfunc"}[start] in added


def test_a_shell_that_is_not_known_is_a_usage_error() -> None:
    ran = perf2x("--show-completion", env={"SHELL": "/bin/csh"})
    assert (ran.code, ran.err) == (2, "perf2x: completion is for bash, zsh and fish; $SHELL is csh\n")
