"""What a feature reports of its work."""

from typing import ClassVar

from msgspec import Struct


class StepReport(Struct, frozen=True):
    """Figures; those of several recordings are added up field by field (pipeline/merge_reports.py)."""

    NAME: ClassVar[str]
    """What they are called in JSON."""

    def line(self) -> str:
        """A sentence for the summary."""
        raise NotImplementedError
