"""All settings of a load, as they are declared."""

from collections.abc import Iterator
from typing import get_type_hints

from msgspec import Struct

from perf2x.kernel.feature import feature_settings
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Setting, setting_of, struct_in


def settings(kind: type[Struct] = LoadOptions, above: str = "") -> Iterator[tuple[str, Setting]]:
    """Dotted names and declarations, those of features without dots."""
    for field, hint in get_type_hints(kind, include_extras=True).items():
        inner, declared = struct_in(hint), setting_of(hint)
        for one in feature_settings() if field == "features" else (inner,) if inner else ():
            yield from settings(one, "" if field == "features" else f"{above}{field}.")
        if declared is not None:
            yield f"{above}{field}", declared


GROUPED = {name for name, declared in settings() if declared.group}
"""Those that formats may refuse."""
