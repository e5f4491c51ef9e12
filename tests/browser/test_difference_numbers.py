"""The law of numbers for two recordings: what the page says of a function is what ``perf2x diff`` says of it."""

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from perf2x.model.totals.sampling_noise import quantile
from tests.browser.commands_numbers import RECORDINGS, collapsed, percent, short, spoken
from tests.browser.opened import HERE, opened
from tests.support.command import perf2x

pytestmark = pytest.mark.browser

VIEWS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "absolute": ({}, ()),
    "shares": ({"scale": "shares"}, ("--normalize",)),
    "samples": ({"weight": "count"}, ("--value", "samples")),
    "before": ({"shown": "before"}, ()),
}
FUNCTIONS = 10


def compared(pair: tuple[Path, Path], *options: str) -> dict[str, Any]:
    ran = perf2x("diff", *pair, "--all", "-n", "0", "--json", "-q", *options)
    assert ran.code == 0, ran.err
    facts = json.loads(ran.out)
    return facts | {"rows": {f"{row['name']}\n{row['object']}": row for row in facts["rows"]}}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Words of the page in each view, ``diff``'s facts, numbers of samples, and stacks before and after."""
    folder = tmp_path_factory.mktemp("difference")
    halves = (folder / "before", folder / "after")
    for number, half in enumerate(halves, 1):
        words = (*RECORDINGS["threads"], "--time", f"50%/{number}", "--to", "perf-script", "-o", half, "-q")
        assert perf2x("convert", *words).code == 0
    page = folder / "diff.html"
    assert perf2x("diff", *halves, "-q", "-o", page).code == 0
    facts = {view: compared(halves, *options) for view, (_, options) in VIEWS.items()}
    rows = facts["absolute"]["rows"]
    names = Counter(key.split("\n")[0] for key in rows)
    keys = random.Random(1).sample(sorted(key for key in rows if names[key.split("\n")[0]] == 1), FUNCTIONS)
    reads = (HERE / "difference_numbers.js").read_text().strip().rstrip(";")
    jobs = {
        view: {"viewer": "page", "file": str(page), "evaluate": f"({reads})({json.dumps(keys)}, {json.dumps(wanted)})"}
        for view, (wanted, _) in VIEWS.items()
    }
    told_by = opened(folder, jobs)
    assert [one["errors"] for one in told_by.values()] == [[]] * len(VIEWS)
    stacks = [collapsed((half,), facts["absolute"]["event"]) for half in halves]
    return {view: (told_by[view]["value"], facts[view], facts["samples"], stacks) for view in VIEWS}


def signed(change: float, whole: float) -> str:
    text = percent(abs(change), whole)
    return text if text == "0 %" else f"{'−' if change < 0 else '+'}{text}"


def sure(counts: list[int], factor: float, costs: list[float], among: float) -> str:
    """Standard deviations of samples, as if they came by chance; among lines of these costs, some come by chance."""
    before, after = counts[0], counts[1] * factor
    spread = math.sqrt(before + after * factor)
    size = abs(after - before) / spread if spread else 0
    is_noise = costs[0] != costs[1] and size < quantile(0.95, among / max(sum(costs), 1e-6))
    return f"{'~' if is_noise else ''}{short(size)}"


def called(stacks: dict[tuple[str, ...], float], name: str) -> Counter[str]:
    """Cost of a function's outermost calls, by caller; "" is nobody."""
    found: Counter[str] = Counter()
    for stack, value in stacks.items():
        if name in stack:
            at = stack.index(name)
            found[stack[at - 1] if at else ""] += value
    return found


def test_every_number_of_ten_functions(seen: dict[str, Any]) -> None:
    checks = 0
    for view, (said, facts, samples, stacks) in seen.items():
        unit = facts["unit"]
        before, after = seen["absolute"][1]["before"], seen["absolute"][1]["after"]
        factor = before / after if view == "shares" else 1
        wholes = [facts["before"], facts["after"] * factor]
        assert said["events"] == [f"{facts['event']} ({samples['before']:,} → {samples['after']:,})"], view
        assert said["status"] == spoken(wholes[view != "before"], unit)
        legend = [float(text.split("  ")[1].split()[0]) for text in said["legend"]]
        assert sum(legend) == pytest.approx(100, abs=0.3)
        for key, told in said["functions"].items():
            row, counts = facts["rows"][key], samples["rows"][key]
            own, total = row["self"], row["total"]
            both = [f"{spoken(a, unit)} → {spoken(b, unit)}" for a, b in (own, total)]
            all_lines = {"self": sum(wholes), "total": sum(sum(each["total"]) for each in facts["rows"].values())}
            noise = [sure(counts[word], factor, row[word], all_lines[word]) for word in ("self", "total")]
            pairs = zip(("self", "total"), both, noise, strict=True)
            title = [f"{word} {text}, {sigma} σ" for word, text, sigma in pairs]
            cells = [signed(b - a, wholes[0]) for a, b in (own, total)]
            assert told["cells"][:3] == [*cells, noise[0]], (view, key)
            assert told["cells"][3] == "\n".join([*filter(None, key.split("\n")), *title]), (view, key)
            if not told["lines"]:
                assert not total[view != "before"], (view, key)  # no box of it is left
                continue
            values = [own[0], own[1], total[0], total[1]]
            texts = [f"{spoken(value, unit)}  {percent(value, wholes[at % 2])}" for at, value in enumerate(values)]
            heads = ["self before", "self after", "before", "after"]
            assert told["panel"] == [text for line in zip(heads, texts, strict=True) for text in line], (view, key)
            shares = [100 * value / wholes[at % 2] for at, value in enumerate(values)]
            assert told["shares"] == pytest.approx(shares, abs=0.06)
            parts = [f"{spoken(value, unit)} ({percent(value, wholes[at])})" for at, value in enumerate(total)]
            line = f"total {' → '.join(parts)}, {cells[1]} of the whole"
            assert told["lines"][0].removesuffix(", within the noise of sampling") == line, (view, key)
            assert told["lines"][0] in told["status"]
            if view == "absolute":
                checked = callers(told["callers"], [called(one, key.split("\n")[0]) for one in stacks], wholes[0], unit)
                assert checked
            checks += 18
    print(checks)
    assert checks >= 400


def callers(told: list[list[str]], costs: list[Counter[str]], whole: float, unit: str) -> int:
    """Check the listed callers and their costs before and after; return how many were checked."""
    wanted = {
        name or "nobody: it is the root": [
            signed(costs[1][name] - costs[0][name], whole),
            f"{spoken(costs[0][name], unit)} → {spoken(costs[1][name], unit)}",
        ]
        for name in costs[0] | costs[1]
    }
    for change, name, amounts in told:
        assert [change.removeprefix("~"), amounts] == wanted[name], name
    return len(told)
