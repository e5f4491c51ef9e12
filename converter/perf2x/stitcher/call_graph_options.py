"""Options for making stacks from stack dumps and branch records."""

from typing import Annotated

from perf2x.base.frozen_struct import Frozen
from perf2x.model.plugin_options import SAMPLES
from perf2x.model.setting import Setting

# frames per sample; perf shows 127 (kernel.perf_event_max_stack)
MAX_DEPTH = 1024


class CallGraphOptions(Frozen):
    """Options for ``--call-graph dwarf`` and ``--call-graph lbr``."""

    PANEL = "Stacks"

    max_depth: int = MAX_DEPTH
    stitch_lbr: Annotated[
        bool,
        Setting(
            "For --call-graph lbr: complete stacks from the previous sample of the thread.",
            rare=True,
            group=SAMPLES,
            asks="stitching",
        ),
    ] = False
    """Corresponds to perf's ``--stitch-lbr``."""
