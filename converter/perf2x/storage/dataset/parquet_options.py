"""Options of ``--to parquet``."""

from dataclasses import dataclass
from typing import ClassVar

from perf2x.model.plugin_options import SAMPLES, START_TIME, TAGS, Needs, option

FORMAT = "parquet"
"""Name of the format, which is a folder and takes many recordings: no emitter, which writes one profile to one file."""


@dataclass(frozen=True, slots=True)
class Parquet:
    """Dataset, a folder that recordings are added to as tables: for DuckDB, Polars, Spark and perf2x itself."""

    suffix: ClassVar[str] = "/"

    timeline: bool = option(False, "a row for each sample, with time and CPU; no: equal samples summed")
    partition: tuple[str, ...] = option((), "tags that name folders, separated by commas; date is the day of the start")

    @property
    def needs(self) -> Needs:
        """Stitched samples; names are bound and stacks chosen when the dataset is read."""
        return Needs(
            timeline=self.timeline,
            columns=frozenset({"cgroup"}),
            honours=frozenset({SAMPLES, TAGS, START_TIME}),
            why="it is given when the dataset is read",
        )
