"""Names of a dataset's files, which tell what they hold.

A recording's files are named after its id, so that one that comes again has the same files::

    profiles/nodes/service=web/date=2026-11-22/0a1b….parquet
    profiles/samples/service=web/date=2026-11-22/0a1b….parquet
    profiles/recordings/service=web/date=2026-11-22/0a1b….parquet    committed last: then the recording is there

The names of unfinished ones have their session, too (``0a1b…-7c8d….parquet``): whoever adds more of it finds them by
the list of files alone. A row that was written anew has another name (``0a1b…--9e0f….parquet``, ``name_of_change``).
"""

from collections.abc import Mapping
from urllib.parse import quote

from perf2x.storage.dataset.content_ids import WIDTH
from perf2x.storage.dataset.dataset_schema import SUFFIX

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for the folder of rows without a value."""
MERGED = "merged-"
"""Begins names of files that were put together; it sorts behind the names of recordings."""


def name_of_recording(values: Mapping[str, str | None], recording: bytes, session: bytes | None) -> str:
    """Name of the files of a recording with these values of the columns that name folders.

    ``session`` is that of an unfinished one.
    """
    state = f"{recording.hex()}-{session.hex()}" if session else recording.hex()
    return f"{_folder_of(values)}/{state}{SUFFIX}"


def _folder_of(values: Mapping[str, str | None]) -> str:
    """Folders ``KEY=VALUE``, values escaped as in addresses."""
    return "/".join(
        f"{quote(key, safe='')}={quote(value or '', safe=' ') or _NO_VALUE}" for key, value in values.items()
    )


def recording_of(name: str) -> str | None:
    """Id of the recording that a file is named after, None for files that were put together."""
    return _id_in(_stem(name).partition("-")[0])


def session_of(name: str) -> str | None:
    """Session of the unfinished recording that a file is named after, None for all others."""
    return _id_in((*_stem(name).split("-"), "")[1])


def name_of_change(name: str, digest: str) -> str:
    """Name of the file that takes the place of another with rows that differ: of the same recording and session."""
    folder, _, _ = name.rpartition("/")
    ident, session = (*_stem(name).split("-"), "")[:2]
    return f"{folder}/{ident}-{session}-{digest}{SUFFIX}"


def is_merged(name: str) -> bool:
    """Whether a file was put together out of those of recordings."""
    return name.rpartition("/")[2].startswith(MERGED)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def _id_in(text: str) -> str | None:
    is_id = len(text) == 2 * WIDTH and all(character in "0123456789abcdef" for character in text)
    return text if is_id else None
