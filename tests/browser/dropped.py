"""The page of ``perf2x web`` in a browser: steps on it, taken by dropping.mjs."""

from pathlib import Path
from typing import Any

from tests.browser.opened import browser

Step = tuple[object, ...]


def dropped(site: Path, folder: Path, steps: list[Step]) -> tuple[list[Any], list[str]]:
    """Return the result of each step and the errors in the browser's console; skip the test without a browser."""
    answer = browser("dropping.mjs").ask({"site": site, "folder": folder, "steps": steps}, 900)
    return answer["told"], answer["errors"]
