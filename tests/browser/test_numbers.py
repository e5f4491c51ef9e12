"""The law of numbers: whatever the page says of a function is what ``perf2x top`` and ``perf2x annotate`` say of it.

Every number of panel, tooltip, status line, table, legend, chips, search, threads and heat map is read from the
document, view by view, and composed anew here from the commands' numbers. Texts are compared whole: nothing is shown
that is not checked.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import HERE, opened
from tests.support.command import perf2x
from tests.support.recordings import ROOT

pytestmark = pytest.mark.browser

EXAMPLE = ROOT / "examples/deferred"
LISTED = ROOT / "tests/unit/analysis/annotate/data"
SWITCHES = ROOT / "tests/laws/schedules/switches.data"
RECORDINGS = {
    "threads": (EXAMPLE / "perf.data", "--symfs", EXAMPLE / "symfs", "--kallsyms", EXAMPLE / "kallsyms.xz"),
    "off-cpu": (SWITCHES, "--off-cpu", "beside"),
    "merged": (SWITCHES, "--off-cpu", "merged"),
    "inlined": (LISTED / "inlines.data", "--symfs", LISTED),
}
FUNCTIONS = 10
ORDERS = ["heavy", "bottom", "time", "function"]
checks: Counter[str] = Counter()

Stacks = dict[tuple[str, ...], float]


@dataclass
class Numbers:
    """What the commands say of what is chosen: stacks, and functions by name and object."""

    unit: str
    samples: int
    value: float
    rows: dict[str, tuple[float, float]]
    stacks: Stacks = field(default_factory=dict)
    waits: Stacks = field(default_factory=dict)


def asked(name: str, *options: str) -> Numbers:
    words = (*RECORDINGS[name], *options)
    ran = perf2x("top", *words, "--json", "-n", "0", "-q")
    assert ran.code == 0, ran.err
    top = json.loads(ran.out)
    rows = {f"{row['name']}\n{row['object']}": (row["self"], row["total"]) for row in top["rows"]}
    stacks = collapsed(words, top["event"])
    waits = collapsed((*words, "--off-cpu", "apart")) if name == "merged" else stacks if name == "off-cpu" else {}
    unit = top["unit"] if top["unit"] != "count" else top["event"]
    return Numbers(unit, top["samples"], top["value"], rows, stacks, waits)


def collapsed(words: tuple[object, ...], event: str = "") -> Stacks:
    named = [word for word in words if word not in {"samples", "--value"}]
    chosen = ["--value", "samples" if "samples" in words else "period", *(["-e", event] if event else [])]
    ran = perf2x("convert", *named, *chosen, "--to", "collapsed", "--root", "none", "-o", "-", "-q")
    assert ran.code == 0, ran.err
    lines = (line.rpartition(" ") for line in ran.out.splitlines())
    sums: Counter[tuple[str, ...]] = Counter()
    for stack, _, number in lines:
        sums[folded(tuple(stack.split(";")))] += float(number)
    return dict(sums)


def folded(stack: tuple[str, ...]) -> tuple[str, ...]:
    """Frames without a name that call each other are one box of the page."""
    return tuple(one for at, one in enumerate(stack) if not (one == "[unknown]" and at and stack[at - 1] == one))


# ---- the page's words, written a second time


def spoken(value: float, unit: str) -> str:
    if unit == "nanoseconds":
        for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")):
            if abs(value) >= size or size == 1:
                return f"{short(value / size)} {name}"
    if unit == "samples" and value < 10_000:
        return f"{value:,.0f} {'sample' if value == 1 else unit}"
    raise NotImplementedError(unit)


def short(value: float) -> str:
    """Three digits, without zeros at the end."""
    text = f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0
    if share >= 99.95 or share < 0.005:
        return f"{round(share)} %"
    return f"{share:.{2 if share < 10 else 1}f} %"


def told(value: float, whole: float, unit: str) -> str:
    return f"{spoken(value, unit)} ({percent(value, whole)})"


# ---- what a box is, from the stacks


def outermost(stack: tuple[str, ...], name: str) -> int:
    return stack.index(name) if name in stack else -1


def size(box: dict[str, Any], stacks: Stacks) -> tuple[float, float]:
    """Its width and its own part."""
    path = tuple(box["path"])
    if box["order"] == "heavy":
        inside = {stack: value for stack, value in stacks.items() if stack[: len(path)] == path}
        return sum(inside.values()), inside.get(path, 0)
    if box["order"] == "bottom":
        return sum(value for stack, value in stacks.items() if stack[::-1][: len(path)] == path), 0
    found = own = 0.0
    for stack, value in stacks.items():
        at = outermost(stack, path[0])
        beyond = stack[: at + 1][::-1] if box["side"] == 0 else stack[at:]
        if at >= 0 and beyond[: len(path)] == path:
            found += value
            own += value if beyond == path else 0
    return found, own


def expected(box: dict[str, Any], numbers: Numbers, function: tuple[float, float]) -> tuple[list[str], list[str]]:
    """Lines of the panel and of the tooltip."""
    own, total = function
    whole, unit = numbers.value, numbers.unit
    panel = [
        "self",
        f"{spoken(own, unit)}  {percent(own, whole)}",
        "total",
        f"{spoken(total, unit)}  {percent(total, whole)}",
    ]
    tip = [f"function: self {told(own, whole, unit)}, total {told(total, whole, unit)}"]
    here, here_own = size(box, numbers.stacks)
    is_turned = box["order"] == "bottom" or box["side"] == 0
    waiting = size(box, numbers.waits)[0]
    off = f", {percent(waiting, here)} of it off CPU" if waiting else ""
    is_whole = here == (own if box["order"] == "bottom" else total) and (is_turned or here_own == own)
    if is_whole and not (is_turned and len(box["path"]) > 1):
        return panel, [tip[0] + off]
    panel += ["here", f"{spoken(here, unit)}  {percent(here, whole)}"]
    if is_turned:
        return panel, [f"{told(here, whole, unit)} of {box['path'][0]}{off}", *tip]
    panel += ["self here", f"{spoken(here_own, unit)}  {percent(here_own, whole)}"]
    more = "" if not here_own else ", all self" if here_own == here else f", self {told(here_own, whole, unit)}"
    return panel, [told(here, whole, unit) + more + off, *tip]


# ---- what is chosen, on the page and in the commands


def edited(stacks: Stacks, kind: str, name: str) -> Stacks:
    found: Counter[tuple[str, ...]] = Counter()
    for stack, value in stacks.items():
        if kind == "focus" and name not in stack:
            continue
        found[stack if kind == "focus" else tuple(frame for frame in stack if frame != name)] += value
    return dict(found)


def functions_of(stacks: Stacks) -> dict[str, tuple[float, float]]:
    """Self and total by name alone."""
    own, total = Counter(), Counter()
    for stack, value in stacks.items():
        own[stack[-1] if stack else ""] += value
        for name in set(stack):
            total[name] += value
    return {name: (own[name], total[name]) for name in total}


def unique(rows: dict[str, tuple[float, float]]) -> list[str]:
    """Functions whose name no other object has."""
    names = Counter(key.split("\n")[0] for key in rows)
    return [key for key in rows if names[key.split("\n")[0]] == 1 and ";" not in key]


def views(name: str, numbers: Numbers) -> dict[str, dict[str, Any]]:
    """What is chosen on the page, by kind."""
    busiest = max(unique(numbers.rows), key=lambda key: numbers.rows[key])
    middle = sorted(unique(numbers.rows), key=lambda key: numbers.rows[key][1])[-3]
    made = {
        "all": {},
        "samples": {"weight": "count"},
        "range": {"range": [100_000, 250_000]},
        "thread": {"thread": "1"},
        "focus": {"edits": [["focus", busiest]]},
        "ignore": {"edits": [["ignore", middle]]},
        "focus in a range": {"edits": [["focus", busiest]], "range": [100_000, 250_000]},
    }
    return made if name != "inlined" else {kind: made[kind] for kind in ("all", "samples", "range", "focus", "ignore")}


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


@dataclass
class View:
    """A view of the page, and the commands' numbers of it: all of it, before chips, and in samples."""

    name: str
    said: dict[str, Any]
    keys: list[str]
    edits: list[list[str]]
    options: list[str]
    numbers: Numbers
    before: Numbers
    samples: Stacks
    all_samples: int

    def check(self, what: str, found: object, wanted: object) -> None:
        checks[what] += 1
        assert found == wanted, (self.name, what)


