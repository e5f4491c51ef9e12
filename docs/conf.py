"""Sphinx settings: python -m sphinx -W --keep-going -b html docs docs/_build."""

import os
import re
import subprocess
import sys

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import perf2x

project = "perf2x"
author = "The perf2x authors"
copyright = "The perf2x authors"  # noqa: A001
release = version = perf2x.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
suppress_warnings = ["ref.python"]  # values of a Literal are taken for names: "thread" is a column of two tables
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"perf2x {release}"
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}


class CommandHelp(Directive):
    """Show what every command says of itself, so that the reference cannot disagree with the program."""

    def run(self) -> list[nodes.Node]:
        """Make a section for each command that ``perf2x --help`` lists."""
        overview = _help()
        return [nodes.literal_block(overview, overview, language="text"), *map(_section, command_names(overview))]


def command_names(overview: str) -> list[str]:
    """Commands that ``perf2x --help`` lists, some of two words (``fleet ingest``)."""
    return re.findall(r"^  ([a-z][a-z-]*(?: [a-z-]+)?) {2,}\S", overview, re.MULTILINE)


def _section(name: str) -> nodes.section:
    text = _help(*name.split())
    if "--help-all" in text:
        text = _help(*name.split(), every_option=True)
    title = f"perf2x {name}"
    section = nodes.section(ids=[nodes.make_id(title)], names=[title])
    section += [nodes.title(title, title), nodes.literal_block(text, text, language="text")]
    return section


def _help(*command: str, every_option: bool = False) -> str:
    words = [sys.executable, "-m", "perf2x", *command, "--help-all" if every_option else "--help"]
    plain = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(words, env=plain, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("command-help", CommandHelp)
