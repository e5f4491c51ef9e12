"""Chrome traces written and read back, with what their viewers demand."""

import io
import json

from perf2x.emitters.chrome.chrome import Chrome
from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder

MS = 1_000_000


def written(profile: Profile, **options: object) -> bytes:
    out = io.BytesIO()
    Chrome(**options).emit(profile, out)
    return out.getvalue()


def trace(profile: Profile, **options: object) -> dict:
    parsed = json.loads(written(profile, **options))
    check_trace(parsed)
    return parsed


def check_trace(parsed: dict) -> None:
    """Check what viewers demand: exact times, ids in range, strict nesting in file order."""
    assert "samples" not in parsed
    assert "stackFrames" not in parsed
    open_slices: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in parsed["traceEvents"]:
        assert 0 <= event["pid"] < 2**32
        assert 0 < event["tid"] < 2**32
        if event["ph"] != "X":
            continue
        for number in (event["ts"], event["dur"]):
            assert number * 8 == int(number * 8), "not exact in binary"
            assert isinstance(number, int) or number != int(number), "a fraction that is none"
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert end > begin >= 0
        stack = open_slices.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1][1] <= begin:
            stack.pop()
        assert not stack or (stack[-1][0] <= begin and end <= stack[-1][1]), "slices overlap without nesting"
        stack.append((begin, end))


def speedscope_import(parsed: dict) -> list[str]:
    """Return the complaints of Speedscope 1.25: its two queues of begins and ends, and its rule for equal times."""
    complaints = []
    for ids in {(event["pid"], event["tid"]) for event in parsed["traceEvents"]}:
        drawn = [one for one in parsed["traceEvents"] if one["ph"] == "X" and (one["pid"], one["tid"]) == ids]
        drawn.sort(key=lambda one: (one["ts"], -one["dur"]))
        begins = [(one["ts"], one["name"]) for one in drawn]
        ends = sorted(((one["ts"] + one["dur"], one["name"]) for one in drawn), key=lambda end: end[0])
        stack: list[str] = []
        while begins or ends:
            if not ends or (begins and (begins[0][0] < ends[0][0] or begins[0] == ends[0])):
                stack.append(begins.pop(0)[1])
                continue
            same = [at for at, end in enumerate(ends) if end[0] == ends[0][0] and stack and end[1] == stack[-1]]
            if same:
                ends[0], ends[same[0]] = ends[same[0]], ends[0]
            ended = ends.pop(0)
            if stack and ended[1] == stack[-1]:
                stack.pop()
            else:
                complaints.append(f"tried to end {ended} in {stack}")
    return complaints


def slices(parsed: dict) -> list[tuple]:
    return [(one["name"], one["ts"], one["dur"]) for one in parsed["traceEvents"] if one["ph"] == "X"]


def names(parsed: dict, kind: str) -> dict[tuple[int, int], str]:
    found = [one for one in parsed["traceEvents"] if one["name"] == kind]
    return {(one["pid"], one["tid"]): one["args"]["name"] for one in found}


def stacks(builder: ProfileBuilder, *texts: str) -> list[list[int]]:
    return [[builder.function(name) for name in text] for text in texts]