def view_of(title: str, one: dict[str, Any]) -> View:
    name, said, wanted = title.split(", ")[0], one["value"], one["wanted"]
    edits = wanted.get("edits", [])
    options = [*said["options"].split(), *(["--tid", said["tid"]] if said["tid"] else [])]
    before = asked(name, *options, *(["--value", "samples"] if wanted.get("weight") else []))
    numbers = Numbers(before.unit, before.samples, before.value, before.rows, before.stacks, before.waits)
    counted = asked(name, *options, "--value", "samples")
    samples = counted.stacks
    for kind, key in edits:
        numbers.stacks = edited(numbers.stacks, kind, key.split("\n")[0])
        numbers.waits = edited(numbers.waits, kind, key.split("\n")[0])
        samples = edited(samples, kind, key.split("\n")[0])
    if edits:
        costs = functions_of(numbers.stacks)
        numbers.rows = {key: costs[name] for key in unique(before.rows) if (name := key.split("\n")[0]) in costs}
        numbers.value, numbers.samples = sum(numbers.stacks.values()), int(sum(samples.values()))
    return View(title, said, one["keys"], edits, options, numbers, before, samples, counted.samples)


@pytest.fixture(scope="module")
def views_seen(seen: dict[str, dict[str, Any]]) -> list[View]:
    return [view_of(title, one) for title, one in seen.items()]


