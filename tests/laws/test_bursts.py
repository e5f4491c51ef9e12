"""A range that is chosen on the page holds what ``--time`` takes, waits included."""

import json
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.filters.filter_options import Filters
from perf2x.model.profile.profile import Profile
from tests.support.command import perf2x
from tests.support.page_scripts import answers
from tests.support.recordings import CORPUS
from tests.unit.emitters.flame.test_html import data, page

SWITCHES = Path(__file__).parent / "schedules" / "switches.data"
CALLS = (CORPUS / "calls/perf.data", "--symfs", CORPUS / "common/symfs", "--kallsyms", CORPUS / "calls/kallsyms.xz")
PAGE_SCRIPTS = ("view_state.js", "trees.js", "data.js", "bursts.js", "layout.js")
ASKED = """(profile, bursts, ranges) => ranges.map((range) => {
  const sums = bursts.sums(range), event = profile.defaultEvent;
  const rows = profile.rowsOf(event, null).filter((row) => sums.count[row] > 0);
  const layout = leftHeavy(profile, [{ label: "", rows }], sums.value, "", null);
  return [bursts.option(range), layout.width, rows.reduce((all, row) => all + sums.count[row], 0),
    profile.functions(rows, sums.value).map(({ name, object, self, total }) => [name, object, self, total])];
})"""
RANGES = [[0, 200_000], [123_457, 323_456], [200_000, 9_000_000]]


def sums(profile: Profile) -> dict[str, list[int]]:
    """Event to [value, count]."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    samples = profile.samples
    rows = zip(*(column.tolist() for column in (samples.event, samples.value, samples.count)), strict=True)
    for event, value, count in rows:
        found[profile.events[event].name][0] += value
        found[profile.events[event].name][1] += count
    return dict(found)


@pytest.mark.parametrize("off_cpu", ["", "beside"])
def test_a_range_of_the_page_equals_its_option(off_cpu: str) -> None:
    """Waits to a microsecond at either end of each."""
    whole = load([str(SWITCHES)], load_options(timeline=True, off_cpu=off_cpu, symbols=None)).profile
    shown = data(page(whole))
    made = f"new Bursts({json.dumps(shown['bursts'])}, {json.dumps(shown['rows'])}, 0)"
    asked = f"{json.dumps(RANGES)}.map((range) => [bursts.option(range), bursts.sums(range)])"
    for option, told in answers(("bursts.js",), f"((bursts) => {asked})({made})"):
        filters = Filters(times=(option.removeprefix("--time "),))
        part = load(
            [str(SWITCHES)], load_options(timeline=True, off_cpu=off_cpu, symbols=None, filters=filters)
        ).profile
        wanted = sums(part)
        for row, event in enumerate(whole.events):
            mine = [at for at, of in enumerate(shown["rows"]["event"]) if of == row]
            value, count = (sum(told[kind][str(at)] for at in mine) for kind in ("value", "count"))
            held = wanted.get(event.name, [0, 0])
            assert count == held[1]
            assert value == pytest.approx(held[0], abs=2000 * count if event.is_wait else 0)


def test_graph_table_and_totals_of_a_range_are_those_of_top() -> None:
    """By function; the ends of ranges fall on samples, between them, before the first and behind the last."""
    made = perf2x("convert", *CALLS, "--to", "html", "-o", "-", "-q")
    assert made.code == 0, made.err
    held = data(made.out)
    moments = list(accumulate(held["bursts"]["time"]))
    middle, last = sorted(moments)[len(moments) // 2], max(moments)
    ranges = [[0, last + 1], [middle, middle + 1], [middle // 2 + 1, last]]
    new = f"((held) => ({ASKED})(new Profile(held), new Bursts(held.bursts, held.rows, 0), {json.dumps(ranges)}))"
    found = answers(PAGE_SCRIPTS, f"{new}({json.dumps(held)})")
    assert len(found) == len(ranges)
    for option, width, count, functions in found:
        ran = perf2x("top", *CALLS, *option.split(), "--json", "-n", "0", "-q")
        assert ran.code == 0, ran.err
        top = json.loads(ran.out)
        wanted = [[row["name"], row["object"], row["self"], row["total"]] for row in top["rows"]]
        assert sorted(functions) == sorted(wanted)
        assert (width, count) == (top["value"], top["samples"])
        assert sum(own for _, _, own, _ in functions) == width
