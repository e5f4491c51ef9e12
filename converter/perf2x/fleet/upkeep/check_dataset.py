"""Damage in a dataset: files that are not as the logs have them, and rows that do not belong together."""

from collections.abc import Collection, Mapping
from posixpath import dirname

from msgspec import Struct, field

from perf2x.base.errors import FormatError, NotReadError
from perf2x.fleet.upkeep.remove_recordings import DAY, leave_out
from perf2x.model.printable_text import as_recorded
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import LOG, PARTITIONED, SUFFIX, TABLES
from perf2x.storage.dataset.file_names import recording_of
from perf2x.storage.dataset.parquet_files import read_groups
from perf2x.storage.dataset.table_log import DataFile, TableLog


class _Row(Struct, frozen=True):
    """A recording as its own row has it."""

    file: str
    source: str
    samples: int


class Damage(Struct):
    """What is wrong with a dataset at one moment."""

    logs: Mapping[str, TableLog]
    whole: dict[str, dict[str, dict[str, _Row | None]]] = field(default_factory=dict)
    """By table and file that can be read, its recordings; with their rows in the table of these."""
    less: dict[str, dict[str, Collection[str] | None]] = field(default_factory=dict)
    """By table and file, the recordings that must be left out of it; None: the file."""
    found: dict[str, dict[str, None]] = field(default_factory=dict)
    """Files and recordings, by what is wrong with them."""
    lost: dict[str, str] = field(default_factory=dict)
    """Sources of recordings whose rows are not all there, by id."""
    unnamed: int = 0
    """Files that no log names."""

    def tell(self, kind: str, name: str) -> None:
        """Add a finding."""
        self.found.setdefault(kind, {})[name] = None


def check(storage: Storage, now_ns: int) -> Damage:
    """Read all files of a dataset, and compare them with the logs and with each other.

    Files of recordings without a row are no damage for a day: they are being added, or a kill left them. FormatError
    when a log is damaged, a store does not answer, or files are of another version.
    """
    settled = storage.log("recordings").files
    damage = Damage({table: storage.log(table) for table in TABLES})  # recordings last: merged rows have theirs by then
    for table in TABLES:
        _check_files(storage, table, damage)
    found = damage.whole["recordings"].values()
    rows = {ident: row for file in reversed(found) for ident, row in file.items() if row is not None}
    damage.lost = _lost(damage, {ident: row for ident, row in rows.items() if row.file in settled})
    for source in damage.lost.values():
        damage.tell("recordings without all their rows", source)
    for table in PARTITIONED:
        _check_recordings(damage, table, rows, now_ns - DAY)
    return damage


def repair(storage: Storage, now_ns: int) -> Damage:
    """Take what is damaged from a dataset, and recordings of which rows are lost; of doubled ones the first stays.

    Errors as of ``check``; OutputError when a table cannot be written, or another command changed it meanwhile.
    """
    damage = check(storage, now_ns)
    for table in reversed(TABLES):
        leave_out(storage, table, damage.logs[table], damage.less[table])
    return damage


def _check_files(storage: Storage, table: str, damage: Damage) -> None:
    files, sizes = damage.logs[table].files, storage.sizes(table)
    damage.whole[table], damage.less[table] = {}, {}
    damage.unnamed += sum(name.endswith(SUFFIX) and not name.startswith(LOG) and name not in files for name in sizes)
    for name, file in sorted(files.items()):
        kind = "damaged files"
        try:
            if sizes.get(name) == file.size:
                damage.whole[table][name] = _recordings(storage, table, file)
                continue
            kind = "files of another size than their log has" if name in sizes else "missing files"
        except NotReadError:
            raise
        except FormatError:
            pass
        damage.tell(kind, f"{table}/{name}")
        damage.less[table][name] = None


def _recordings(storage: Storage, table: str, file: DataFile) -> dict[str, _Row | None]:
    """Ids of recordings in a file, with their rows if it has them; FormatError when it is damaged."""
    found: dict[str, _Row | None] = {}
    rows = 0
    for part in read_groups(storage, f"{table}/{file.name}", table):
        rows += len(part)
        if table == "recordings":
            for row in part.select(["recording", "source", "samples"]).to_pylist():
                found[row["recording"]] = _Row(file.name, as_recorded(row["source"]), row["samples"])
        else:
            found |= dict.fromkeys(part.column(0).unique().to_pylist())
    if rows != (file.rows or rows) or not all(map(file.may_hold, found)):
        raise FormatError(f"{file.name}: other rows than its log has")
    return found


def _lost(damage: Damage, rows: Mapping[str, _Row]) -> dict[str, str]:
    """Sources of recordings without samples that they count, or that may have had rows in a damaged file."""
    present = {table: set[str]().union(*damage.whole[table].values()) for table in PARTITIONED}
    damaged: dict[str, list[tuple[str, DataFile]]] = {}
    for table in PARTITIONED:
        for name in damage.less[table]:
            damaged.setdefault(dirname(name), []).append((table, damage.logs[table].files[name]))
    return {
        ident: row.source
        for ident, row in sorted(rows.items())
        if (row.samples and ident not in present["samples"])
        or any(
            ident not in present[table] and recording_of(file.name) in (None, ident) and file.may_hold(ident)
            for table, file in damaged.get(dirname(row.file), ())
        )
    }


def _check_recordings(damage: Damage, table: str, rows: Mapping[str, _Row], before_ns: int) -> None:
    """Tell rows that are there twice, or have no recording, and have them left out with those of lost ones."""
    seen: set[str] = set()
    for name, found in damage.whole[table].items():
        idents, file = found.keys(), damage.logs[table].files[name]
        is_new = recording_of(name) and name not in damage.logs["recordings"].files and file.modified_ns > before_ns
        kinds = {
            "recordings in two files of a table": idents & seen,
            "recordings without their own row": set() if is_new else idents - rows.keys(),
        }
        for kind, some in kinds.items():
            for ident in sorted(some):
                damage.tell(kind, ident)
        gone = set().union(idents & damage.lost.keys(), *kinds.values())
        if gone:
            damage.less[table][name] = gone if gone < idents else None
        seen |= idents
