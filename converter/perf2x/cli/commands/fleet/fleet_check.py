"""``perf2x fleet check``: a dataset is looked over."""

from typing import TYPE_CHECKING

from perf2x.base.errors import FormatError
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import Folder, find_dataset, now
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.fleet.upkeep.check_dataset import Damage


@with_groups
def fleet_check(dataset: Folder, *, quiet: Quiet = False) -> None:
    """Find damage in a dataset: files that are missing, cut or damaged, and rows that do not belong together.

    Every file is read. Each kind of damage is a line; then the exit code is 1.
    """
    from perf2x.fleet.upkeep.check_dataset import check

    damage = check(find_dataset(dataset), now())
    if not quiet:
        print_damage(dataset, damage)
    if damage.found:
        raise FormatError(f"{dataset}: damaged; perf2x fleet repair leaves out what is")
    if not quiet:
        files = sum(len(log.files) for log in damage.logs.values())
        recordings = sum(map(len, damage.whole["recordings"].values()))
        print_message(f"{dataset}: no damage in {plural(files, 'file')} of {plural(recordings, 'recording')}")


def print_damage(dataset: str, damage: "Damage") -> None:
    """Print each kind with its number and the first of its kind."""
    for kind, names in damage.found.items():
        print_message(f"{dataset}: {kind}: {len(names):,} ({next(iter(names))}{', …' if len(names) > 1 else ''})")
    if damage.unnamed:
        print_message(f"{dataset}: files that no log names: {damage.unnamed:,} (harmless; fleet gc removes them)")
