"""The commands of examples/fleet are ones that perf2x takes."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command import perf2x
from tests.support.recordings import ROOT

FOLDER = ROOT / "examples" / "fleet"


def command_of_unit() -> list[str]:
    text = (FOLDER / "perf2x-watch.service").read_text()
    found = re.search(r"^ExecStart=/usr/bin/env perf2x (.*)$", text, re.MULTILINE)
    assert found
    return shlex.split(found[1])


def command_of_job() -> list[str]:
    (found,) = re.findall(r"args:\n((?: +- .*\n)+)", (FOLDER / "cronjob.yaml").read_text())
    return [line.strip().removeprefix("- ") for line in found.splitlines()]


@pytest.mark.parametrize("words", [command_of_unit(), command_of_job()], ids=["systemd", "kubernetes"])
def test_the_command_runs(words: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "perf").mkdir()
    here = [re.sub(r"/var/lib/perf2x|s3://perf/profiles", str(tmp_path / "ds"), word) for word in words]
    here = [re.sub(r"/var/lib/perf$|s3://perf/recordings", str(tmp_path / "perf"), word) for word in here]
    assert str(tmp_path / "perf") in here
    ran = perf2x(*here, *([] if "--once" in here else ["--once"]))
    assert (ran.code, ran.said) == (0, "")
