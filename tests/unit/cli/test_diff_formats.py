"""Differences as collapsed stacks, pprof and pages."""

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from perf2x.emitters.flame.diff_page import DifferencePage
from perf2x.testing import ProfileBuilder
from tests.support.command import folded, perf2x, recording
from tests.unit.cli.diff_inputs import QUICK, labelled, page_of, read_pprof


def test_two_columns_hold_both_recordings(pair: tuple[Path, Path]) -> None:
    lines = perf2x("diff", *pair, *QUICK, "--to", "collapsed", "-o", "-").out.splitlines()
    assert lines == ["app;[o5.so];[o1.so] 2000 5000", "app;[o5.so];[o2.so] 8000 6000", "app;[o5.so];[o3.so] 0 1000"]


def test_two_columns_of_real_recordings_add_up() -> None:
    words = (recording("zstd"), recording("pipe_zstd"))
    lines = perf2x("diff", *words, *QUICK, "--to", "collapsed", "-o", "-").out.splitlines()
    rows = [line.rsplit(" ", 2) for line in lines]
    assert {row[0]: int(row[1]) for row in rows if row[1] != "0"} == folded(words[0], value="period")
    assert {row[0]: int(row[2]) for row in rows if row[2] != "0"} == folded(words[1], value="period")


def test_pprof_finds_its_base_in_the_difference(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "diff.pb.gz"
    assert perf2x("diff", *pair, *QUICK, "--to", "pprof", "-o", out).code == 0
    assert labelled(read_pprof(out), "pprof::base") == {"true": [-10, -10000], "": [12, 12000]}


@pytest.mark.parametrize("normalize", [False, True])
def test_go_pprof_sees_the_difference_as_it_would_make_it_itself(
    pair: tuple[Path, Path], tmp_path: Path, normalize: bool
) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go tool pprof here")
    words = ("--normalize",) if normalize else ()
    out = [tmp_path / f"{name}.pb.gz" for name in ("diff", "before", "after")]
    assert perf2x("diff", *pair, *QUICK, *words, "-o", out[0]).code == 0
    for path, source in zip(out[1:], pair, strict=True):
        assert perf2x("convert", source, *QUICK, "-o", path).code == 0

    def top(*said: object) -> list[str]:
        command = [go, "tool", "pprof", "-top", "-nodefraction=0", *map(str, said)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return text[text.index("      flat") :].splitlines()

    theirs = top(*(["-normalize"] if normalize else []), "-diff_base", out[1], out[2])
    assert len(theirs) == (4 if normalize else 5)
    assert top(out[0]) == theirs


def test_the_page_holds_both_recordings(tmp_path: Path) -> None:
    sources = recording("zstd"), recording("pipe_zstd")
    out = tmp_path / "diff.html"
    ran = perf2x("diff", *sources, "--no-symbols", "-o", out, "--normalize")
    assert f"wrote html to {out}" in ran.err
    held = page_of(out)
    assert held["compare"] == {"normalize": True, "samples": False}
    parent, frame, strings = held["nodes"]["parent"], held["nodes"]["frame"], held["strings"]
    for column, source in (("beforeValue", sources[0]), ("value", sources[1])):
        stacks: dict[str, int] = {}
        rows = held["rows"]
        for thread, node, value in zip(rows["thread"], rows["node"], rows[column], strict=True):
            path = []
            while node >= 0:
                path.append(strings[held["frames"]["name"][frame[node]]])
                node = parent[node]
            comm = held["threads"][thread]["name"].replace(" ", "_")
            key = ";".join([comm, *reversed(path)])
            stacks[key] = stacks.get(key, 0) + value
        assert {key: value for key, value in stacks.items() if value} == folded(source, value="period")


def test_the_page_knows_a_function_again_that_moved(tmp_path: Path) -> None:
    sides = []
    for line in (3, 30):
        builder = ProfileBuilder()
        builder.event()
        thread = builder.thread("app", line)
        program = builder.mapping("/bin/app", 0x1000 * line)
        builder.sample([builder.location(0x1000 * line + 1, program, [("main", f"/build{line}/a.c", line)])], thread)
        sides.append(builder.build())
    out = io.BytesIO()
    DifferencePage(compress=False).emit(*sides, out)
    (tmp_path / "x").write_bytes(out.getvalue())
    text = out.getvalue().decode()
    held = json.loads(text.partition('<script id="data" type="text/plain">')[2].partition("</script>")[0])
    assert held["nodes"] == {"parent": [-1], "frame": [0]}
    assert (held["rows"]["count"], held["rows"]["beforeCount"]) == ([1], [1])
    assert [thread["name"] for thread in held["threads"]] == ["app"]
