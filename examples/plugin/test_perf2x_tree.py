"""The plugin keeps what every emitter keeps: inherit the contract, say what to build, read the numbers back."""

import csv
import io
import json
import re

from perf2x_tree import TreeCsv, TreeJson

from perf2x.plugins import Profile
from perf2x.testing import EmitterContract, ProfileBuilder


class TestTreeCsv(EmitterContract):
    def emitter(self) -> TreeCsv:
        return TreeCsv()

    def total(self, output) -> int:
        rows = list(csv.DictReader(io.StringIO(output.decode(), newline="")))
        assert int(rows[0]["value"]) == sum(int(row["self"]) for row in rows)
        return int(rows[0]["value"])

    def test_each_box_comes_before_what_it_calls(self) -> None:
        rows = self.output(tree()).decode().splitlines()
        assert rows == ["level,value,self,label", "0,100,0,all", "1,100,10,main", '2,60,60,"f(int, int)"', "2,30,30,g"]


class TestTreeJson(EmitterContract):
    def emitter(self) -> TreeJson:
        return TreeJson(root="total")

    def total(self, output) -> int:
        return int(re.match(rb'{"name":"total","value":(\d+)', output)[1])

    def test_children_are_nested(self) -> None:
        assert json.loads(self.output(tree())) == box(
            "total", 100, box("main", 100, box("f(int, int)", 60), box("g", 30))
        )


def box(name: str, value: int, *children: dict) -> dict:
    return {"name": name, "value": value, "children": list(children)}


def tree() -> Profile:
    """Three stacks, and one of an event that is not the default one."""
    builder = ProfileBuilder()
    other = builder.event() + builder.event("page-faults", "count")
    builder.thread()
    main, f, g = (builder.function(name) for name in ("main", "f(int, int)", "g"))
    for stack, value in (((main,), 10), ((main, f), 60), ((main, g), 30)):
        builder.sample(stack, value=value)
    builder.sample((main, g, f), event=other, value=7)
    return builder.build()
