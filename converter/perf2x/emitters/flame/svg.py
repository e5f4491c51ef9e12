"""A flame graph in one SVG file: for a README, a pull request or a report.

As an ``<img>``, the file is a still picture. If it is opened on its own, the script (picture/) adds zoom and search.
"""

import re
from html import escape
from importlib.resources import files
from typing import Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import sum_of
from perf2x.emitters.flame.picture_title import facts, heading
from perf2x.emitters.flame.svg_tree import Rectangles, boxes_of
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import LocationFrames, Profile, find_event, full_names, location_frames
from perf2x.model.setting import Setting

# in pixels, as in picture.js
_LEVEL_HEIGHT, _HEAD_HEIGHT, _MARGIN = 17, 46, 10
_HUES = 6  # number of colours of objects, as in picture.css
LETTER_WIDTH = 6.62
"""Width in pixels of a letter in the picture's monospaced font at 11 px."""
MAX_NAME = 500
"""Maximum number of characters of a name in a title; a longer name keeps both ends."""
# Characters that are two letters wide; the lists of Python and of rich vary with their versions.
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\U0001f300-\U0001faff]"
)
_NOT_XML = re.compile("[\ufffe\uffff]")


class Svg(Format):
    """Flame graph in one SVG file: zoom and search in a browser, a still picture in a README or a pull request."""

    suffix = ".svg"
    needs = Needs(full_names=True, viewer="open it in any browser")

    event: Annotated[str | None, Setting("Event to draw; default: the recording's first.", ("--event",))] = None
    title: Annotated[str, Setting("Heading; default: the recorded command, or the busiest process.", ("--title",))] = ""
    direction: Annotated[
        Literal["flame", "icicle"], Setting("Where roots are: at the bottom (flame) or on top (icicle).")
    ] = "flame"
    width: Annotated[
        int, Setting("Width in pixels; a browser that opens the file uses the width of its window.", least=200)
    ] = 1200
    min_width: Annotated[float, Setting("Leave out boxes narrower than this many pixels.")] = 0.1
    max_boxes: Annotated[int, Setting("Draw only this many boxes, the widest ones.", least=1)] = 10_000
    script: Annotated[bool, Setting("Zoom, search and details; no: a still picture everywhere.")] = True

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the picture box by box, outer frames first."""
        frames = location_frames(profile)
        event = find_event(profile, self.event) if profile.events else 0
        graph_width = self.width - 2 * _MARGIN
        boxes = boxes_of(profile, frames, event, max(self.min_width, 0) / graph_width, self.max_boxes)
        levels = int(boxes.depth.max()) + 1 if len(boxes) else 1
        out.write(self._opening(profile, _HEAD_HEIGHT + levels * _LEVEL_HEIGHT + 12))
        out.writelines(map(str.encode, self._boxes(profile, frames, boxes, levels)))
        out.write(self._closing(profile, event, boxes).encode())

    def _opening(self, profile: Profile, height: int) -> bytes:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}"'
            f' viewBox="0 0 {self.width} {height}" role="img"><title>{self._title(profile)}</title>'
            f"<style>\n{_picture_file('picture.css')}</style>\n"
            '<rect class="g" width="100%" height="100%"/>\n<g class="b">\n'
        ).encode()

    def _closing(self, profile: Profile, event: int, boxes: Rectangles) -> str:
        """Return the heading, which covers boxes that a reader scrolls under it, and the script."""
        texts = [profile.events[event].name] if profile.events else []
        texts += facts(profile, event)
        texts += [f"the widest {len(boxes):,} of {len(boxes) + boxes.left_out:,} boxes"] if boxes.left_out else []
        script = f"<script><![CDATA[\n{_picture_file('picture.js')}]]></script>\n" if self.script else ""
        return (
            f'</g>\n<g class="head"><rect class="g" width="100%" height="{_HEAD_HEIGHT - 2}"/>'
            f'<text class="t" x="{_MARGIN}" y="20">{self._title(profile)}</text>'
            f'<text class="s" x="{_MARGIN}" y="37">{_xml(shown_name(", ".join(texts)))}</text></g>\n{script}</svg>\n'
        )

    def _title(self, profile: Profile) -> str:
        return _xml(shown_name(self.title or heading(profile)))

    def _boxes(self, profile: Profile, frames: LocationFrames, boxes: Rectangles, levels: int) -> list[str]:
        names = [*(shown_name(name) or "[unknown]" for name in frames.name), "all"]  # the last entry is for −1
        full = [*map(shown_name, full_names(profile, frames)), ""]
        grand_total = sum_of(boxes.total[:1])  # 0 if there are no boxes
        scale = (self.width - 2 * _MARGIN) / max(grand_total, 1)
        x, width = _MARGIN + boxes.start * scale, np.maximum(boxes.total * scale - 0.5, 0.3)  # half a pixel of gap
        level = boxes.depth if self.direction == "icicle" else levels - 1 - boxes.depth
        columns = (boxes.frame, boxes.start, boxes.total, x, _HEAD_HEIGHT + level * _LEVEL_HEIGHT, width)
        elements, object_numbers = [], dict[str, int]()
        for frame, start, total, left, top, box_width in zip(*(column.tolist() for column in columns), strict=True):
            title = (names[frame], full[frame], f"{total:,} ({100 * (total / grand_total):.2f} %)")
            position = f'x="{left:.1f}" y="{top}" width="{box_width:.1f}" height="{_LEVEL_HEIGHT - 1}" rx="1"'
            label = fit_label(names[frame], box_width - 6)
            text = f'<text x="{left + 3:.1f}" y="{top + 12}">{_xml(label)}</text>' if label else ""
            elements.append(
                f'<g data-at="{start} {total}"><title>{_xml(chr(10).join(filter(None, title)))}</title>'
                f'<rect class="{_css_classes(frames, frame, object_numbers)}" {position}/>{text}</g>\n'
            )
        return elements


def _css_classes(frames: LocationFrames, frame: int, object_numbers: dict[str, int]) -> str:
    """Return the CSS classes of a frame's box (picture/picture.css).

    "a": the total (frame −1); "x": unresolved; "k": kernel; "u0" to "u5": user code, by object; "h": hypervisor or
    guest; besides, "i": inlined.
    """
    if frame < 0:
        return "a"
    if frames.function[frame] < 0:
        return "x"
    code = {int(CpuMode.KERNEL): "k", int(CpuMode.USER): "u"}.get(int(frames.mode[frame]), "h")
    if code == "u":
        code += str(object_numbers.setdefault(frames.object[frame], len(object_numbers)) % _HUES)
    return code + " i" * int(frames.inlined[frame])


def _picture_file(name: str) -> str:
    return (files("perf2x.emitters.flame") / "picture" / name).read_text("utf-8")


def shown_name(name: str) -> str:
    """Return a name as one line, valid in XML, of at most MAX_NAME characters; longer names lose their middle."""
    if len(name) > MAX_NAME:
        name = name[: MAX_NAME // 2 + 20] + "…" + name[len(name) - MAX_NAME // 2 + 21 :]
    return _NOT_XML.sub("\ufffd", one_line(name))


def _xml(text: str) -> str:
    return escape(text, quote=False)


def fit_label(text: str, pixels: float) -> str:
    """Return the text if it fits, or its beginning and an ellipsis; "" if there is no room for three letters."""
    letters = int(pixels / LETTER_WIDTH)
    if letters < 3:
        return ""
    if text.isascii():
        return text if len(text) <= letters else text[: letters - 1] + "…"
    width = fitting = 0  # width of the text so far; characters that fit if an ellipsis follows
    for index, character in enumerate(text):
        width += 2 if _WIDE.match(character) else 1
        if width > letters:
            return text[:fitting] + "…"
        fitting = index + 1 if width < letters else fitting
    return text
