"""The law of numbers: whatever the page says of a function is what ``perf2x top`` and ``perf2x annotate`` say of it.

Every number of panel, tooltip, status line, table, legend, chips, search, threads and heat map is read from the
document, view by view, and composed anew here from the commands' numbers. Texts are compared whole: nothing is shown
that is not checked.
"""

import json
import random
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.browser.commands_numbers import (
    EVENTS,
    LISTED,
    RECORDINGS,
    SWITCHES,
    Numbers,
    asked,
    expected,
    functions_of,
    percent,
    spoken,
    told,
    unique,
)
from tests.browser.opened import HERE, opened
from tests.browser.page_views import (
    View,
    checks,
    innermost,
    rows_by_thread,
    thread_of,
    threads,
    value_of,
    view_of,
    words_of,
)
from tests.support.command import perf2x

pytestmark = pytest.mark.browser

FUNCTIONS = 10
ORDERS = ["heavy", "bottom", "time", "function"]


def views(name: str, numbers: Numbers) -> dict[str, dict[str, Any]]:
    """Return the selections to make on the page, by kind."""
    busiest = max(unique(numbers.rows), key=lambda key: numbers.rows[key])
    middle = sorted(unique(numbers.rows), key=lambda key: numbers.rows[key][1])[-3]
    made = {
        "all": {},
        "samples": {"weight": "count"},
        "range": {"range": [100_000, 250_000]},
        "thread": {"thread": "1"},
        "focus": {"edits": [["focus", busiest]]},
        "hide": {"edits": [["hide", middle]]},
        "focus in a range": {"edits": [["focus", busiest]], "range": [100_000, 250_000]},
    }
    if name not in EVENTS and name != "merged":
        made["only"] = {"edits": [["only", f"{busiest.split(chr(10))[1]}\nobject"]]}
    made = {kind: wanted | ({"event": EVENTS[name]} if name in EVENTS else {}) for kind, wanted in made.items()}
    return (
        made
        if name != "inlined"
        else {kind: made[kind] for kind in ("all", "samples", "range", "focus", "hide", "only")}
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("numbers")
    reads = (HERE / "numbers.js").read_text()
    jobs, kept = {}, {}
    for name in RECORDINGS:
        page = folder / f"{name}.html"
        assert perf2x("convert", *RECORDINGS[name], "--to", "html", "-o", page, "-q").code == 0
        numbers = asked(name)
        keys = random.Random(name).sample(sorted(unique(numbers.rows)), min(FUNCTIONS, len(unique(numbers.rows))))
        for kind, wanted in views(name, numbers).items():
            words = ", ".join(json.dumps(part) for part in (ORDERS, keys, wanted))
            jobs[f"{name}, {kind}"] = {
                "viewer": "page",
                "file": str(page),
                "evaluate": f"({reads.strip().rstrip(';')})({words})",
            }
            kept[f"{name}, {kind}"] = {"keys": keys, "wanted": wanted}
    told_by = opened(folder, jobs)
    return {name: one | kept[name] for name, one in told_by.items()}


@pytest.fixture(scope="module")
def views_seen(seen: dict[str, dict[str, Any]]) -> list[View]:
    return [view_of(title, one) for title, one in seen.items()]


def test_commands_agree_with_each_other(views_seen: list[View]) -> None:
    """Costs computed from stacks equal those of ``top``, for its rows."""
    for view in views_seen:
        costs = functions_of(view.before.stacks)
        for key in unique(view.before.rows):
            assert costs[key.split("\n")[0]] == view.before.rows[key], (view.name, key)


def test_the_table_and_the_search(views_seen: list[View]) -> None:
    for view in views_seen:
        numbers = view.numbers
        for key in view.keys:
            costs, whole, unit = numbers.rows.get(key), numbers.value, numbers.unit
            found = view.said["matched"][key]
            view.check("search", found, f"1 · {percent(costs[1], whole)}" if costs and costs[1] else "none")
            if costs is None:
                view.check("row", view.said["rows"][key], None)
                continue
            title = [part for part in key.split("\n") if part]
            title.append(f"self {told(costs[0], whole, unit)}, total {told(costs[1], whole, unit)}")
            cells = [key.split("\n")[1], *(f"{spoken(one, unit)} {percent(one, whole)}" for one in costs)]
            view.check("row", view.said["rows"][key], [*cells, "\n".join([key, title[-1]])])


def test_panel_tooltip_and_status_line(views_seen: list[View]) -> None:
    for view in views_seen:
        for box in view.said["boxes"]:
            if box["order"] == "time" or not box["plain"] or box["key"] not in view.numbers.rows:
                continue
            panel, tip = expected(box, view.numbers, view.numbers.rows[box["key"]])
            view.check(f"panel, {box['order']}", box["panel"], panel)
            view.check(f"tooltip, {box['order']}", box["tip"], tip)
            view.check(
                f"status, {box['order']}", box["status"], " ".join([box["name"], " · ".join([*tip, box["about"]])])
            )
            shares = [float(text.split("  ")[1].split()[0]) for text in panel[1::2]]
            view.check("bars", box["share"], pytest.approx(shares, abs=0.06))


def test_over_time(views_seen: list[View], tmp_path: Path) -> None:
    """The function's numbers are those of the table; a box lasts as long as a slice of the Chrome trace."""
    for name in RECORDINGS:
        trace = tmp_path / f"{name}.json"
        assert perf2x("convert", *RECORDINGS[name], "--to", "chrome", "-o", trace, "-q").code == 0
        slices = [one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "X"]
        for view in views_seen:
            if not view.name.startswith(f"{name},") or view.edits or "--time" in view.options:
                continue
            for box in view.said["boxes"]:
                if box["order"] != "time" or box["key"] not in view.numbers.rows:
                    continue
                own, total = view.numbers.rows[box["key"]]
                first = [
                    f"{spoken(cost, view.numbers.unit)}  {percent(cost, view.numbers.value)}" for cost in (own, total)
                ]
                view.check("panel, time", box["panel"][:4], ["self", first[0], "total", first[1]])
                lasted = box["panel"][5].split("  ")[0]
                durations = {
                    spoken(one["dur"] * 1000 + step, "nanoseconds")
                    for one in slices
                    if one["name"] == box["path"][-1]
                    for step in (-1000, 0, 1000)
                }
                view.check("duration, time", lasted in durations, True)


def test_threads_legend_chips_and_heat(views_seen: list[View]) -> None:
    for view in views_seen:
        said, numbers = view.said, view.numbers
        unit = numbers.unit
        view.check("caption", said["caption"].split(" · ")[0], f"{said['event']}, {spoken(numbers.value, unit)}")
        view.check("samples", f"{numbers.samples:,} samples of {said['event']}" in said["detail"], True)
        if said["options"]:
            view.check("heat map", said["heat"].split(": ")[1], f"{spoken(numbers.value, unit)} · {said['options']}")
        if any(kind in {"focus", "only"} for kind, _ in view.edits):
            view.check(
                "chip", said["chips"], [f"{percent(sum(view.samples.values()), view.all_samples)} of all samples"]
            )
        if view.edits:
            continue
        modes(view)
        objects: Counter[str] = Counter()
        for key, (own, total) in numbers.rows.items():
            name, object_ = key.split("\n")
            if total:
                objects[object_ or (name if name.startswith("[") else "[unknown]")] += own
        legend = [f"{name}  {percent(own, numbers.value)}" for name, own in objects.items()]
        view.check("legend", sorted(said["legends"]["object"]), sorted(legend))
        if not said["tid"]:
            shares = {text.rpartition(" ")[2]: share for text, share in said["threads"]}
            view.check("threads", shares, threads(view))


def test_lanes_say_what_ran_in_each_quarter_of_the_time(views_seen: list[View], tmp_path: Path) -> None:
    """Shares of a quarter by object, as the innermost slices of the Chrome trace have them."""
    for name in ("threads", "inlined"):
        (view,) = (view for view in views_seen if view.name == f"{name}, all")
        trace = tmp_path / f"{name}.json"
        assert perf2x("convert", *RECORDINGS[name], "--to", "chrome", "-o", trace, "-q").code == 0
        spans = innermost(trace)
        part = max(end for each in spans.values() for _, end, _ in each) / 4
        object_of = {key.split("\n")[0]: key.split("\n")[1] or key.split("\n")[0] for key in view.numbers.rows}
        for tid, quarters in view.said["lanes"]:
            for number, lines in enumerate(quarters):
                shares: Counter[str] = Counter()
                for begin, end, function in spans[tid]:
                    inside = min(end, (number + 1) * part) - max(begin, number * part)
                    shares[object_of[function]] += 100 * max(inside, 0) / part
                found = {text.rsplit(" ", 2)[0]: float(text.rsplit(" ", 2)[1]) for text in lines}
                wanted = dict(shares.most_common(6))
                view.check("lane", sorted(found), sorted(one for one in wanted if wanted[one] > 0))
                for word, share in found.items():
                    view.check("share of a lane", share, pytest.approx(wanted[word], abs=0.06))


def test_chips_copy_the_options_that_do_the_same(views_seen: list[View]) -> None:
    for view in views_seen:
        assert len(view.said["copies"]) == len(view.edits)
        if view.edits:
            ran = asked(view.name.split(",")[0], *view.options, *shlex.split(" ".join(view.said["copies"])))
            view.check("copied options", ran.stacks, view.numbers.stacks)


def modes(view: View) -> None:
    """The kernel's share is that of ``report``; those of other kinds are the rest."""
    ran = perf2x("report", *words_of(view), "--format", "json", "-q")
    kernel, whole = json.loads(ran.out)["kernel"], view.numbers.value
    shares = dict(text.split("  ") for text in view.said["legends"]["mode"])
    if "unresolved" not in shares:
        view.check("mode", shares.get("kernel", "0 %"), percent(kernel, whole))
    view.check("modes", sum(float(share.split()[0]) for share in shares.values()), pytest.approx(100, abs=0.3))


def test_header_and_events(views_seen: list[View]) -> None:
    for view in views_seen:
        source, *options = RECORDINGS[view.name.split(",")[0]]
        info = json.loads(perf2x("info", source, "--json").out)
        events = [
            json.loads(perf2x("top", source, *options, "-e", name, "--json", "-n", "1", "-q").out)
            for name in view.said["names"]
        ]
        counts = [f"{one['event']} ({one['samples']:,})" for one in events]
        view.check("events", view.said["events"], counts)
        session, samples = info["session"], sum(one["samples"] for one in events)
        ids = {row["name"].rpartition(" ")[2] for name in view.said["names"] for row in rows_by_thread(view, name)}
        facts = [f"{len(ids):,} thread{'s' * (len(ids) != 1)}", f"{info['duration_ns'] / 1e9:.2f} s"]
        facts += [session["hostname"], session["os_release"], session["arch"]]
        view.check("header", view.said["facts"], " · ".join(filter(None, facts)))
        ran = perf2x("top", source, *(() if "--off-cpu" in options else options), "--json", "-n", "0")
        clock = json.loads(ran.out)
        callers = re.search(r"The caller of the sampled function is missing in (\d+ %)", ran.err)
        named = sum(
            row["self"]
            for row in clock["rows"]
            if row["name"] not in {"[unknown]", row["object"], f"[{row['object']}]"}
        )
        view.check("trust line", view.said["trust"], [
            f"{samples:,} samples",
            f"{spoken(clock['value'], 'nanoseconds')} CPU in {spoken(info['duration_ns'], 'nanoseconds')}",
            *([f"callers missing in {callers[1]} of samples"] if callers else []),
            f"names for {percent(named, clock['value'])} of the time",
        ])  # fmt: skip


def test_cells_of_the_heat_map(views_seen: list[View]) -> None:
    """A cell is what ``top --time`` says of its time, a row of processes or CPUs what it says of one; none is missing.

    Waits begin and last whole microseconds; each counts in all cells that it has a part in, and has a map of its own.
    """
    for view in views_seen:
        is_several = "merged" in view.name or (view.numbers.unit == "samples" and "off-cpu" in view.name)
        if view.edits or view.said.get("cells") is None or is_several:
            continue
        whole = asked(view.name.split(",")[0], *thread_of(view), *value_of(view))
        error = 1000 * whole.samples if "off-cpu" in view.name else 1
        cells, ends = view.said["cells"], view.said["scale"]
        for text, option in view.said["single"]:
            found = asked(view.name.split(",")[0], *option.split(), *thread_of(view), *value_of(view))
            near = range(-2000, 2001, 10) if "off-cpu" in view.name and found.unit == "nanoseconds" else [0]
            view.check("cell", text in [spoken(round(found.value) + step, whole.unit) for step in near], True)
        view.check(
            "scale", ends, [f"{'≤ ' * (len(ends) > 5)}{spoken(round(end), whole.unit)}" for end in cells["ends"]]
        )
        view.check("cells", cells["sum"], pytest.approx(whole.value, abs=error))
        for rows, option in (("process", "--pid"), ("cpu", "--cpu")):
            for label, sum_ in view.said["rows of heat"].get(rows, []):
                if not sum_:
                    continue  # the chosen thread never ran there
                number = label.split("(")[-1].strip(")").split()[-1]
                found = asked(view.name.split(",")[0], option, number, *thread_of(view), *value_of(view))
                view.check(f"row, {rows}", sum_, pytest.approx(found.value, abs=error))


def test_what_ran_and_what_waited(views_seen: list[View]) -> None:
    (view,) = (view for view in views_seen if view.name == "merged, all")
    clock = json.loads(perf2x("top", SWITCHES, "--json", "-n", "0", "-q").out)["value"]
    whole = view.numbers.value
    shares = [f"on CPU  {percent(clock, whole)}", "half of each", f"off CPU  {percent(whole - clock, whole)}"]
    view.check("on and off CPU", view.said["legends"]["cpu"], shares)


LINES = """profile.listings.functions.map(({ name, object }) => {
  openFunction(`${name}\\n${object}`);
  const rows = [...document.querySelectorAll("#code tbody tr")];
  return [name, rows.map((row) => [...row.cells].map((cell) => cell.textContent))];
})"""


def test_source_lines(tmp_path: Path) -> None:
    """The page has the costs of ``annotate`` for each line of each function."""
    words = (*RECORDINGS["inlined"], "--source-dir", LISTED, "--source", "-q")
    page = tmp_path / "page.html"
    assert perf2x("convert", *words, "-o", page).code == 0
    (told_by,) = opened(tmp_path, {"lines": {"viewer": "page", "file": str(page), "evaluate": LINES}}).values()
    assert told_by["value"]
    for name, rows in told_by["value"]:
        ran = perf2x("annotate", name, *words, "--json")
        (listed,) = json.loads(ran.out)["functions"]
        wanted = [
            [
                *(spoken(line[part], "nanoseconds") if line[part] else "" for part in ("self", "total")),
                str(line["line"]),
            ]
            for source in listed["sources"]
            for line in source["lines"]
            if line["self"] or line["total"]
        ]
        found = [row[:3] for row in rows if len(row) == 4 and (row[0] or row[1]) and row[2] != "?"]
        checks["source line"] += len(wanted)
        assert found == wanted, name


def test_as_much_is_checked_as_ever(views_seen: list[View]) -> None:
    """The last of all: a law that looks at nothing holds."""
    print(sum(checks.values()), dict(checks))
    assert views_seen and sum(checks.values()) > 3000
    assert all(
        checks[f"{part}, {order}"] > 30
        for part in ("panel", "tooltip", "status")
        for order in ("heavy", "bottom", "function")
    )
