"""The options that say how stacks are put together."""

from typing import Annotated

from perf2x.classes import dataclass
from perf2x.cli.parameters import Option
from perf2x.model.errors import OptionError

_PANEL = "Stacks"
MISSING = ("mark", "kernel-only", "drop")


@dataclass(frozen=True, slots=True)
class StitchFlags:
    """What the reader of a recording may choose about incomplete stacks."""

    deferred_missing: Annotated[
        str,
        Option(
            metavar="mark|kernel-only|drop",
            help="Samples whose deferred user stack is not in the file.",
            panel=_PANEL,
        ),
    ] = "mark"
    stitch_lbr: Annotated[
        bool,
        Option(
            "--stitch-lbr",
            help="--call-graph lbr: complete stacks from the thread's previous sample.",
            panel=_PANEL,
        ),
    ] = False
    jobs: Annotated[
        int,
        Option(
            at_least=0,
            metavar="N",
            shown_default="as many cores as pay",
            help="Processes that read samples and look up names; the result is the same.",
        ),
    ] = 0
    merge_callchains: Annotated[
        bool,
        Option(
            "--merge-callchains/--no-merge-callchains",
            help="Join deferred user stacks to the samples that wait for them.",
            panel=_PANEL,
        ),
    ] = True

    def check(self) -> None:
        """OptionError for a value that there is not."""
        if self.deferred_missing not in MISSING:
            raise OptionError(f"--deferred-missing {self.deferred_missing}: it is one of {', '.join(MISSING)}")
