"""A flame graph in one SVG file: for a README, a pull request or a report.

Without its script, as in an ``<img>``, it works as a still picture: labels fit their boxes, names and numbers appear on
hover (``<title>``), colours follow the reader's light or dark theme. Opened on its own, the script (picture/) adds zoom
and search. Nothing is fetched.
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

_LEVEL, _TOP, _SIDE = 17, 46, 10  # the same as in picture.js
_HUES = 6  # of objects, as in picture.css
LETTER = 6.62
"""Width in pixels of a letter in the picture's monospaced font at 11 px."""
LONGEST = 500
"""Number of characters of a name that a title shows, from both ends."""
# East Asian letters and emoji are two cells wide; a fixed list, because Python's and rich's change with their versions
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
        room = self.width - 2 * _SIDE
        boxes = boxes_of(profile, frames, event, max(self.min_width, 0) / room, self.max_boxes)
        levels = int(boxes.depth.max()) + 1 if len(boxes) else 1
        out.write(self._opening(profile, _TOP + levels * _LEVEL + 12))
        out.writelines(map(str.encode, self._boxes(profile, frames, boxes, levels)))
        out.write(self._closing(profile, event, boxes).encode())

    def _opening(self, profile: Profile, height: int) -> bytes:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}"'
            f' viewBox="0 0 {self.width} {height}" role="img"><title>{self._title(profile)}</title>'
            f"<style>\n{_part('picture.css')}</style>\n"
            '<rect class="g" width="100%" height="100%"/>\n<g class="b">\n'
        ).encode()

    def _closing(self, profile: Profile, event: int, boxes: Rectangles) -> str:
        """Return the bar that covers the boxes when a reader scrolls, and the script."""
        texts = [profile.events[event].name] if profile.events else []
        texts += facts(profile, event)
        texts += [f"the widest {len(boxes):,} of {len(boxes) + boxes.left_out:,} boxes"] if boxes.left_out else []
        script = f"<script><![CDATA[\n{_part('picture.js')}]]></script>\n" if self.script else ""
        return (
            f'</g>\n<g class="head"><rect class="g" width="100%" height="{_TOP - 2}"/>'
            f'<text class="t" x="{_SIDE}" y="20">{self._title(profile)}</text>'
            f'<text class="s" x="{_SIDE}" y="37">{_xml(shown_name(", ".join(texts)))}</text></g>\n{script}</svg>\n'
        )

    def _title(self, profile: Profile) -> str:
        return _xml(shown_name(self.title or heading(profile)))

    def _boxes(self, profile: Profile, frames: LocationFrames, boxes: Rectangles, levels: int) -> list[str]:
        names = [*(shown_name(name) or "[unknown]" for name in frames.name), "all"]  # the last entry is for −1
        full = [*map(shown_name, full_names(profile, frames)), ""]
        whole = sum_of(boxes.total[:1])
        scale = (self.width - 2 * _SIDE) / max(whole, 1)
        x, width = _SIDE + boxes.start * scale, np.maximum(boxes.total * scale - 0.5, 0.3)
        level = boxes.depth if self.direction == "icicle" else levels - 1 - boxes.depth
        columns = (boxes.frame, boxes.start, boxes.total, x, _TOP + level * _LEVEL, width)
        made, objects = [], dict[str, int]()
        for frame, start, total, left, top, size in zip(*(column.tolist() for column in columns), strict=True):
            lines = (names[frame], full[frame], f"{total:,} ({100 * (total / whole):.2f} %)")
            place = f'x="{left:.1f}" y="{top}" width="{size:.1f}" height="{_LEVEL - 1}" rx="1"'
            label = fitted(names[frame], size - 6)
            text = f'<text x="{left + 3:.1f}" y="{top + 12}">{_xml(label)}</text>' if label else ""
            made.append(
                f'<g data-at="{start} {total}"><title>{_xml(chr(10).join(filter(None, lines)))}</title>'
                f'<rect class="{_look(frames, frame, objects)}" {place}/>{text}</g>\n'
            )
        return made


def _look(frames: LocationFrames, frame: int, objects: dict[str, int]) -> str:
    """Return the CSS classes of a box: kernel, object of user code, unresolved, hypervisor or guest; inlined.

    ``objects`` numbers those that were drawn.
    """
    if frame < 0:
        return "a"
    if frames.function[frame] < 0:
        return "x"
    kind = {int(CpuMode.KERNEL): "k", int(CpuMode.USER): "u"}.get(int(frames.mode[frame]), "h")
    if kind == "u":
        kind += str(objects.setdefault(frames.object[frame], len(objects)) % _HUES)
    return kind + " i" * int(frames.inlined[frame])


def _part(name: str) -> str:
    return (files("perf2x.emitters.flame") / "picture" / name).read_text("utf-8")


def shown_name(name: str) -> str:
    """Return a name as one line of at most LONGEST characters valid in XML; long names lose their middle."""
    if len(name) > LONGEST:
        name = name[: LONGEST // 2 + 20] + "…" + name[len(name) - LONGEST // 2 + 21 :]
    return _NOT_XML.sub("\ufffd", one_line(name))


def _xml(text: str) -> str:
    """Escape text between tags."""
    return escape(text, quote=False)


def fitted(text: str, room: float) -> str:
    """Return the text, or its beginning and an ellipsis, to fit ``room`` pixels; "" if three letters do not fit."""
    cells = int(room / LETTER)
    if cells < 3:
        return ""
    if text.isascii():
        return text if len(text) <= cells else text[: cells - 1] + "…"
    width = fits = 0
    for place, letter in enumerate(text):
        width += 2 if _WIDE.match(letter) else 1
        if width > cells:
            return text[:fits] + "…"
        fits = place + 1 if width < cells else fits
    return text
