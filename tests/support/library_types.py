"""Writes the library's keyword arguments for type checkers: ``python -m tests.support.library_types``.

They are the fields of LoadOptions and of the features' settings, and the names of the built-in formats; the file holds
nothing that is not declared there.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import perf2x
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.feature import feature_settings
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.registry import EMITTERS, is_built_in
from perf2x.model.setting import hints_of, setting_of

FILE = Path(perf2x.__file__).with_name("library_types.py")
OF_READ = ("value", "data_objects", "latency")
"""Fields for which ``top`` and ``diff`` have keywords of their own."""
OTHERS = {"symbols", "times_optional", "every_event", "features"}
"""A keyword of its own, what a format decides, and what only commands look at."""
HEAD = '''"""Types of the library's keyword arguments, written by ``python -m tests.support.library_types``."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from perf2x.model.annotate_options import ListingOptions
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.format_features import CodeRequest
from perf2x.stitcher.call_graph_options import CallGraphOptions

FormatName = Literal[
{formats}
]
"""Names of the built-in formats; for a plugin's format, pass an object that ``perf2x.plugins.build_emitter`` made."""


class TableOptions(TypedDict, total=False):
    """Keyword arguments of ``top`` and ``diff``; LoadOptions and the settings of features have the defaults."""

{table}

class ReadOptions(TableOptions, total=False):
    """Keyword arguments of ``read`` and ``convert``: all of ``TableOptions``, and these."""

{read}'''


def library_types() -> str:
    """The whole file."""
    fields = {name: text for kind in (LoadOptions, *feature_settings()) for name, text in _fields(kind)}
    table, read = (
        "".join(text for name, text in fields.items() if (name in OF_READ) == is_read and name not in OTHERS)
        for is_read in (False, True)
    )
    names = [name for name, one in entry_points_by_name(EMITTERS).items() if is_built_in(one)]
    return HEAD.format(formats="\n".join(f'    "{name}",' for name in names), table=table, read=read)


def _fields(kind: Any) -> Iterator[tuple[str, str]]:
    """Name, and declaration with docstring, of each field."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.islower():
            hint = node.annotation
            if isinstance(hint, ast.Subscript) and ast.unparse(hint.value) == "Annotated":
                assert isinstance(hint.slice, ast.Tuple)
                hint = hint.slice.elts[0]
            setting = setting_of(hints_of(kind)[node.target.id])
            text = setting.help if setting is not None else ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = " ".join(str(after.value.value).split())
            said = textwrap.fill(f'"""{text}"""', 120, initial_indent="    ", subsequent_indent="    ")
            kind_of_it = ast.unparse(hint).replace("'", '"')
            yield node.target.id, f"    {node.target.id}: {kind_of_it}\n{said}\n"


if __name__ == "__main__":
    FILE.write_text(library_types())
