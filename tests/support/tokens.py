"""Counts the tokens of product Python: ``python -m tests.support.tokens [FOLDER]``.

The measure of the product's size: unlike lines it does not fall when lines are packed. Comments, docstrings, line ends
and indents do not count, nor do generated files.
"""

import ast
import sys
import tokenize
from pathlib import Path

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def tokens(path: Path) -> int:
    """Tokens of one file."""
    source = path.read_text()
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, _WITH_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None
    }
    with path.open("rb") as file:
        return sum(
            token.type not in _LAYOUT | {tokenize.ENCODING} and token.start not in docstrings
            for token in tokenize.tokenize(file.readline)
        )


def product_files(folder: Path) -> list[Path]:
    """Python files below a folder that a person wrote."""
    return [
        path for path in folder.rglob("*.py") if not path.name.endswith(("_pb2.py", "_version.py", "library_types.py"))
    ]


if __name__ == "__main__":
    files = product_files(Path(sys.argv[1] if len(sys.argv) > 1 else "converter/perf2x"))
    print(f"{sum(map(tokens, files)):,} tokens of product Python in {len(files)} files")
