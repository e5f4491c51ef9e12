"""Several recordings on pages that lead to each other: a choice goes to the same view of another one."""

import tempfile
from pathlib import Path

import pytest

from tests.browser.opened import opened
from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import forged

pytestmark = pytest.mark.browser

CHOSEN = "$('recording').selectedOptions[0].text"
SHOWN = f"[document.title, {CHOSEN}, total, state.order, state.search, state.thread]"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("recordings")
    several = [
        forged(folder / name, [0x1010] * count, comm=name, hostname=name) for name, count in (("one", 3), ("two", 5))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        page = Path(perf2x("view", *several, "--no-symbols", "-q", env={"DISPLAY": "", "BROWSER": ""}).out.strip())
    job = {"viewer": "page", "file": str(page), "evaluate": SHOWN}
    choose = ["leave", "#recording", "2-two.html"]
    return opened(folder, {
        "together": job | {"axe": True, "shot": "together.png"},
        "chosen": job | {"hash": "#order=bottom&search=o1&thread=1", "steps": [choose]},
        "linked": job | {"file": str(page.parent / "1-one.html")},
    })  # fmt: skip


def test_a_choice_shows_another_recording_in_the_same_way(seen: dict[str, dict]) -> None:
    assert [told["errors"] for told in seen.values()] == [[], [], []] and seen["together"]["complaints"] == []
    assert seen["together"]["value"][1:3] == ["All together", 8000]
    name = seen["chosen"]["value"][1]
    assert name.endswith("/two") and seen["chosen"]["value"][2:] == [5000, "bottom", "o1", "merged"]
    assert seen["linked"]["value"][1].endswith("/one") and seen["linked"]["value"][2] == 3000
