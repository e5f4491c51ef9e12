"""Names of datasets as inputs: a folder, and which of its recordings: ``profiles/?version=1&service=web``."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from perf2x.base.errors import OptionError


class DatasetAddress(Struct, frozen=True):
    """A folder, and the tags that recordings must have."""

    folder: Path
    tags: Mapping[str, str]


def is_dataset(text: str) -> bool:
    """Whether an input is a dataset: a folder with a table of recordings, with or without tags behind it."""
    return not Path(text).is_file() and (Path(folder_of(text)) / "recordings").is_dir()


def parse_address(text: str) -> DatasetAddress:
    """Split an input into folder and tags; OptionError for tags that are not KEY=VALUE."""
    from urllib.parse import unquote_plus

    folder = folder_of(text)
    pairs = [pair for pair in text[len(folder) :].lstrip("?").split("&") if pair]
    for pair in pairs:
        if "=" not in pair.strip("="):
            raise OptionError(f"{text}: expected KEY=VALUE behind the question mark, not {pair!r}")
    named = (pair.partition("=") for pair in pairs)
    return DatasetAddress(Path(folder), {unquote_plus(key): unquote_plus(value) for key, _, value in named})


def folder_of(text: str) -> str:
    """The part of an input in front of its tags; a folder may have a question mark in its own name."""
    return text if Path(text).exists() else text.partition("?")[0]
