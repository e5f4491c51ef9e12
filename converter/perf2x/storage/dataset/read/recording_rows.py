"""All that a dataset has of one recording, as it was read, before its profile is restored."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8
from perf2x.storage.dataset.id_index import IdIndex

if TYPE_CHECKING:
    import pyarrow


class NodeTable(Struct, frozen=True):
    """Nodes by number."""

    index: IdIndex
    """Their distinct ids."""
    parent: I64
    """(nodes,) −1 for outermost frames."""
    place: U8
    """(nodes, 16) the id of each node's place."""


class PlaceTable(Struct, frozen=True):
    """Places that may be many recordings'."""

    rows: "pyarrow.Table"
    index: IdIndex


class RecordingRows(Struct, frozen=True):
    """All that a dataset has of one recording."""

    source: str
    """The file of its row, for messages."""
    row: dict[str, Any]
    """Its row in the table of recordings."""
    samples: "pyarrow.Table"
    mappings: "pyarrow.Table"
    nodes: NodeTable
    places: PlaceTable
