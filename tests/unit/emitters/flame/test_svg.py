import io
import re
from xml.etree import ElementTree

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters.flame.svg import LETTER_WIDTH, MAX_NAME, Svg, fit_label, shown_name
from perf2x.errors import OptionError
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract

NS = "{http://www.w3.org/2000/svg}"


def written(profile: Profile, **options: object) -> bytes:
    out = io.BytesIO()
    Svg(**options).emit(profile, out)
    return out.getvalue()


def drawn(profile: Profile, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(written(profile, **options))


def groups(picture: ElementTree.Element) -> list[ElementTree.Element]:
    return picture.findall(f".//{NS}g[@data-at]")


def boxes(picture: ElementTree.Element) -> dict[str, tuple[float, float, float, str]]:
    """Name to left edge, top edge, width and class."""
    found = {}
    for group in groups(picture):
        rect = group.find(f"{NS}rect")
        place = tuple(float(rect.get(key)) for key in ("x", "y", "width"))
        found[group.find(f"{NS}title").text.split("\n")[0]] = (*place, rect.get("class"))
    return found


class TestSvgContract(EmitterContract):
    def emitter(self) -> Svg:
        return Svg()

    def total(self, output) -> int:
        titles = [group.find(f"{NS}title").text for group in groups(ElementTree.fromstring(output))]
        return int(re.search(r"\n([\d,]+) ", titles[0]).group(1).replace(",", "")) if titles else 0


def test_widths_are_shares_and_children_lie_on_their_parents(builder) -> None:
    main, left, right = (builder.function(name) for name in ("main", "a", "b"))
    builder.sample([main, right], value=75)
    builder.sample([main, left], value=25)
    picture = drawn(builder.build(), width=1020)
    found = boxes(picture)
    assert found["main"][2] == pytest.approx(999.5)
    assert (found["a"][0], found["a"][2]) == (pytest.approx(10), pytest.approx(249.5))
    assert (found["b"][0], found["b"][2]) == (pytest.approx(260), pytest.approx(749.5))
    assert found["a"][1] < found["main"][1] < found["all"][1]
    assert [group.get("data-at") for group in groups(picture)] == ["0 100", "0 100", "0 25", "25 75"]
    icicle = boxes(drawn(builder.build(), direction="icicle"))
    assert icicle["a"][1] > icicle["main"][1] > icicle["all"][1]


def test_the_subtitle_tells_of_the_event_that_is_drawn(builder) -> None:
    cycles, faults = builder.event("cycles", "count"), builder.event("page-faults", "count")
    for event in (cycles, faults, cycles):
        builder.sample([builder.function("main")], event=event, value=5)
    for event, said in (("cycles", "cycles, 2 samples, "), ("page-faults", "page-faults, 1 sample, ")):
        _, subtitle = (
            text.text for text in drawn(builder.build(), event=event).iter(f"{NS}text") if text.get("y") in {"20", "37"}
        )
        assert subtitle.startswith(said)


def test_classes_tell_kernel_user_and_unresolved_apart(builder) -> None:
    builder.sample([builder.function("main"), builder.function("sys_read", CpuMode.KERNEL), builder.location(0x77)])
    looks = {name: box[3] for name, box in boxes(drawn(builder.build())).items()}
    assert looks == {"all": "a", "main": "u0", "sys_read": "k", "[unknown]": "x"}


def test_objects_of_user_code_have_colours_of_their_own(builder) -> None:
    """As they come, six in all; the kernel takes none, inlined code is paler."""
    objects = [builder.mapping(f"/lib/{number}.so", 0x1000 * number) for number in range(8)]
    frames = [builder.location(0x10 + 0x1000 * number, row, [f"f{number}"]) for number, row in enumerate(objects)]
    inlined = builder.location(0x20, objects[0], ["within", "around"])
    builder.sample([builder.function("start_kernel", CpuMode.KERNEL), *frames, inlined])
    looks = {name: box[3] for name, box in boxes(drawn(builder.build())).items()}
    assert [looks[f"f{number}"] for number in range(8)] == ["u0", "u1", "u2", "u3", "u4", "u5", "u0", "u1"]
    assert (looks["start_kernel"], looks["around"], looks["within"]) == ("k", "u0", "u0 i")


def test_narrow_boxes_are_left_out(builder) -> None:
    builder.sample([builder.function("wide")], value=1_000_000)
    builder.sample([builder.function("narrow")], value=1)
    assert "narrow" not in boxes(drawn(builder.build()))
    assert "narrow" in boxes(drawn(builder.build(), min_width=0))


def test_the_widest_boxes_stay_with_all_that_they_stand_on(builder) -> None:
    for value, names in ((5, "abc"), (4, "ad"), (3, "e")):
        builder.sample([builder.function(name) for name in names], value=value)
    profile = builder.build()
    assert sorted(boxes(drawn(profile, max_boxes=4))) == ["a", "all", "b", "c"]
    assert sorted(boxes(drawn(profile, max_boxes=3))) == ["a", "all", "b"]  # c is as wide as b, but stands on it
    assert "the widest 4 of 6 boxes" in "".join(drawn(profile, max_boxes=4).itertext())
    assert "the widest" not in "".join(drawn(profile, max_boxes=6, script=False).itertext())


def test_size_has_a_limit_whatever_the_names(builder) -> None:
    for name in range(300):
        builder.sample([builder.function(f"{name}" + "<" * 50_000 + "end")])
    assert len(written(builder.build(), max_boxes=100)) < 100 * (4 * MAX_NAME + 300) + 20_000


@pytest.mark.parametrize("text", ["main", "x" * 40, "函数名字很长" * 5, "a函b数c名d", "🔥" * 9, "", "ab"])
def test_labels_are_as_long_as_fits(text) -> None:
    """Every beginning is tried: the text if it fits, else the longest beginning with room for an ellipsis."""

    def cells(part: str) -> int:
        return sum(2 if letter > "\u2e80" else 1 for letter in part)

    for room in (0, 15, 20, 26.5, 60, 133.3, 400):
        most = int(room / LETTER_WIDTH)
        begun = [text[:end] + "…" for end in range(len(text)) if cells(text[:end]) + 1 <= most]
        best = text if cells(text) <= most else max(begun, key=len, default="")
        assert fit_label(text, room) == (best if most >= 3 else "")


def test_labels_end_before_their_boxes(builder) -> None:
    for value, name in ((50, "short"), (5, "much_longer_than_its_box"), (1, "no_room")):
        builder.sample([builder.function(name)], value=value)
    labels = {
        group.find(f"{NS}title").text.split("\n")[0]: group.find(f"{NS}text")
        for group in groups(drawn(builder.build()))
    }
    assert labels["short"].text == "short"
    assert labels["much_longer_than_its_box"].text == "much_longer_t…"
    assert labels["no_room"] is None


def test_names_keep_both_ends_and_are_valid_xml() -> None:
    name = shown_name("begin" + "x" * 10_000 + "end")
    assert name.startswith("begin") and name.endswith("end") and len(name) == MAX_NAME
    assert shown_name("x" * MAX_NAME) == "x" * MAX_NAME
    assert shown_name("a\uffff\x01\nb") == "a\ufffd  b"


def test_nothing_is_fetched_and_names_are_text(builder) -> None:
    name = "]]><script>alert(1)</script><a href='x'>"
    builder.sample([builder.function(name)])
    file = written(builder.build(), title=name)
    assert file.count(b"<script") == 1
    assert not re.search(rb"(href|src|url)\s*[=(]|@import|innerHTML|eval\(", file.replace(b"href='x'", b""))
    assert len([*ElementTree.fromstring(file).iter(f"{NS}script")]) == 1
    assert name in boxes(ElementTree.fromstring(file))
    assert b"<script" not in written(builder.build(), script=False)


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_labels_can_be_read_on_every_box_in_both_themes(builder) -> None:
    style = drawn(builder.build()).find(f"{NS}style").text
    for theme in style.split("@media"):
        fills = dict(re.findall(r"([\w.>]+)\{[^{}]*fill:(#\w{6})", theme))
        assert {"text", *(f".u{hue}" for hue in range(6)), ".k", ".x", ".a", ".h", ".g", ".m>rect"} <= {*fills}
        for name, ground in fills.items():
            if name not in ("text", ".s", ".m>text"):
                label = "#22211f" if name == ".m>rect" else fills["text"]
                low, high = sorted((luminance(label), luminance(ground)))
                assert (high + 0.05) / (low + 0.05) >= 4.5, name


@pytest.mark.parametrize("options", [{"width": 10}, {"max_boxes": 0}, {"direction": "up"}])
def test_options_that_leave_no_picture_are_refused(options) -> None:
    with pytest.raises(OptionError):
        Svg(**options)
