"""The comment on a pull request: one for each job and recording, updated in place, safe whatever the names are."""

import importlib.util
import json
import shlex
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.support.comments import LONGEST, Comments, served
from tests.support.recordings import ROOT
from tests.support.workflows import GitHub, GitLab, Program
from tests.unit.cli.test_examples import CI, QUICK

REPORT = {
    "difference": {
        "unit": "nanoseconds",
        "before": 4_000_000_000,
        "after": 5_500_000_000,
        "moved_significantly": 5,
        "rows": [
            {"name": "parse", "object": "app", "self": [10**9, 3 * 10**9], "significant": {"self": True}},
            {"name": "noise", "object": "app", "self": [10**9, 2 * 10**9], "significant": {"self": False}},
            {"name": "render", "object": "app", "self": [10**9, 5 * 10**8], "significant": {"self": True}},
            {"name": "new", "object": "", "self": [0, 10**8], "significant": {"self": True}},
            {"name": "fourth", "object": "app", "self": [0, 10**7], "significant": {"self": True}},
        ],
    },
    "by_total": {
        "rows": [
            {
                "name": "parse",
                "object": "app",
                "total": 3 * 10**9,
                "callers": [
                    {"name": name, "object": "app", "value": value}
                    for name, value in (("main", 2 * 10**9), ("load|all", 9 * 10**8), ("third", 10**8))
                ],
            }
        ]
    },
    "by_self": {"rows": []},
    "next": [{"about": "hottest"}],
}
LISTING = {
    "functions": [
        {"name": name, "object": "app", "self": 100, "sources": [{"path": "src/app.c", "lines": lines}]}
        for name, lines in (
            ("parse", [{"line": 0, "self": 30}, {"line": 8, "self": 20}, {"line": 9, "self": 50}]),
            ("parse.cold", [{"line": 1, "self": 100}]),
        )
    ]
}
TABLE = """| function, by itself | called by | before | after | of the total | | lines |
| :-- | :-- | --: | --: | --: | :-- | :-- |
| **total** |  | 4.00 s | 5.50 s | +37.5 % | 🟥🟥🟥🟥🟥🟥 |  |
| `parse` in `app` | `main` 67%, <code>load&#124;all</code> 30% | 1.00 s | 3.00 s | +50.0 % | 🟥🟥🟥🟥🟥🟥🟥🟥 | LINES |
| `render` in `app` |  | 1.00 s | 0.50 s | -12.5 % | 🟦🟦 |  |
| `new` |  | 0.00 s | 0.10 s | +2.5 % | 🟥 |  |

🟥 grew, 🟦 shrank; changed by more than noise, too: 2 more
""".replace("LINES", "`app.c:9` 50%, `app.c:8` 20%")
ANSWERS = """case $command$form in
    reportjson) cat "$ANSWERS/report.json"; exit 3;;
    annotate) [ "$first" = parse ] && cat "$ANSWERS/listing.json"; exit 0;;
esac
"""
HOSTILE = "; touch pwned; $(touch pwned) `touch pwned` ' && touch pwned #"
NEWLINES = 'x\ntouch pwned\n" ; touch pwned\n::error::pwned\n'


@pytest.fixture
def comments() -> Iterator[Comments]:
    with served() as service:
        yield service


@pytest.fixture
def program(tmp_path: Path, comments: Comments) -> Program:
    before, report, after = QUICK.partition('[ "$command" = report ] ||')
    made = Program(tmp_path, before + ANSWERS + report + after)
    made.becomes(b"calls")
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    (tmp_path / "listing.json").write_text(json.dumps(LISTING))
    made.env |= comments.env | {"ANSWERS": str(tmp_path)}
    return made


