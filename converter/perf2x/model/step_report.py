"""Reports of features on their work."""

from typing import ClassVar

from perf2x.base.frozen import Frozen


class StepReport(Frozen):
    """Figures; those of several recordings are added up field by field (kernel/merge_reports.py)."""

    NAME: ClassVar[str] = ""
    """Key in JSON; empty: it is for the feature alone."""

    def line(self) -> str:
        """A sentence for the summary; empty: none."""
        return ""
