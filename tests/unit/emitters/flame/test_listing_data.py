"""Source lines and instructions as the page gets them."""

import io
import json
import re

import pytest
from msgspec.structs import replace

from perf2x.emitters.flame import listing_data
from perf2x.emitters.flame.listing_data import clean, rows_to_show
from perf2x.kernel.registry import build_emitter
from perf2x.model.profile.listings import (
    CodeListing,
    FunctionListing,
    InstructionCost,
    LineCost,
    Listings,
    Measure,
    SourceListing,
)
from perf2x.testing import ProfileBuilder

EVIL = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e\u2028{{DATA}}"


def instruction(address: int, own: int = 0, total: int = 0, target: int = -1, text: str = "nop") -> InstructionCost:
    return InstructionCost(address, text, "", target, "/a.c", 3, "f", True, (own, own // 5), (total, total // 5))


def listings(*rows: InstructionCost, text: str = "\tint a;", name: str = "f") -> Listings:
    lines = (LineCost(0, (5, 1), (5, 1)), LineCost(3, (0, 0), (10, 2)))
    source = SourceListing("/a.c", lines, {2: "", 3: text}, "")
    code = CodeListing("prog", name, 0x10, rows, "")
    one = FunctionListing(name, "prog", (5, 1), (15, 3), (source,), (code,), 3, {"/a.c": {3: text}})
    return Listings((Measure(0, "period", "nanoseconds"), Measure(0, "samples", "samples")), (one,))


def page(given: Listings | None) -> str:
    builder = ProfileBuilder()
    builder.event()
    builder.thread()
    builder.sample([builder.function("f")])
    out = io.BytesIO()
    build_emitter("html", {"compress": False}).emit(replace(builder.build(), listings=given), out)
    return out.getvalue().decode()


def data(text: str) -> dict:
    found = re.search(r'<script id="data" type="text/plain">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_lines_and_instructions() -> None:
    held = data(page(listings(instruction(0x10, 5, 15, 1), instruction(0x11))))["listings"]
    assert held["measures"] == [[0, "period"], [0, "samples"]]
    (one,) = held["functions"]
    assert (one["name"], one["object"], one["left"]) == ("f", "prog", 2)
    assert one["sources"] == [
        {
            "path": "/a.c",
            "reason": "",
            "rows": [[0, "", [5, 1], [5, 1]], [2, ""], [3, "        int a;", [0, 0], [10, 2]]],
        }
    ]
    (code,) = one["code"]
    assert code["spots"] == [["/a.c", 3, "f", "int a;"]]
    assert code["rows"] == [["10", "nop", "", 1, 0, [5, 1], [15, 3]], ["11", "nop", "", -1, 0]]


def test_pages_without_listings_do_not_speak_of_them() -> None:
    assert "listings" not in data(page(None))


def test_nothing_in_a_source_or_a_name_is_code() -> None:
    plain = page(None)
    given = listings(instruction(1, text=EVIL), text=EVIL, name=EVIL)
    text = page(given)
    assert text.count("</script>") == plain.count("</script>")
    assert "<img" not in text
    (one,) = data(text)["listings"]["functions"]
    (code,) = one["code"]
    shown = [one["name"], one["sources"][0]["rows"][2][1], code["rows"][0][1], code["spots"][0][3], code["symbol"]]
    assert set(shown) == {"</script><img src=x onerror=alert(1)> [2J  {{DATA}}"}


def test_texts_are_single_lines_that_utf_8_can_hold() -> None:
    assert clean("a\tb\nc\x85d\udc80") == "a       b c d\\x80"


def test_large_functions_keep_what_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        instruction(at, own=5 * (at == 50), total=5 * (at in (50, 99)), target=0 if at == 51 else 52)
        for at in range(100)
    ]
    assert rows_to_show(rows) == list(range(100))
    monkeypatch.setattr(listing_data, "MAX_ROWS", 99)
    assert rows_to_show(rows) == [*range(30, 71), *range(79, 100)]
    (code,) = data(page(listings(*rows)))["listings"]["functions"][0]["code"]
    assert code["left"] == 38
    targets = {row[0]: row[3] for row in code["rows"]}
    assert (targets["33"], targets["32"], code["rows"][22][0]) == (-1, 22, "34")
