"""Whoever writes a plugin imports from ``perf2x.plugins`` alone, however the packages behind it are arranged."""

import ast

import perf2x.plugins
from tests.support.recordings import ROOT


def test_every_public_name_is_there() -> None:
    assert all(hasattr(perf2x.plugins, name) for name in perf2x.plugins.__all__)
    assert not hasattr(perf2x.plugins, "Nothing")


def test_the_example_imports_from_nowhere_else() -> None:
    for path in (ROOT / "examples" / "plugin").glob("*.py"):
        imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        ours = {node.module for node in imports if node.module and node.module.startswith("perf2x.")}
        assert ours <= {"perf2x.plugins", "perf2x.testing"}, path.name
