"""``perf2x fleet maintain``: merges a dataset's small files, and removes what is old or left over."""

from time import time_ns
from typing import Annotated

from perf2x.cli.messages import print_message
from perf2x.cli.options.dataset_options import DryRun, WholeDataset, parse_age
from perf2x.cli.options.input_options import Quiet
from perf2x.model.number_format import plural
from perf2x.model.setting import Setting

OlderThan = Annotated[
    str | None, Setting("Remove recordings that started longer ago than AGE: 12h, 30d, 8w.", metavar="AGE")
]


def fleet_maintain(
    dataset: WholeDataset, *, older_than: OlderThan = None, dry_run: DryRun = False, quiet: Quiet = False
) -> None:
    """Keep a dataset in order: merge small files, remove old recordings (--older-than) and what killed commands left.

    This is OPTIMIZE, DELETE and VACUUM of Delta Lake. It also deletes files that have not been part of the dataset for
    a day. The command may be killed at any moment, and run while recordings are added.

    ::

        perf2x fleet maintain profiles/
        perf2x fleet maintain profiles/ --older-than 30d
    """
    from perf2x.fleet.remove_and_maintain import maintain

    now_ns = time_ns()
    # --older-than refuses minutes, because 3m might be meant as three months
    cutoff_ns = None if older_than is None else now_ns - parse_age("--older-than", older_than, "12h, 30d or 8w")
    totals = maintain(dataset, cutoff_ns, now_ns, dry_run=dry_run)
    if quiet:
        return
    if cutoff_ns is not None or dry_run:
        verb = "would be removed" if dry_run else "removed"
        print_message(f"{dataset}: {totals.removed:,} of {plural(totals.total, 'recording')} {verb}")
    if not dry_run:
        print_message(
            f"{dataset}: {plural(totals.files_before, 'file')} became {totals.files_after:,}, "
            f"{plural(totals.vacuumed, 'unused file')} deleted"
        )
