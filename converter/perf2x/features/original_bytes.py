"""Adds the recording's bytes (of a compressed file, the unpacked ones) to its profile, for formats that embed them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.errors import OptionError, SettingError
from perf2x.kernel.feature import Feature, with_profile
from perf2x.model.format_features import OriginalSettings

if TYPE_CHECKING:
    from perf2x.base.columnar import U8
    from perf2x.kernel.load_options import LoadContext, LoadOptions
    from perf2x.kernel.load_result import Loaded


def _check(options: "LoadOptions", files: Sequence[str]) -> None:
    size_limit = options.of(OriginalSettings).original  # in bytes; 0: do not embed it
    if not size_limit:
        return
    if options.hiding_setting:
        raise SettingError("the original recording reveals the names that ", options.hiding_setting, " hides")
    if len(files) != 1 or not Path(files[0]).is_file():
        raise OptionError("the original recording must be one regular file, not several files, a directory or a pipe")
    size = len(_bytes_of(files))
    if size > size_limit:
        raise OptionError(f"the original recording has {size:,} bytes, more than the requested {size_limit:,}")


def _bytes_of(files: Sequence[str]) -> "U8":
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.reader.containers.input_file import map_input

    return map_input(files[0], Diagnostics()).data


def _add_bytes(loaded: "Loaded", context: "LoadContext") -> "Loaded":
    if not context.options.of(OriginalSettings).original:
        return loaded
    return with_profile(loaded, replace(loaded.profile, original=_bytes_of(context.files).tobytes()))


FEATURE = Feature(settings=OriginalSettings, finish=_add_bytes, check=_check)
