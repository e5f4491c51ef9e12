"""Reports of features on their work."""

from perf2x.base.frozen_struct import Frozen


class StepReport(Frozen):
    """Figures of one feature; those of several recordings are added field by field (kernel/merge_reports.py)."""

    NAME = ""
    """Its key in JSON; empty: not reported."""

    def line(self) -> str:
        """Return a sentence for the summary; empty: none."""
        return ""
