"""Other tags for recordings that a dataset has: their rows are written anew, and one commit takes all of them."""

from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Any

from perf2x.base.errors import FormatError, OptionError
from perf2x.model.printable_text import as_recorded, printable
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import arrow, schema_of
from perf2x.storage.dataset.file_names import name_of_change
from perf2x.storage.dataset.listed_files import may_have
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.read.read_dataset import RecordingRow, has_tags
from perf2x.storage.dataset.table_log import commit
from perf2x.storage.dataset.write.write_recording import write_file


def change_tags(
    storage: Storage, tags: Mapping[str, str], wanted: Mapping[str, str], names: Collection[str] = ()
) -> tuple[int, int]:
    """Set tags of the recordings that have the ``wanted`` ones, of those in ``names`` if there are any; "" removes one.

    A name is a path, its last part or an id. Returns the number of recordings, and how many of them changed.
    OptionError for a tag that names folders, FormatError when there is no such recording or a file is damaged,
    OutputError when one cannot be written, or another command changed the dataset meanwhile.
    """
    log = storage.log("recordings")
    for key in sorted(tags.keys() & {*log.partition}):
        raise OptionError(f"{key}={tags[key]}: {key} names folders of this dataset, where its recordings lie for good")
    given = {printable(key): printable(value) for key, value in tags.items()}
    found, count, changes = set[str](), 0, []
    for name, file in sorted(log.files.items()):
        if may_have(file, wanted):
            table = read_stored(storage, f"recordings/{name}", "recordings")
            rows = table.select(["recording", "source", "start_ns", "tags"]).to_pylist()
            chosen = [_is_chosen(row, wanted, names) for row in rows]
            found.update(*(_names_of(row) for row, is_chosen in zip(rows, chosen, strict=True) if is_chosen))
            count += sum(chosen)
            before = [dict(row["tags"]) for row in rows]
            after = [_changed(own, given) if is_chosen else own for own, is_chosen in zip(before, chosen, strict=True)]
            if after != before:
                changes.append((file, table, after, sum(map(dict.__ne__, before, after))))
    missing = sorted(set(names) - found)
    if missing or not count:
        which = ", ".join(missing or [f"{key}={value}" for key, value in wanted.items()])
        raise FormatError(f"{storage.root}: no recording {which and f'with {which} '}is in this dataset")
    new = []
    for file, table, after, _ in changes:
        at = table.schema.get_field_index("tags")
        column = schema_of("recordings").field(at)
        texts = [sorted(own.items()) for own in after]
        rows = table.set_column(at, column, arrow().array(texts, column.type))
        name = name_of_change(file.name, text_id(file.name, repr(texts)).hex())
        new.append(write_file(storage, "recordings", name, [rows], dict(file.parts)))
    commit(storage.root, "recordings", log.partition, new, [file for file, *_ in changes], since=log.version)
    return count, sum(changed for *_, changed in changes)


def _changed(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in {**own, **given}.items() if value or key not in given}


def _is_chosen(row: dict[str, Any], wanted: Mapping[str, str], names: Collection[str]) -> bool:
    return has_tags(RecordingRow("", "", row), wanted) and (not names or not _names_of(row).isdisjoint(names))


def _names_of(row: dict[str, Any]) -> set[str]:
    source = as_recorded(row["source"])
    return {row["recording"], source, PurePath(source).name}
