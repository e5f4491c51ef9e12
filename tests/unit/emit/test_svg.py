import io
import re
from xml.etree import ElementTree

import pytest

from perf2x.abi.uapi import CpuMode
from perf2x.emit.flame.svg import Svg
from perf2x.plugins.contracts import EmitterContract
from perf2x.tables.profile import Profile

NS = "{http://www.w3.org/2000/svg}"


def drawn(profile: Profile, **options: object) -> ElementTree.Element:
    out = io.BytesIO()
    Svg(**options).emit(profile, out)
    return ElementTree.fromstring(out.getvalue())


def boxes(picture: ElementTree.Element) -> dict[str, tuple[float, float, float, str]]:
    """Name to left edge, top edge, width and class."""
    found = {}
    for group in picture.iter(f"{NS}g"):
        rect = group.find(f"{NS}rect")
        place = tuple(float(rect.get(key)) for key in ("x", "y", "width"))
        found[group.find(f"{NS}title").text.split("\n")[0]] = (*place, rect.get("class"))
    return found


class TestSvgContract(EmitterContract):
    def emitter(self) -> Svg:
        return Svg()

    def total(self, output) -> int:
        picture = ElementTree.fromstring(output)
        titles = [group.find(f"{NS}title").text for group in picture.iter(f"{NS}g")]
        return int(re.search(r"\n([\d,]+) ", titles[0]).group(1).replace(",", "")) if titles else 0


def test_widths_are_shares_and_children_lie_on_their_parents(builder) -> None:
    main, left, right = (builder.function(name) for name in ("main", "a", "b"))
    builder.sample([main, right], value=75)
    builder.sample([main, left], value=25)
    found = boxes(drawn(builder.build(), width=1020))
    assert found["main"][2] == pytest.approx(999.5)
    assert (found["a"][0], found["a"][2]) == (pytest.approx(10), pytest.approx(249.5))
    assert (found["b"][0], found["b"][2]) == (pytest.approx(260), pytest.approx(749.5))
    assert found["a"][1] < found["main"][1] < found["all"][1]
    icicle = boxes(drawn(builder.build(), direction="icicle"))
    assert icicle["a"][1] > icicle["main"][1] > icicle["all"][1]


def test_classes_tell_kernel_user_and_unresolved_apart(builder) -> None:
    builder.sample([builder.function("main"), builder.function("sys_read", CpuMode.KERNEL), builder.location(0x77)])
    found = boxes(drawn(builder.build()))
    assert {name: box[3] for name, box in found.items()} == {"all": "a", "main": "u", "sys_read": "k", "[unknown]": "x"}


def test_narrow_boxes_are_left_out(builder) -> None:
    builder.sample([builder.function("wide")], value=1_000_000)
    builder.sample([builder.function("narrow")], value=1)
    assert "narrow" not in boxes(drawn(builder.build()))
    assert "narrow" in boxes(drawn(builder.build(), min_width=0))


def test_nothing_runs_and_nothing_is_fetched(builder) -> None:
    builder.sample([builder.function("<script>")])
    out = io.BytesIO()
    Svg().emit(builder.build(), out)
    assert b"<script" not in out.getvalue()
    assert not re.search(rb"(href|src|url)\s*[=(]", out.getvalue())
