"""perf2x convert --to tree-json, --to tree-csv: all stacks as one tree. Two output formats in seventy lines.

``tree-json`` is the nested form that d3-flame-graph draws, ``tree-csv`` the nested set of Grafana's flame graph panel.
"""

import csv
import io
import json
from collections import Counter
from typing import Annotated, BinaryIO

from perf2x.plugins import Format, Needs, Profile, Setting


class TreeCsv(Format):
    """Grafana's nested set: a row for each box of a flame graph, callers first."""

    suffix = ".tree.csv"
    needs = Needs(threads=False)  # samples summed per stack will do

    root: Annotated[str, Setting("Name of the box below all others.")] = "all"

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write level, value with all that was called, value of its own, and name."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [("level", "value", "self", "label"), *boxes(profile, self.root)]
        )
        out.write(text.getvalue().encode(errors="backslashreplace"))


class TreeJson(TreeCsv):
    """d3-flame-graph's nested JSON: boxes with name, value and children."""

    suffix = ".tree.json"

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write one object, piece by piece: the json module goes no deeper than a thousand calls."""
        last = -1
        for level, value, _, name in boxes(profile, self.root):
            before = "]}" * (last - level + 1) + "," * (last >= level)
            out.write(f'{before}{{"name":{json.dumps(name)},"value":{value},"children":['.encode())
            last = level
        out.write(b"]}" * (last + 1) + b"\n")


def boxes(profile: Profile, root: str) -> list[tuple[int, int, int, str]]:
    """Level, value, own value and name of each box, callers first: stacks of the default event."""
    caller, samples = profile.stacks.parent.tolist(), profile.samples
    own = [0] * (len(caller) + 1)  # the last one is of stack -1, which is empty
    for event, stack, value in zip(samples.event.tolist(), samples.stack.tolist(), samples.value.tolist(), strict=True):
        own[stack] += value * (event == profile.default_event)
    total = own.copy()
    for stack in range(len(caller) - 1, -1, -1):  # callers come first
        total[caller[stack]] += total[stack]
    path_of, values, selves = {-1: (root,)}, Counter({(root,): total[-1]}), Counter({(root,): own[-1]})
    for stack, location in enumerate(profile.stacks.location.tolist()):
        path = path_of[caller[stack]]
        for name in frames(profile, location) if total[stack] else ():  # other events have stacks, too
            path = (*path, name)
            values[path] += total[stack]
        path_of[stack] = path
        selves[path] += own[stack]
    return [(len(path) - 1, values[path], selves[path], path[-1]) for path in sorted(values)]


def frames(profile: Profile, location: int) -> list[str]:
    """Functions of a location, the outermost first; its address where no name is known."""
    first, end = profile.locations.line_offsets[location : location + 2]
    names = profile.functions.name[profile.locations.line_function[first:end]]
    return [profile.strings[name] for name in names[::-1]] or [f"{profile.locations.address[location]:#x}"]
