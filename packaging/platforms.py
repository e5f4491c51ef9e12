"""Prints the table of platforms in docs/installation.md: where every dependency has a wheel, by uv and the index.

``python packaging/platforms.py --check`` fails if the document says otherwise; a weekly job runs it.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs/installation.md"
PYTHONS = ("3.11", "3.15")
PLATFORMS = {
    "Linux, glibc 2.28 or later, x86-64 and aarch64": ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28"),
    "Linux, musl (Alpine), x86-64 and aarch64": ("x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"),
    "macOS, Apple silicon and Intel": ("aarch64-apple-darwin", "x86_64-apple-darwin"),
    "Windows, x86-64": ("x86_64-pc-windows-msvc",),
    "Windows, ARM64": ("aarch64-pc-windows-msvc",),
}
COLUMNS = {f"Python {PYTHONS[0]}–{PYTHONS[-1]}": ("assembly", "mcp"), "extra `fleet`": ("fleet",)}
"""Extras by the head of their column."""


def lacking(platform: str, python: str, extras: tuple[str, ...], without: tuple[str, ...] = ()) -> list[str]:
    """Packages that have no wheel there, one after another."""
    words = ["uv", "pip", "compile", "-q", "pyproject.toml", "--python-version", python, "--python-platform", platform]
    words += ["--only-binary", ":all:", "--no-header", "--no-annotate", *(f"--extra={one}" for one in extras)]
    overrides = "".join(f"{name} ; python_version < '3'\n" for name in without)
    ran = subprocess.run([*words, "--override", "-"], input=overrides, capture_output=True, text=True, cwd=ROOT)
    if ran.returncode == 0:
        return list(without)
    found = re.search(r"([\w.-]+)(?:[<>=!~]+\S+)? has no (?:usable )?wheels", ran.stderr)
    if found is None or found[1] in without:
        raise SystemExit(f"{platform}, {python}, {extras}: {ran.stderr.strip()}")
    return lacking(platform, python, extras, (*without, found[1]))


def cell(platforms: tuple[str, ...], extras: tuple[str, ...]) -> str:
    """Text of one cell."""
    names = sorted({name for one in platforms for python in PYTHONS for name in lacking(one, python, extras)})
    return f"no wheel of {', '.join(names)}" if names else "yes"


def table() -> list[str]:
    """Lines of the table."""
    lines = [f"| platform | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, platforms in PLATFORMS.items():
        lines.append(f"| {name} | {' | '.join(cell(platforms, extras) for extras in COLUMNS.values())} |")
    return lines


if __name__ == "__main__":
    made = "\n".join(table())
    print(made)
    if "--check" in sys.argv and made not in DOCUMENT.read_text(encoding="utf-8"):
        sys.exit(f"{DOCUMENT.relative_to(ROOT)} has another table of platforms")
