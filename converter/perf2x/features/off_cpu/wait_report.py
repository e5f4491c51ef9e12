"""Figures on waits for the summary, apart from the modules that compute them, to save imports."""

from perf2x.model.number_format import plural
from perf2x.model.step_report import StepReport


class WaitReport(StepReport):
    """The waits of ``--off-cpu``, before filters by function name are applied; times are in nanoseconds."""

    NAME = "waits"

    waits: int
    waited_ns: int
    preempted_ns: int
    nameless_ns: int
    """Time of waits whose stack is unknown."""
    near_ns: int = 0
    """Maximum age of a sample whose stack a blocked thread's wait gets; 0 if waits have stacks of their own."""
    open_ns: int = 0
    """Time of waits that were not over at the end of the recording."""

    def line(self) -> str:
        """Return number and time of waits, and how much of the time was preempted, without a stack, or open."""
        parts = [f"{plural(self.waits, 'wait')} of {self.waited_ns / 1e9:.3f} s"]
        if self.preempted_ns:
            parts.append(f"{self.preempted_ns / 1e9:.3f} s preempted")
        if self.nameless_ns:
            reason = f"(no sample at most {self.near_ns / 1e6:.3g} ms before)"
            parts.append(f"{self.nameless_ns / 1e9:.3f} s without a stack {reason}")
        if self.open_ns:
            parts.append(f"{self.open_ns / 1e9:.3f} s in waits that the recording ends in")
        return ", ".join(parts)
