"""SVG pictures in headless Chromium: zoom, search, keys, narrow windows, and still inside ``<img>``.

Needs what test_viewers.py needs.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perf2x.emitters.flame.svg import Svg
from perf2x.model.profile.profile import Profile
from perf2x.testing import ODD_NAMES, ProfileBuilder

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
MODULES = Path(os.environ.get("PERF2X_BROWSER_MODULES", HERE))
SMALL = {"width": 390, "height": 700}


def demo() -> Profile:
    """main calls read (6 of 10, half of it in copy) and parse (3); start calls copy (1)."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    thread = builder.thread("demo", 7)
    stacks = {"main read copy": 3, "main read": 3, "main parse": 3, "start copy": 1}
    for names, value in stacks.items():
        builder.sample([builder.function(name) for name in names.split()], thread, value=value)
    return builder.build()


def odd() -> Profile:
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds", frequency=1000)
    builder.thread("odd", 5)
    names = (
        *ODD_NAMES,
        "]]></script><script>window.ran = 1</script>",
        "函数名字很长" * 30,
        "<img src=x onerror='ran=1'>",
    )
    for name in names:
        builder.sample([builder.function("root"), builder.function(name)])
    return builder.build()


def jobs(folder: Path) -> dict[str, dict]:
    files = {}
    for name, profile, options in (
        ("flame", demo(), {}),
        ("icicle", demo(), {"direction": "icicle"}),
        ("still", demo(), {"script": False}),
        ("odd", odd(), {"title": "<script>ran=1</script>"}),
        ("empty", ProfileBuilder().build(), {}),
    ):
        files[name] = folder / f"{name}.svg"
        with files[name].open("wb") as out:
            Svg(**options).emit(profile, out)
    search = [["key", "/"], ["type", "COPY"], ["key", "Control+a"], ["type", "copy"]]
    steps = {
        "zoom": ("flame", [["click", "read"], ["click", "main"], ["key", "Escape"]]),
        "search": ("flame", [*search, ["key", "Enter"], ["click", "read"], ["back"]]),
        "nested": ("flame", [["key", "/"], ["type", "main|copy"]]),
        "hover": ("flame", [["hover", "parse"]]),
        "keys": ("flame", [["key", "ArrowUp"], ["key", "ArrowUp"], ["key", "ArrowLeft"], ["key", "Enter"]]),
        "icicle": ("icicle", [["key", "ArrowDown"], ["key", "ArrowDown"], ["key", "ArrowUp"]]),
        "no expression": ("flame", [["key", "/"], ["type", "re["]]),
        "odd": ("odd", [["key", "/"], ["type", "script"]]),
        "still": ("still", [["click", "read"]]),
        "empty": ("empty", []),
    }
    made = {name: {"file": str(files[file]), "steps": walk} for name, (file, walk) in steps.items()}
    flame = str(files["flame"])
    made["linked"] = {"file": flame, "hash": "#box=3&search=parse"}
    made["badly linked"] = {"file": flame, "hash": "#box=-1&search="}
    made["narrow"] = {"file": flame, "size": SMALL, "scheme": "dark", "steps": [["click", "read"]]}
    made["narrow odd"] = {"file": str(files["odd"]), "size": SMALL}
    made["image"] = {"file": flame, "inside": "img"}
    return made


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, dict]:
    """Every job's outcome, from one run of one browser."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium or not shutil.which("node"):
        pytest.skip("no Chromium or no Node here: apt-get install chromium nodejs npm")
    if not (MODULES / "node_modules/playwright-core").is_dir():
        pytest.skip("no playwright-core here: npm ci --prefix tests/browser")
    asked = jobs(tmp_path_factory.mktemp("pictures"))
    command, asking = ["node", str(HERE / "pictures.mjs"), chromium], json.dumps([*asked.values()])
    ran = subprocess.run(command, input=asking, capture_output=True, text=True, cwd=MODULES, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(zip(asked, json.loads(ran.stdout), strict=True))


def test_nothing_fails_is_fetched_or_runs_from_names(told) -> None:
    for name, one in told.items():
        assert (one["errors"], one["outside"]) == ([], []), name
        assert not any(view["ran"] for view in one["views"]), name


def test_a_click_zooms_and_outer_boxes_fade(told) -> None:
    opened, read, main, out = told["zoom"]["views"]
    assert opened["boxes"]["main"] == pytest.approx(0.9 * 1260, abs=1)
    assert [read["boxes"][name] for name in ("all", "main", "read")] == [1260 - 1] * 3 or read["boxes"]["read"] == 1260
    assert read["boxes"]["copy"] == pytest.approx(630, abs=1)
    assert sorted(read["faded"]) == ["all", "main"]
    assert "parse" not in read["boxes"] and "parse" in main["boxes"]
    assert read["hash"] and out["hash"] == ""
    assert out["boxes"] == opened["boxes"]


def test_search_marks_and_sums_and_follows_the_zoom(told) -> None:
    views = told["search"]["views"]
    assert (views[2]["marked"], views[2]["matched"]) == ([], "0.00 % matched")  # capitals are told apart
    assert (views[4]["marked"], views[4]["matched"]) == (["copy", "copy"], "40.00 % matched")
    assert views[6]["matched"] == "50.00 % matched"
    assert views[7]["hash"] == "#search=copy" and views[7]["matched"] == "40.00 % matched"
    assert told["nested"]["views"][-1]["matched"] == "100.00 % matched"
    assert told["no expression"]["views"][-1]["matched"] == "0.00 % matched"


def test_the_bar_tells_what_the_pointer_is_on(told) -> None:
    before, over = told["hover"]["views"]
    assert before["said"].startswith("cpu-clock, 4 samples")
    assert over["said"] == "3 (30.00 %) · parse"


def test_keys_walk_along_the_stacks(told) -> None:
    assert [view["focus"] for view in told["keys"]["views"][1:]] == ["main", "read", "parse", "parse"]
    assert "read" not in told["keys"]["views"][-1]["boxes"]
    assert [view["focus"] for view in told["icicle"]["views"][1:]] == ["main", "read", "main"]


def test_addresses_keep_the_view(told) -> None:
    (linked,) = told["linked"]["views"]
    assert linked["boxes"] and linked["matched"].endswith("matched") and linked["faded"]
    (bad,) = told["badly linked"]["views"]
    assert bad["faded"] == [] and bad["matched"] == ""


def test_narrow_windows_have_all_of_it_and_no_label_leaves_its_box(told) -> None:
    for name in ("narrow", "narrow odd", "zoom", "odd"):
        for view in told[name]["views"]:
            assert view["over"] == [], name
            assert view["width"] <= (390 if name.startswith("narrow") else 1280), name
    assert told["narrow"]["views"][0]["boxes"]["all"] == pytest.approx(370, abs=1)


def test_still_pictures_keep_still(told) -> None:
    before, after = told["still"]["views"]
    assert before == after and "matched" not in before
    assert before["labels"]["parse"] == "parse"
    assert told["image"]["size"] == [1200, 46 + 4 * 17 + 12]
    assert told["empty"]["views"][0]["boxes"] == {}
