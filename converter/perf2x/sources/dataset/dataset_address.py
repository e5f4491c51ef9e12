"""Parses the address of a dataset: a folder or URL, and optional tags, as in ``profiles/?version=1&service=web``."""

from collections.abc import Mapping
from pathlib import Path

from perf2x.base.files.remote_files import is_address
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError


class DatasetAddress(Frozen):
    """Folder or URL of a dataset, and tags that select recordings; ``date`` is the day on which a recording began."""

    root: str
    tags: Mapping[str, str]


def is_dataset(text: str) -> bool:
    """Return whether an input is any URL, or a folder with a table of recordings; tags may follow."""
    return is_address(text) or (not Path(text).is_file() and (Path(_root_of(text)) / "recordings").is_dir())


def parse_address(text: str) -> DatasetAddress:
    """Split an input into folder or URL, and tags. Raises OptionError for tags that are not KEY=VALUE."""
    from urllib.parse import unquote, unquote_plus, urlsplit

    root = _root_of(text)
    pairs = [pair for pair in text[len(root) :].lstrip("?").split("&") if pair]
    for pair in pairs:
        if "=" not in pair.strip("="):
            raise OptionError(f"{text}: expected KEY=VALUE after the question mark, not {pair!r}")
    tags = (pair.partition("=") for pair in pairs)
    root = unquote(urlsplit(root).path) if root.startswith("file://") else root
    return DatasetAddress(root, {unquote_plus(key): unquote_plus(value) for key, _, value in tags})


def _root_of(text: str) -> str:
    """The name of an existing folder may contain a question mark."""
    return text if not is_address(text) and Path(text).exists() else text.partition("?")[0]
