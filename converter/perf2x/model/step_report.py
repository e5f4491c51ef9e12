"""The base class of features' reports, for the summary and JSON."""

from perf2x.base.frozen_struct import Frozen


class StepReport(Frozen):
    """Figures on one feature's work; those of several recordings are added up (kernel/merge_reports.py)."""

    NAME = ""
    """Key of the report in JSON; empty: JSON does not contain the report."""

    def line(self) -> str:
        """Write a sentence for the summary; empty if there is nothing to say."""
        return ""
