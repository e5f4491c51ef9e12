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
source <(_PERF2X_COMPLETE=source_bash perf2x)
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _perf2x_completion perf2x
    echo "${COMPREPLY[@]}"
}
"""
TYPED = {
    "con": ["convert"],
    "convert --fail-i": ["--fail-if"],
    "convert --to spe": ["speedscope"],
    "diff --by o": ["object"],
    "top --off-cpu ''": ["apart", "beside", "merged"],
    "diff --to ''": ["html", "pprof", "collapsed"],
}


def test_bash_really_completes(path: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    script = BASH + "".join(f"complete_words perf2x {typed}\n" for typed in TYPED)
    env = {**os.environ, "PATH": path}
    ran = subprocess.run([bash, "-c", script], env=env, capture_output=True, text=True, check=True)
    offered = [line.split() for line in ran.stdout.splitlines()]
    assert list(map(sorted, offered)) == list(map(sorted, TYPED.values())), ran.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_other_shells_are_answered(shell: str) -> None:
    words = {"_PERF2X_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "perf2x convert --fail-i"}
    action = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_WORD_TO_COMPLETE": "--fail-i"}
    out = perf2x(env={**words, **action}).out
    assert "--fail-if" in out
    assert "--fail-above" not in out


def test_where_only_the_user_knows_shells_offer_files() -> None:
    for typed in ("perf2x convert perf.d", "perf2x convert --symfs sys"):
        words = {"_PERF2X_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        assert perf2x(env=words).out.strip() == ""  # the script says -o default: files
    assert "-o default" in perf2x(env={"_PERF2X_COMPLETE": "source_bash"}).out


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_their_scripts_are_ones(shell: str, path: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    env = {**os.environ, "PATH": path, "_PERF2X_COMPLETE": f"source_{shell}"}
    script = tmp_path / "script"
    script.write_text(subprocess.run(["perf2x"], env=env, capture_output=True, text=True, check=True).stdout)
    subprocess.run([program, "-n", str(script)], check=True)


@pytest.mark.parametrize(
    ("shell", "script"),
    [
        ("bash", ".bash_completions/perf2x.sh"),
        ("zsh", ".zfunc/_perf2x"),
        ("fish", ".config/fish/completions/perf2x.fish"),
    ],
)
def test_completion_is_installed(shell: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # pytest is no shell
    assert perf2x("--install-completion", shell).code == 0
    assert (tmp_path / script).read_text().strip() == perf2x("--show-completion", shell).out.strip()
    assert "_PERF2X_COMPLETE" in (tmp_path / script).read_text()
