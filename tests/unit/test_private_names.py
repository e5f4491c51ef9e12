"""A name without an underscore tells the reader that other modules use it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import perf2x
from tests.support.recordings import ROOT

_PACKAGE = Path(perf2x.__file__).parent
_OF_OTHERS = ("perf2x.base.abi.", "perf2x.base.binaries.dwarf.dwarf_numbers", "perf2x.emitters.pprof.profile_pb2")
"""Modules that write down names of the kernel, perf, DWARF and pprof, used or not."""
_TEXTS = ("README.md", "pyproject.toml", "docs/*.md", "converter/perf2x/**/*.js")


def _defined(statement: ast.stmt) -> list[str]:
    """Public names that a statement of a module defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            names = [name]
        case ast.Assign(targets=targets):
            nodes = (node for target in targets for node in ast.walk(target))
            names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            names = [name]
        case _:
            names = []
    return [name for name in names if not name.startswith("_")]


def _defined_at_all(text: str) -> list[str]:
    """Public names at the beginnings of a module's lines: those that it defines. Parsing all modules takes longer."""
    heads = re.findall(r"^(?:class |def |(?=[\w, ]+(?:: | = )))(\w+(?:, \w+)*)", text, re.MULTILINE)
    return [name for head in heads for name in re.findall(r"\w+", head) if not name.startswith("_")]


def _annotations(node: ast.AST) -> Iterator[str]:
    """Words of the types that a public function or class shows its users: parameters, results, fields, bases."""
    if isinstance(node, ast.ClassDef):
        yield from (
            word for base in (*node.bases, *node.decorator_list) for word in re.findall(r"\w+", ast.unparse(base))
        )
        yield from (word for part in node.body for word in _annotations(part))
    elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name.startswith("__")):
        args = node.args
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
        for shown in (*(arg.annotation for arg in given), node.returns):
            yield from re.findall(r"\w+", ast.unparse(shown)) if shown else ()
    elif isinstance(node, ast.AnnAssign):
        yield from re.findall(r"\w+", ast.unparse(node.annotation))


def _shown_types(body: list[ast.stmt], used: set[str]) -> set[str]:
    """Names in the annotations of what others use, in the annotations of those, and so on; aliases give their parts."""
    shown: set[str] = set()
    todo = used
    while todo:
        shown |= todo
        found: set[str] = set()
        for statement in body:
            if not shown.isdisjoint(_defined(statement)):
                found |= set(_annotations(statement))
                if isinstance(statement, ast.Assign) and not all(name.isupper() for name in _defined(statement)):
                    found |= set(re.findall(r"\w+", ast.unparse(statement.value)))
        todo = (found & {name for statement in body for name in _defined(statement)}) - shown
    return shown


def _module(path: Path) -> str:
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _used(text: str) -> Iterator[tuple[str, str]]:
    """Names that a source takes from modules, by an import or as an attribute of the imported module.

    As expressions find them: parsing a thousand sources takes four seconds.
    """
    modules = set(re.findall(r"^ *import (perf2x[\w.]+)", text, re.MULTILINE))
    for module, names in re.findall(r"^ *from (perf2x[\w.]*) import (\([^)]*\)|.*)", text, re.MULTILINE):
        yield from ((module, name) for name in re.findall(r"\w+", names))
        modules |= {f"{module}.{name}" for name in re.findall(r"\w+", names)}
    strings = re.findall(r"[\"']([\w.:]+)[\"']", text)
    modules |= {f"perf2x.{text.removeprefix('perf2x.')}" for text in strings if "." in text}
    attributes = {*re.findall(r"\.(\w+)", text), *strings}
    yield from ((module, name) for text in strings for module, _, name in (text.replace(":", ".").rpartition("."),))
    yield from ((module, name) for module in modules for name in attributes)


def test_public_names_are_used_by_other_modules() -> None:
    sources = {path: path.read_text() for path in _PACKAGE.rglob("*.py")}
    others = [path.read_text() for folder in ("tests", "docs", "examples") for path in (ROOT / folder).rglob("*.py")]
    used = {pair for text in (*sources.values(), *others) if "perf2x" in text for pair in _used(text)}
    for text in (path.read_text() for glob in _TEXTS for path in ROOT.glob(glob)):
        words = set(re.findall(r"\w+", text))
        used |= {(module, word) for module in re.findall(r"perf2x(?:\.\w+)+", text) for word in words}
    lonely = []
    for path, text in sources.items():
        module = _module(path)
        if module.startswith(_OF_OTHERS) or all((module, name) in used for name in _defined_at_all(text)):
            continue
        body = ast.parse(text).body
        mine = {name for statement in body for name in _defined(statement) if (module, name) in used}
        assigned = (line for line in body if isinstance(line, ast.Assign))
        mine.update(*(ast.literal_eval(line.value) for line in assigned if ast.unparse(line.targets[0]) == "__all__"))
        mine |= {path.stem} if module.startswith("perf2x.cli.commands.") else set()
        shown = _shown_types(body, mine)
        for statement in body:
            names = _defined(statement)
            if names and shown.isdisjoint(names):
                lonely += [f"{module}.{name}" for name in names]
    assert not lonely, "used only in their own modules, without an underscore"
