"""Commands and their output as a user sees them: transcripts/NAME.txt holds sessions in a folder with the corpus.

``$ `` begins a command, everything up to the next one is its output, ``[exit N]`` ends one that failed. After a change
that is meant, ``python -m tests.unit.cli.test_transcripts`` writes them anew; read the difference.
"""

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perf2x import __version__
from tests.support.isolation import isolated
from tests.support.recordings import CORPUS

FOLDER = Path(__file__).parent / "transcripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
COMMANDS = {"convert", "top", "annotate", "diff", "report", "view", "info", "explain", "script", "dump", "bundle",
            "formats", "perf_to_profile", "fleet ingest", "fleet symbolize", "fleet query",
            "fleet rm", "fleet maintain", "mcp", "web"}  # fmt: skip


def replayed(text: str, folder: Path) -> str:
    """The transcript with the answers of today."""
    commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{answer(command, folder)}" for command in commands)


def answer(command: str, folder: Path) -> str:
    """Standard output and error as they come; ``| head -N`` keeps the first N lines."""
    line, _, most = command.partition(" | head -")
    words = shlex.split(line)
    given = dict(word.split("=", 1) for word in words if re.match(r"[A-Z0-9_]+=", word))
    words = words[len(given) :]
    env = {"COLUMNS": "80", "GITHUB_ACTIONS": "", "GITLAB_CI": "", **given}
    main = application(words[0])
    with CliRunner().isolation(env=env) as (_, _, said), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", words)
        copied = type(sys.stdout.buffer)  # to what shows both streams, but for what is written by writelines
        patch.setattr(copied, "writelines", lambda out, parts: [*map(out.write, parts)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        lines = said.getvalue().decode().replace(__version__, "VERSION").splitlines()
    lines = lines[: int(most) if most else None]
    lines += [f"[exit {code}]"] if code else []
    return "".join(f"{line}\n" for line in lines)


def application(name: str) -> Callable[[], object]:
    if name == "perf_to_profile":
        from perf2x.cli.commands.perf_to_profile import main

        return main
    from perf2x.cli.app import app

    return partial(app, prog_name=name)


def prepared(folder: Path) -> Path:
    """The corpus's recordings by name, one with debug info, an empty build-id cache, and nothing else."""
    (folder / "none").mkdir()
    (folder / "empty.data").touch()
    (folder / "inlines").symlink_to(Path(__file__).parents[1] / "features" / "annotate" / "data")
    for case in CORPUS.iterdir():
        if case.is_dir():
            (folder / case.name).symlink_to(case)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="paths and links of POSIX")
@pytest.mark.parametrize("name", NAMES)
def test_transcript(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(prepared(tmp_path))
    text = (FOLDER / f"{name}.txt").read_text()
    if " parquet " in text or "$ perf2x fleet " in text:
        pytest.importorskip("deltalake", reason="deltalake is not installed (pip install 'perf2x[fleet]')")
    assert replayed(text, tmp_path) == text


def test_every_command_has_one() -> None:
    from perf2x.cli.app import HELP_LINES

    assert set(HELP_LINES) <= COMMANDS <= set(NAMES)


def main() -> None:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
            isolated(patch, Path(place))  # as in the tests: no kallsyms of this machine
            os.chdir(prepared(Path(place)))
            path = FOLDER / f"{name}.txt"
            path.write_text(replayed(path.read_text(), Path(place)))


if __name__ == "__main__":
    main()