@pytest.fixture
def there(program: Program) -> GitHub:
    return GitHub(program.runs, program.env, token="secret")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("comment", CI / "comment.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def action(folder: Path, **inputs: str) -> Path:
    """A workflow that uses the action once; the recording has the name that the input says."""
    path = next(path for number in count() if not (path := folder / f"{number}.yml").exists())
    record = {"run": 'perf record; mv -- perf.data "$NAME"', "env": {"NAME": inputs.get("recording", "./perf.data")}}
    record = record if "recording" in inputs else {"run": "perf record"}
    path.write_text(yaml.safe_dump({"jobs": {"bench": {"steps": [record, {"uses": "./perf2x", "with": inputs}]}}}))
    return path


def first_lines(comments: Comments) -> list[str]:
    """Verdicts of all comments, below their markers."""
    assert all(body.startswith("<!-- perf2x ") for body in comments.bodies)
    return [body.splitlines()[1].removeprefix("### perf2x: ") for body in comments.bodies]


def test_the_first_push_writes_it_and_the_next_ones_update_it(
    program: Program, there: GitHub, comments: Comments, tmp_path: Path
) -> None:
    workflow = action(tmp_path)
    assert there.pull_request(workflow, "1234567890", "c0").code == 0
    (body,) = comments.bodies
    assert "| function" not in body and "diff.html" not in body
    assert "\n```sh\ngh run download 42 --repo them/theirs --name profile --dir perf2x-pages  # profile.html op" in body
    assert body.splitlines()[-1].startswith("<sub>`profile` of job `bench` at `1234567`; ")
    there.push(workflow, "c1", "c0")
    assert comments.calls[1:] == [
        "GET /repos/them/theirs/issues/7/comments?per_page=100&page=1",
        "POST /repos/them/theirs/issues/7/comments",
    ]
    program.becomes(b"slow")
    slow = there.pull_request(workflow, "2", "c1")
    assert (slow.code, first_lines(comments)) == (3, ["failed"]), slow.said
    assert f"\n{TABLE}\n" in comments.bodies[0]
    page = next(name for name in slow.artifacts if name != "profile")
    assert page.startswith("difference-profile-") and slow.artifacts[page] == {page}
    url = "https://github.com/them/theirs/actions/runs/42"
    assert (
        f"[the difference, drawn]({url}/artifacts/{len(page)}) · [all pages and profiles]({url}/" in comments.bodies[0]
    )
    program.becomes(b"calls")
    assert there.pull_request(workflow, "3", "c1").code == 0
    assert first_lines(comments) == ["passed"] and comments.calls[-1] == "PATCH /repos/them/theirs/issues/comments/100"
    assert "no comment" not in slow.said


def test_each_job_and_recording_has_its_own(there: GitHub, comments: Comments, tmp_path: Path) -> None:
    there.image = "1"
    for _ in range(2):
        for there.matrix in (None, {"os": "a"}, {"os": "b`|"}):
            there.pull_request(action(tmp_path), "p1", "c0")
        there.pull_request(action(tmp_path, name="big"), "p1", "c0")
        there.image = "2"  # a new image of the runner has no baseline, and the same comment
    assert first_lines(comments) == ["no baseline"] * 4
    assert "of job `bench`, <code>b&#96;&#124;</code> at" in comments.bodies[2]


def test_a_recording_that_cannot_be_read_has_no_page(tmp_path: Path, comments: Comments) -> None:
    made = Program(tmp_path, "#!/bin/sh\necho 'perf2x: broken' >&2; exit 1\n")
    made.becomes(b"")
    run = GitHub(made.runs, made.env | comments.env, token="secret").pull_request(action(tmp_path), "p1", "c0")
    assert (run.code, first_lines(comments)) == (1, ["error"]), run.said
    assert "\n    perf2x: broken\n" in comments.bodies[0] and "```" not in comments.bodies[0]


@pytest.mark.parametrize("status", [0, 404, 500])
def test_a_token_that_may_not_write_is_a_notice(there: GitHub, comments: Comments, tmp_path: Path, status: int) -> None:
    """As that of a pull request from a fork; the verdict and the summary stay."""
    there.token, comments.status = "reader", status
    run = there.pull_request(action(tmp_path), "p1", "c0")
    why = "the service answered 500" if status == 500 else "the token may not write one (permissions: pull-requests: "
    assert f"\n::notice title=perf2x::no comment: {why}" in f"\n{run.said}"
    assert (run.code, run.outputs["verdict"], comments.bodies) == (0, "no baseline", [])
    assert run.summary.startswith("### perf2x: no baseline")


def test_a_service_that_is_away_is_a_notice(there: GitHub, tmp_path: Path) -> None:
    there.env = {**there.env, "GITHUB_GRAPHQL_URL": "http://127.0.0.1:9"}
    run = there.pull_request(action(tmp_path), "p1", "c0")
    assert run.code == 0 and "::notice title=perf2x::no comment: " in run.said and "Traceback" not in run.said


def test_pushes_and_jobs_without_a_token_write_nothing(there: GitHub, comments: Comments, tmp_path: Path) -> None:
    runs = [there.push(action(tmp_path), "c1", "c0"), there.pull_request(action(tmp_path, token=""), "p1", "c0")]
    assert comments.calls == [] and not any("no comment" in run.said for run in runs)


def test_it_is_found_among_many_and_others_comments_are_theirs(
    there: GitHub, comments: Comments, tmp_path: Path
) -> None:
    there.pull_request(action(tmp_path), "p1", "c0")
    own = comments.held.pop()
    marker = own["body"].splitlines()[0]
    for number in range(250):
        comments.add("somebody", f"{marker}\nmine {number}" if number % 2 else f"see {number}")
    comments.add("github-actions[bot]", f"quoted: {own['body']}")
    comments.held.append({**own, "id": 999, "body": marker})
    before = comments.bodies[:-1]
    there.pull_request(action(tmp_path), "p2", "c0")
    assert comments.bodies[:-1] == before and comments.bodies[-1].startswith(f"{marker}\n### perf2x: no baseline")


def test_no_input_reaches_a_shell(there: GitHub, program: Program, comments: Comments, tmp_path: Path) -> None:
    stated = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    for text in (HOSTILE, NEWLINES):
        inputs = {name: text for name in stated if name not in ("name", "token")} | {"recording": f"-{text}"}
        inputs["name"] = HOSTILE if text == HOSTILE else "profile"
        there.matrix = {"os": text}
        program.becomes(b"calls")
        there.push(action(tmp_path, **inputs), "c1", "c0", branch=text)
        program.becomes(b"slow")
        run = there.pull_request(action(tmp_path, **inputs), text, "c1", branch=text)
        assert run.outputs["verdict"] == "failed", run.said
        assert comments.bodies[-1].splitlines()[1] == "### perf2x: failed"
    assert len(comments.bodies) == 2 and not [*tmp_path.rglob("pwned*")]
    assert f"--name {shlex.quote(HOSTILE)} --dir" in comments.bodies[0]


def test_an_artifact_whose_name_is_refused_leaves_the_comment(
    there: GitHub, comments: Comments, tmp_path: Path
) -> None:
    run = there.pull_request(action(tmp_path, name=NEWLINES), "p1", "c0")
    assert run.code == 1 and first_lines(comments) == ["no baseline"]
    assert "artifacts/" not in comments.bodies[0] and not [*tmp_path.rglob("pwned*")]


@pytest.mark.parametrize("token", ["glpat", "", "reader"])
def test_gitlab(program: Program, comments: Comments, token: str) -> None:
    there = GitLab(program.runs, program.env, {"PERF2X_TOKEN": token})
    run = there.pull_request(CI / "gitlab.yml", "p1", "c0")
    there.push(CI / "gitlab.yml", "c1", "c0")
    program.becomes(b"slow")
    runs = [run, there.pull_request(CI / "gitlab.yml", "p2", "c1")]
    assert [run.code for run in runs] == [0, 3]
    if token == "glpat":
        assert first_lines(comments) == ["failed"] and f"\n{TABLE}\n" in comments.bodies[0]
        job = "https://gitlab.com/them/theirs/-/jobs/42"
        assert f"[all pages and profiles]({job}/artifacts/browse/perf-profile)" in comments.bodies[0]
        assert comments.calls[-1] == "PUT /api/v4/projects/3/merge_requests/7/notes/100"
    refused = "perf2x: no comment: the token may not write one (role Reporter, scope api)"
    assert [refused in run.said for run in runs] == [token == "reader"] * 2
    assert token or comments.calls == []


def test_lines_of_the_repository_are_links(script: ModuleType, tmp_path: Path) -> None:
    where = tmp_path / "a b"
    for name in ("src/a [1].c", "made.c"):
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text("")
    git = ("git", "-C", str(where), "-c", "init.defaultBranch=main")
    if subprocess.run([*git, "init", "-q"], check=False).returncode:
        pytest.skip("no git here")
    subprocess.run([*git, "add", "src"], check=True)
    place = script.Place("", "", "", (), (), "https://x/blob/c0ffee", where, "", "", "", {})
    wanted = "[`a [1].c:9`](https://x/blob/c0ffee/src/a%20%5B1%5D.c#L9)"
    assert [script.linked(path, 9, place) for path in (str(where / "src/a [1].c"), "src/a [1].c")] == [wanted] * 2
    for path in (str(where / "made.c"), "/usr/include/made.c", "../x.c", "src/*.c", ""):
        assert "](" not in script.linked(path, 9, place), path


@pytest.mark.parametrize(
    "name", ["a|b`c\\d\n# <b>@user</b> [x](http://y) \u202e**", "x" * 5000, "", " ", "a\u2028b", "``"]
)
def test_names_break_nothing(script: ModuleType, name: str) -> None:
    shown = script.code(name)
    assert len(shown) < 600 and not set(shown) & set("|\n\u202e\u2028")
    if shown.startswith("<code>"):
        assert not set(shown.removeprefix("<code>").removesuffix("</code>")) & set("`\\<>@[]*|")
    else:
        assert shown == "–" or (shown[0], shown[-1], shown.count("`")) == ("`", "`", 2)


def test_a_long_verdict_is_cut_and_counted(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    reasons = [f"- {number} {'x' * 5000}" for number in range(9)]
    path.write_text("\n".join(["### perf2x: failed", "", *reasons, "", "### perf2x report: `perf.data`", "", "- more"]))
    outcome, lines = script.verdict(path)
    assert (outcome, lines) == (
        "failed",
        ["### perf2x: failed", "", *reasons[:3], "- … and 6 more in the job summary"],
    )
    assert sum(map(len, lines)) < LONGEST / 2
    path.write_text("### perf2x report: `perf.data`\n\n- a page without limits\n")
    assert script.verdict(path) == ("", [])


def test_nothing_beyond_noise_is_said(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "asked", lambda *_: None)
    changed: dict[str, Any] = {**REPORT["difference"], "moved_significantly": 1, "rows": []}
    report = {**REPORT, "difference": changed, "next": [{"about": "missing_callers"}]}
    assert [*script.table(report, "perf.data", None)] == ["No function changed by more than sampling noise explains."]
    row = {"name": "f", "object": "", "self": [0, 1234], "significant": {"self": True}}
    report["by_self"] = {"rows": [{"name": "f", "object": "", "total": 1, "callers": [{"name": "g", "value": 1}]}]}
    report["difference"] = {**changed, "rows": [row], "unit": "", "before": 0, "after": 1234}
    lines = [*script.table(report, "perf.data", None)]
    assert lines[3:] == ["| `f` |  | 0 | 1,234 | new | 🟥🟥🟥🟥🟥🟥🟥🟥 |  |", "", lines[-1]]
    assert lines[-1] == "🟥 grew, 🟦 shrank; callers are missing in many stacks, so none is named"
