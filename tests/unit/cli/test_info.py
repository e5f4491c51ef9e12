"""``perf2x info`` prints the same facts whether or not it reads stacks and looks up names."""

import json
from typing import Any

import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from tests.support.command import perf2x, recording

EVERY_KIND = ("calls", "events", "forker", "per_thread", "group_read", "shapes", "unwind", "zstd")


def facts(*words: object) -> dict[str, Any]:
    ran = perf2x("info", "--json", "-q", *words)
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.parametrize("name", EVERY_KIND)
def test_reading_stacks_changes_nothing_but_symbols(name: str) -> None:
    quick, whole = facts(recording(name)), facts(recording(name), "--symbols")
    assert quick.pop("symbols") is None
    assert whole.pop("symbols")["frames"] > 0
    of_stacks = [one for one in whole["advice"] if one["about"] in ("cut_stacks", "unnamed")]
    quick["advice"] = sorted([*quick["advice"], *of_stacks], key=whole["advice"].index)
    assert quick == whole


def test_an_option_for_the_source_of_names_looks_them_up() -> None:
    assert facts(recording("calls"), "--kallsyms", recording("calls").replace("perf.data", "kallsyms.xz"))["symbols"]
    assert facts(recording("calls"), "--symbols", "--no-symbols")["symbols"] is None


def test_stacks_are_read_only_for_symbols() -> None:
    counted = load(recording("calls"), LoadOptions(stacks=False))
    whole = load(recording("calls"), LoadOptions())
    assert (len(counted.profile.stacks), len(counted.profile.locations)) == (0, 0)
    assert len(whole.profile.stacks) > 1
    assert counted.events == whole.events and counted.profile.threads.tid.tolist() == whole.profile.threads.tid.tolist()