def test_commands_agree_with_each_other(views_seen: list[View]) -> None:
    """What is composed from stacks below is what ``top`` says, where it says it."""
    for view in views_seen:
        costs = functions_of(view.before.stacks)
        for key in unique(view.before.rows):
            assert costs[key.split("\n")[0]] == view.before.rows[key], (view.name, key)


def test_the_table_and_the_search(views_seen: list[View]) -> None:
    for view in views_seen:
        numbers = view.numbers
        for key in view.keys:
            costs, whole, unit = numbers.rows.get(key), numbers.value, numbers.unit
            view.check("search", view.said["matched"][key], percent(costs[1], whole) if costs and costs[1] else "none")
            if costs is None:
                view.check("row", view.said["rows"][key], None)
                continue
            title = [part for part in key.split("\n") if part]
            title.append(f"self {told(costs[0], whole, unit)}, total {told(costs[1], whole, unit)}")
            cells = [percent(costs[0], whole), percent(costs[1], whole)]
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
        if any(kind == "focus" for kind, _ in view.edits):
            view.check(
                "chip", said["chips"], [f"{percent(sum(view.samples.values()), view.all_samples)} of all samples"]
            )
        if view.edits:
            continue
        objects: Counter[str] = Counter()
        for key, (own, _) in numbers.rows.items():
            objects[key.split("\n")[1] or "[unknown]"] += own
        legend = [f"{name}  {percent(own, numbers.value)}" for name, own in objects.most_common(24) if own]
        view.check("legend", sorted(said["legends"]["object"]), sorted(legend))
        if not said["tid"]:
            shares = {text.rpartition(" ")[2]: share for text, share in said["threads"]}
            view.check("threads", shares, threads(view))


def threads(view: View) -> dict[str, str]:
    """Shares by the numbers of thread and process: a thread may change its name."""
    words = [*view.options, *(["--value", "samples"] if view.numbers.unit == "samples" else [])]
    ran = perf2x("top", *RECORDINGS[view.name.split(",")[0]], *words, "--by", "thread", "--json", "-n", "0", "-q")
    costs: Counter[str] = Counter()
    for row in json.loads(ran.out)["rows"]:
        numbers = row["name"].rpartition(" ")[2]
        pid, tid = numbers.split("/")
        costs[f"({pid if pid == tid else numbers})"] += row["self"]
    return {numbers: percent(own, view.numbers.value) for numbers, own in costs.items()}


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
    """What ``annotate`` says of each line of each function."""
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
