"""The base class of features' reports: figures on what a feature did, for the summary and JSON."""

from perf2x.base.frozen_struct import Frozen


class StepReport(Frozen):
    """What one feature did; reports on several recordings are added field by field (kernel/merge_reports.py)."""

    NAME = ""
    """Key of the report in JSON; empty: JSON does not contain the report."""

    def line(self) -> str:
        """Return a sentence for the summary; empty if there is nothing to say."""
        return ""
