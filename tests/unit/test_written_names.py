"""Names and files in back-quotes, in docstrings, ARCHITECTURE.md and CONTRIBUTING.md, exist.

A word for something of the product is found among the names of its code; ``FOREIGN`` has those of the kernel, of file
formats and of other programs that the code does not use itself.
"""

import ast
import builtins
import keyword
import os
import re
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import perf2x
from tests.support.recordings import ROOT

_PACKAGE = Path(perf2x.__file__).parent
_PAGES = (ROOT / "converter" / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md")
_QUOTED = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"[\w.-]*[\w-]\.(?:py|pyi|js|mjs|md|toml|proto)|(?:[\w.-]+/)+(?:[\w-]+\.\w+)?")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=(?:\(\))?$)")
_USERS_FILE = re.compile(r".*\.(data|so|folded|txt|c|h|dump|rb|html)")
_ALIASES = {"np": "numpy"}
FOREIGN = {
    "kernel and perf": "PERF_SAMPLE_REGS_USER cpu_core cpu_core/cycles/ data.N perf.data_jit_app_cache prev_comm probe "
    "snd_hda user_events xino",
    "ELF": "__dl_iterate_phdr e_phnum e_shstrndx p_ ret sh_ sh_info sh_link XsrSt7is_sameIT_vE5valueE",
    "Go's compiler": "NewGraph createNamedEdgeMap",
    "formats": "arrow_array_stream cat cname endTime libs meta.categories null read_input_file timeDeltas",
    "tools and places": "cdn.jsdelivr.net tsc vX.Y.Z",
    "columns with a name in them": "_after _change_high _change_low self_X self_X_after self_X_before self_X_high "
    "self_X_low self_X_significant self_period_before total_X app2",
}
_FOREIGN = {word for words in FOREIGN.values() for word in words.split()}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Code:
    """Names that the product's modules define and use, and their texts."""

    def __init__(self) -> None:
        """Parse all of them."""
        self.texts: list[tuple[str, str]] = []
        self.modules: dict[str, set[str]] = {}
        self.members: dict[str, set[str]] = {}
        self.bases: dict[str, set[str]] = {}
        self.words = {*dir(builtins), *keyword.kwlist}
        self.strings: list[str] = []
        self.elsewhere: set[str] = set()
        """Words of the page's scripts and of tests, which the two pages may name."""
        for path in sorted(_PACKAGE.rglob("*.py")):
            self._read(path.relative_to(_PACKAGE.parent), ast.parse(path.read_text(encoding="utf-8")))
        for path in _paths():
            if path.endswith(".py" if "/tests/" in path else ".js"):
                self.elsewhere.update(re.findall(r"\w+", Path(path).read_text(encoding="utf-8")))
        self.texts += [(page.name, _FENCE.sub("", page.read_text(encoding="utf-8"))) for page in _PAGES]

    def _read(self, path: Path, tree: ast.Module) -> None:
        parts = path.with_suffix("").parts
        self.words.update(parts)
        named = self.modules.setdefault(".".join(parts[:-1] if parts[-1] == "__init__" else parts), set())
        named.update(_defined(tree.body))
        said = set[int]()
        for node in ast.walk(tree):
            for statement in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    said.add(id(statement.value))
                    self.texts.append((path.as_posix(), str(statement.value.value)))
            if isinstance(node, ast.ClassDef):
                own = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute) and _is_store(part)}
                self.members.setdefault(node.name, set()).update(own, _defined(node.body))
                self.bases.setdefault(node.name, set()).update(
                    re.findall(r"\w+", " ".join(map(ast.unparse, node.bases)))
                )
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                self.strings.append(node.value)
                self.words.update(re.findall(r"\w+", node.value))
            self.words.update(_words(node))

    def of_class(self, name: str) -> set[str]:
        """Members of a class and its bases."""
        bases = self.bases.get(name, set()) - {name}
        return self.members.get(name, set()).union(*map(self.of_class, bases))

    @cached_property
    def all_members(self) -> set[str]:
        """Members of any class."""
        return set().union(*self.members.values())


def _paths() -> Iterator[str]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in {".venv", ".git", "node_modules"}]
        yield from (f"{folder}/{name}".replace(os.sep, "/") for name in (*folders, *files))


def _is_store(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the statements of a module or class define, those of imports included."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.asname or each.name for each in names)
            case ast.If() | ast.Try():
                yield from _defined([*statement.body, *statement.orelse])
            case _:
                stores = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                yield from (node.id for node in stores if isinstance(node.ctx, ast.Store))


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=str(name)) | ast.keyword(arg=str(name)):
            yield name
        case ast.alias(name=name):
            yield from name.split(".")


@pytest.fixture(scope="module")
def code() -> Code:
    return Code()


@cache
def _is_installed(name: str) -> bool:
    """Whether a name leads to something of the standard library or a dependency."""
    head, *rest = name.split(".")
    head = _ALIASES.get(head, head)
    if head == "perf2x" or find_spec(head) is None:
        return False
    found: object = import_module(head)
    for position, part in enumerate(rest, 1):
        path = ".".join([head, *rest[:position]])
        if not hasattr(found, part) and not (hasattr(found, "__path__") and find_spec(path)):
            return False
        found = getattr(found, part, None) or import_module(path)
    return True


def _is_ours(name: str, code: Code) -> bool:
    """Whether a dotted name is a module, something in one, or a member of a class or of what a variable may be."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        tail = "." + ".".join(parts[:size])
        for module, defined in code.modules.items():
            if f".{module}".endswith(tail) and (size == len(parts) or parts[size] in defined):
                return set(parts[size + 1 :]) <= code.all_members
    if parts[0] in code.members:
        return parts[1] in code.of_class(parts[0]) and set(parts[2:]) <= code.all_members
    return parts[0] in code.words and set(parts[1:]) <= code.all_members


def _quoted(text: str) -> set[str]:
    return {" ".join(quoted.split()) for _, quoted in _QUOTED.findall(text)}


def test_files_exist(code: Code) -> None:
    files = "".join(f"{path}\n" for path in _paths())
    named = {(where, name) for where, text in code.texts for name in _quoted(text) if _FILE.fullmatch(name)}
    assert len(named) > 100
    assert {pair for pair in named if f"/{pair[1].rstrip('/')}\n" not in files and pair[1] not in _FOREIGN} == set()


def test_dotted_names_exist(code: Code) -> None:
    literals = {*code.strings, *_FOREIGN, *re.findall(r'"([\w.]+)"', (ROOT / "pyproject.toml").read_text())}
    literals |= {path.rpartition("/")[2] for path in _paths()}
    missing = set()
    for where, text in code.texts:
        for name in (match[0] for quoted in _quoted(text) if (match := _NAME.match(quoted)) and "." in match[0]):
            known = name in literals or _FILE.fullmatch(name) or _USERS_FILE.fullmatch(name) or _is_installed(name)
            if not known and not _is_ours(name, code):
                missing.add((where, name))
    assert missing == set()


def test_single_names_exist(code: Code) -> None:
    single = {(where, match[0]) for where, text in code.texts for quoted in _quoted(text)
              if (match := _NAME.match(quoted)) and "." not in match[0]}  # fmt: skip
    assert len(single) > 500
    missing = {pair for pair in single if pair[1] not in code.words | _FOREIGN}
    ends = "\n".join(sorted(code.words | code.elsewhere)) + "\n"
    assert {pair for pair in missing if not pair[0].endswith(".md") or f"{pair[1]}\n" not in ends} == set()
