"""``perf2x fleet repair``: a dataset without what is damaged."""

import typer

from perf2x.cli.commands.fleet.fleet_check import print_damage
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import Folder, find_dataset, now
from perf2x.model.number_format import plural
from perf2x.model.printable_text import plain


@with_groups
def fleet_repair(dataset: Folder, *, quiet: Quiet = False) -> None:
    """Leave out of a dataset what is damaged, and say what is lost.

    That is what fleet check finds, and recordings whose rows are not all there. The sources of these are printed, one a
    line: add them again with fleet ingest --list. The command may be killed at any moment; run it again.
    """
    from perf2x.fleet.upkeep.check_dataset import repair

    damage = repair(find_dataset(dataset), now())
    for source in damage.lost.values():
        typer.echo(plain(source))
    if quiet:
        return
    print_damage(dataset, damage)
    lost = damage.found.get("recordings without their own row", {})
    if lost:
        print_message(f"{dataset}: lost, and their sources are not known: {', '.join(lost)}")
    if damage.less["symbols"]:
        print_message(f"{dataset}: names of objects are lost; perf2x fleet symbolize looks them up again")
    print_message(f"{dataset}: {plural(len(damage.lost), 'recording')} must be added again")
