"""V8's profiles in Chrome traces."""

import json

from perf2x.emitters.chrome.chrome import Chrome
from perf2x.plugins.contracts import EmitterContract
from tests.support.chrome_traces import MS, names, stacks, written


def profiles(parsed: dict) -> dict[tuple[int, int], list[tuple[list[str], int]]]:
    """V8 profiles read back: per thread, stacks (root first) and when they begin."""
    found: dict[tuple[int, int], list[tuple[list[str], int]]] = {}
    starts, nodes = {}, {}
    for event in parsed["traceEvents"]:
        ids = (event["pid"], event["tid"])
        if event["name"] == "Profile":
            starts[event["id"]], nodes[event["id"]], found[ids] = event["args"]["data"]["startTime"], {}, []
        if event["name"] != "ProfileChunk":
            continue
        assert event["cat"]
        chunk, known = event["args"]["data"], nodes[event["id"]]
        for node in chunk["cpuProfile"].get("nodes", []):
            above = known[node["parent"]] if "parent" in node else []
            name = node["callFrame"]["functionName"]
            known[node["id"]] = [*above, name] if name != "(root)" else []
        for node, delta in zip(chunk["cpuProfile"]["samples"], chunk["timeDeltas"], strict=True):
            starts[event["id"]] += delta
            found[ids].append((known[node], starts[event["id"]]))
    return found


class TestCpuProfileContract(EmitterContract):
    def emitter(self) -> Chrome:
        return Chrome(style="cpuprofile")

    def output(self, profile) -> bytes:
        output = super().output(profile)
        profiles(json.loads(output))
        return output


def test_cpuprofile_tells_stacks_and_idleness(builder) -> None:
    for time, stack in zip((0, 1, 2, 900), stacks(builder, "abc", "ab", "ad", "ab"), strict=True):
        builder.sample(stack, time=time * MS)
    parsed = json.loads(written(builder.build(timeline=True), style="cpuprofile"))
    idle = ["(idle)"]
    expected = [(["a", "b", "c"], 0), (["a", "b"], 1000), (["a", "d"], 2000)]
    expected += [(idle, 3000), (["a", "b"], 900_000), (idle, 901_000)]
    assert profiles(parsed) == {(7, 8): expected}
    assert parsed["traceEvents"][0]["cat"]
    assert names(parsed, "thread_name") == {(7, 8): "my prog"}


def test_cpuprofile_spans_chunks(builder) -> None:
    a, b = stacks(builder, "a", "b")
    for time in range(40_000):
        builder.sample((a, b)[time % 2], time=time * MS)
    parsed = json.loads(written(builder.build(timeline=True), style="cpuprofile"))
    (rows,) = profiles(parsed).values()
    assert rows == [([("a", "b")[time % 2]], time * 1000) for time in range(40_000)] + [(["(idle)"], 40_000_000)]
