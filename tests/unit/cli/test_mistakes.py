"""Commands that are nearly right, and what they answer: mistakes.txt is a table of them, in the form of a transcript.

``python -m tests.unit.cli.test_mistakes`` writes the answers anew; read the difference.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.isolation import isolated
from tests.unit.cli.test_transcripts import answer, prepared

FILE = Path(__file__).with_name("mistakes.txt")
TABLE = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", FILE.read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("mistakes"))


@pytest.mark.skipif(sys.platform == "win32", reason="paths and links of POSIX")
@pytest.mark.parametrize("command", TABLE)
def test_the_answer_helps(command: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert answer(command, place) == TABLE[command]


def test_there_are_many_and_all_fail() -> None:
    assert len(TABLE) >= 60
    accepted = [command for command, said in TABLE.items() if "[exit " not in said and "--help" not in command]
    assert accepted == []
    leaks = re.compile(r"Value error|Input should be|<bool>|list\[|Traceback")
    assert [said for said in TABLE.values() if leaks.search(said)] == []


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        isolated(patch, Path(folder))
        os.chdir(prepared(Path(folder)))
        FILE.write_text("".join(f"$ {command}\n{answer(command, Path(folder))}" for command in TABLE))


if __name__ == "__main__":
    main()
