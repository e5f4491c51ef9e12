"""Makes the moving picture at the top of README: perf2x at work in a real terminal, as an animated SVG.

``python docs/terminal_picture.py`` writes examples/screenshots/terminal.svg. The commands run in a pseudo-terminal;
times of typing and reading are made up, so that equal output gives equal bytes.
"""

import fcntl
import os
import pty
import re
import shutil
import struct
import sys
import tempfile
import termios
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WORDS = ROOT / "examples" / "words"
PICTURE = ROOT / "examples" / "screenshots" / "terminal.svg"
SCENES = (
    ("perf2x top perf.data -n 6", 4.0),
    ("perf2x top perf.data --graph", 4.5),
    ("perf2x annotate find_or_insert perf.data --source-dir . --around 0", 5.0),
    ("perf2x convert perf.data --to html", 3.5),
)
"""Commands, and the seconds for which their output is shown."""
COLUMNS, ROWS = 96, 17
WIDTH, HEIGHT, MARGIN = 8.4, 18, 14
"""Of a cell, and around them, in pixels."""
TYPING = 0.06
"""Seconds for a character."""
BEHIND, PLAIN, DIM, PROMPT = "#1b1f27", "#e6e6e6", "#8b93a1", "#7fd88f"
NAMED = {31: "#ff8b82", 32: PROMPT, 33: "#f2cc60"}
"""Colours of the terminal by their number."""
STYLE = f"""text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }}
text {{ fill: {PLAIN}; white-space: pre }}
.bold {{ font-weight: bold }}
.timed {{ visibility: hidden; animation-iteration-count: infinite; animation-timing-function: step-end }}
@media (prefers-reduced-motion: reduce) {{ .timed {{ animation: none !important }} .first {{ visibility: visible }} }}
"""


class Run(NamedTuple):
    """Characters of one style in a line."""

    column: int
    text: str
    fill: str
    behind: str
    is_bold: bool


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")


def picture() -> str:
    """Run the commands, and return the picture."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("perf.data", "words.cpp"):
            shutil.copy(WORDS / name, folder)
        return drawn([output_of(command, Path(folder)) for command, _ in SCENES])


def output_of(command: str, folder: Path) -> str:
    """Return what a command prints in a terminal of our size."""
    process, terminal = pty.fork()
    if not process:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        settings = {"TERM": "xterm-256color", "HOME": str(folder), "PERF2X_SYSROOT": str(WORDS / "symfs")}
        os.chdir(folder)
        words = [sys.executable, "-m", *command.split()]
        os.execve(
            words[0], words, {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **settings}
        )
    found = b""
    try:
        while more := os.read(terminal, 1 << 16):
            found += more
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    if status:
        raise SystemExit(f"{command}: {found.decode()}")
    return found.decode().replace("\r\n", "\n").rstrip("\n")


def drawn(outputs: list[str]) -> str:
    """Return the picture of all scenes, one after another, for ever."""
    typed = [1.0 + TYPING * len(command) for command, _ in SCENES]
    whole = sum(typed) + sum(seconds for _, seconds in SCENES)
    times, body, begin = dict[tuple[float, float], str](), list[str](), 0.0

    def timed(first: float, last: float, inside: str, more: str = "") -> str:
        name = times.setdefault((round(100 * first / whole, 2), round(100 * last / whole, 2)), f"t{len(times)}")
        return f'<g class="timed{more}" style="animation-name: {name}; animation-duration: {whole:.2f}s">{inside}</g>'

    for number, ((command, seconds), output, takes) in enumerate(zip(SCENES, outputs, typed, strict=True)):
        end, still = begin + takes + seconds, " first" * (number == 0)
        body.append(timed(begin, end, _text(Run(0, "$", PROMPT, "", True), 0), still))
        for at, character in enumerate(command):
            if character != " ":
                shown = _text(Run(2 + at, character, PLAIN, "", False), 0)
                body.append(timed(begin + 0.5 + TYPING * at, end, shown, still))
        lines = [part for row, line in enumerate(output.split("\n")[: ROWS - 2], 1) for part in _line(line, row)]
        body.append(timed(begin + takes, end, "".join(lines), still))
        begin = end
    frames = (_keyframes(name, first, last) for (first, last), name in times.items())
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), ROWS * HEIGHT + 2 * MARGIN
    size = f'width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}">',
            f"<title>perf2x in a terminal: {', '.join(command for command, _ in SCENES)}</title>",
            f"<style>{STYLE}{''.join(frames)}</style>",
            f'<rect {size} rx="8" fill="{BEHIND}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _keyframes(name: str, first: float, last: float) -> str:
    """Return the rule that shows something from one part of a hundred of the time to another."""
    begin = f"0% {{ visibility: hidden }} {first}%" if first else "0%"
    end = "" if last >= 100 else f" {last}% {{ visibility: hidden }}"
    return f"@keyframes {name} {{ {begin} {{ visibility: visible }}{end} }}\n"


def _line(line: str, row: int) -> Iterator[str]:
    for run in runs(line):
        if run.behind or run.text.strip():
            yield _text(run, row)


def runs(line: str) -> Iterator[Run]:
    """Yield the parts of a line that have one style, as its escape sequences say."""
    column, fill, behind, is_bold = 0, PLAIN, "", False
    for text, codes in zip(*(iter([*re.split(r"\x1b\[([\d;]*)m", line), ""]),) * 2, strict=True):
        if text:
            yield Run(column, text, fill, behind, is_bold)
            column += len(text)
        numbers = iter([int(code or 0) for code in codes.split(";")] if codes else [])
        for number in numbers:
            if number == 0:
                fill, behind, is_bold = PLAIN, "", False
            elif number == 1:
                is_bold = True
            elif number == 2:
                fill = DIM
            elif number == 38:
                fill = _of_256(next(numbers), next(numbers))
            elif number == 48:
                behind = _of_256(next(numbers), next(numbers))
            else:
                fill = NAMED.get(number, fill)


def _of_256(_: int, number: int) -> str:
    """Return a colour of the cube or of the greys."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[(number - 16) // size % 6]:02x}" for size in (36, 6, 1))


def _text(run: Run, row: int) -> str:
    x, y, length = MARGIN + run.column * WIDTH, MARGIN + row * HEIGHT, len(run.text) * WIDTH
    box = (
        f'<rect x="{x:.1f}" y="{y}" width="{length - 1:.1f}" height="{HEIGHT - 1}" fill="{run.behind}"/>'
        if run.behind
        else ""
    )
    if not run.text.strip():
        return box
    style = f' style="fill: {run.fill}"' if run.fill != PLAIN else ""
    kind = ' class="bold"' if run.is_bold else ""
    stretched = f'textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'{box}<text x="{x:.1f}" y="{y + 13}" {stretched}{kind}{style}>{escape(run.text)}</text>'


if __name__ == "__main__":
    main()
